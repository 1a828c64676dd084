"""Models of ``POST /parse``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from service.schemas.answers import Answer
from service.schemas.fields import Id, List, MostItems, Object, RequestPart
from service.schemas.requests import Example, Request
from tokenizer_core import ParsedChat


class Output(RequestPart):
    """One output of a model: its ids, with those of special tokens, or its text."""

    ids: List[Id] | None = None
    text: str | None = None
    finish_reason: str | None = Field(None, description="Why the engine stopped: `length` cuts the last field off.")


class ParseRequest(Request):
    """Outputs of a model, to be read as messages."""

    outputs: MostItems[Output] = Field(
        description="Each with `ids` or `text`, and perhaps the `finish_reason` of the engine."
    )
    messages: MostItems[Object] | None = Field(
        None, description="The chat that the model answers; then `exact` says whether a message renders back."
    )
    prompt: str | None = Field(
        None, description="The text that the outputs continue; by default what `messages` are rendered to."
    )
    tools: list[Object] | None = Field(None, description="Tools, whose schemas give arguments their types.")
    documents: list[Object] | None = Field(None, description="Documents for the template, as JSON objects.")
    continue_final_message: bool = Field(False, description="The outputs go on with the last of `messages`.")
    template_args: Object | None = Field(None, description="Further variables of the template.")
    template: str | None = Field(None, description="The name of one of the tokenizer's templates.")
    response_template: Object | None = Field(
        None, description="The form of the outputs, as transformers has it; by default the tokenizer's own."
    )

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "an answer": Example(
            "reasoning and content",
            {
                "outputs": [{"text": "<think>Hm</think>Hello"}],
                "response_template": {
                    "start_anchor": "<|im_start|>assistant\n",
                    "fields": {
                        "reasoning_content": {"open": "<think>", "close": "</think>", "content": "text"},
                        "content": {"content": "text"},
                    },
                },
            },
        ),
        "neither": Example("an output has ids or a text", {"outputs": [{}]}, status=422),
    }

    def heavy(self) -> bool:
        """Tell that it leaves the event loop: each output may be rendered."""
        return True


class ParsedPart(BaseModel):
    """A part of an output."""

    field: str | None = Field(description="The field of the message; null for marks and what no field takes.")
    start: int
    end: int
    first_id: int | None = Field(description="Null of a text.")
    end_id: int | None


class MalformedPart(BaseModel):
    """A part of an output that is not as the response template says."""

    reason: str
    start: int
    end: int


class RenderedDifference(BaseModel):
    """The first difference between an output and the message, rendered."""

    at: int = Field(description="In characters of the output; below 0 in the prompt.")
    written: str
    rendered: str


class ParsedOutput(BaseModel):
    """The message of one output. Places are half-open, in characters of the output."""

    message: dict[str, Any] = Field(description="With `role` and the fields of the response template.")
    arguments: list[str] = Field(description="Of each call, as the model wrote them.")
    parts: list[ParsedPart] = Field(description="The whole output, in order.")
    unfinished: str | None = Field(description="The field whose end is missing.")
    malformed: list[MalformedPart]
    exact: bool | None = Field(description="Whether the message renders back; null without `messages`.")
    difference: RenderedDifference | None


class ParseAnswer(Answer):
    """One message for each output."""

    outputs: list[ParsedOutput]


def weight(prompt: str, tools: Sequence[Object] | None) -> int:
    """Return how many ids it counts as that an output is read behind a prompt, with tools."""
    return (len(prompt) + len(json.dumps(tools))) // 64


def described(parsed: ParsedChat) -> bytes:
    """Write what ``ParsedOutput`` documents."""
    difference = parsed.difference
    fields: Object = {
        "message": parsed.message,
        "arguments": parsed.arguments,
        "parts": [part._asdict() for part in parsed.parts],
        "unfinished": parsed.unfinished,
        "malformed": [each._asdict() for each in parsed.malformed],
        "exact": parsed.exact,
        "difference": difference and difference._asdict(),
    }
    try:
        return written(fields)
    except ValueError:
        return written(fields | {"message": _finite(parsed.message)})


def _finite(value: Any) -> Any:
    """Return JSON with null for the numbers that are too large for its readers."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(_finite, value))
    return None if isinstance(value, float) and not isfinite(value) else value


def written(value: Object) -> bytes:
    """Write JSON with whole numbers of any size, and with lone surrogates, which a model may write as escapes.

    Raises:
        ValueError: a number is infinite.
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
