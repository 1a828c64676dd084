"""vLLM's messages and tools as it gives them to templates; clients send OpenAI's form, which few templates can read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from service.errors import ServiceError
from service.routes.compat.parts import object_of, text_of_part
from service.routes.compat.tools import arguments_of, function, refuse_many_arguments
from service.schemas.fields import Object

_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal", "thinking": "thinking"}
"""The parts that are text, and the field that has it."""

_REQUIRED = "this field is required"
_PART = re.compile(r"messages\[(\d+)\]\.content\[(\d+)\]\.text")


def read(messages: Sequence[Object]) -> list[Object]:
    """Return messages as vLLM has them before it gives them the form that the template wants.

    All content is text parts. The arguments of calls, which come as JSON in strings, are objects.

    Errors:
        ``invalid_option`` for a part that is not text, by its type; ``missing_field``, ``invalid_type``,
        ``too_many_values``
    """
    called = [_calls(message, f"messages[{at}].tool_calls") for at, message in enumerate(messages)]
    refuse_many_arguments((call["function"].get("arguments") for calls in called for call in calls), "messages")
    return [
        _message(message, calls, f"messages[{at}]")
        for at, (message, calls) in enumerate(zip(messages, called, strict=True))
    ]


def sent(path: str, messages: Sequence[Object]) -> str:
    """Return the field of a request that a field of what ``read`` made of its messages came from."""
    part = _PART.match(path)
    if part is None:
        return path
    content = messages[int(part[1])]["content"]
    field = "" if isinstance(content, str) else f"[{part[2]}].{_TEXTS[content[int(part[2])]['type']]}"
    return f"messages[{part[1]}].content{field}"


def read_tools(tools: Sequence[Object] | None) -> list[Object] | None:
    """Return tools with the fields that a template is given, in their order; a description that is not sent is null.

    Errors:
        ``missing_field``, ``invalid_type``
    """
    return None if tools is None else [_tool(tool, f"tools[{at}]") for at, tool in enumerate(tools)]


def _message(message: Object, calls: Sequence[Object], place: str) -> Object:
    """Return one message; ``calls`` are its checked calls."""
    if not isinstance(message.get("role"), str):
        # Most templates would leave the message out without a word.
        code, wrong = ("invalid_type", "this must be a string") if "role" in message else ("missing_field", _REQUIRED)
        raise ServiceError(code, wrong, f"{place}.role")
    texts = _texts(message.get("content"), f"{place}.content")
    given = {**message, "content": [{"type": "text", "text": text} for text in texts]}
    if message.get("role") == "assistant":
        # An empty list goes too: some templates take its first call without looking.
        given.pop("tool_calls", None)
    if calls:
        given["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": _arguments(call["function"], f"{here}.arguments")}}
            for here, call in ((f"{place}.tool_calls[{at}].function", call) for at, call in enumerate(calls))
        ]
    return given


def _texts(content: Any, place: str) -> list[str]:
    """Return the texts of a message; content that is not there has none."""
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        raise ServiceError("invalid_type", "this must be a string or a list", place)
    # A string is not a part here, though vLLM takes it: a million of them, in 3 MB, would become as many objects.
    return [
        text_of_part(object_of(part, f"{place}[{index}]"), f"{place}[{index}]", _TEXTS, "a part")
        for index, part in enumerate(content)
    ]


def _calls(message: Object, place: str) -> list[Object]:
    """Return the calls of an assistant's message."""
    calls = message.get("tool_calls")
    if message.get("role") != "assistant" or calls is None:
        return []
    if not isinstance(calls, list):
        raise ServiceError("invalid_type", "this must be a list", place)
    for at, call in enumerate(calls):
        object_of(object_of(call, f"{place}[{at}]").get("function"), f"{place}[{at}].function")
    return calls


def _arguments(function: Object, place: str) -> Object:
    """Return the arguments of a call; what is not an object counts as none."""
    given = function.get("arguments")
    parsed = arguments_of(given, place) if isinstance(given, str) else given
    return parsed if isinstance(parsed, dict) else {}


def _tool(tool: Object, place: str) -> Object:
    described = function(object_of(tool.get("function"), f"{place}.function"), f"{place}.function")
    return {"type": tool.get("type", "function"), "function": described}
