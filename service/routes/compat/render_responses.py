"""``POST /v1/responses/render`` as vLLM has it: OpenAI's input items to what an engine generates from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from fastapi import FastAPI
from pydantic import Field

from service.errors import ServiceError
from service.http.response_json import Answer
from service.routes.compat import generation, openai
from service.routes.compat.body_objects import Uncountable, object_of
from service.routes.compat.generation_models import GenerationFields, Integer
from service.routes.compat.openai import OpenaiRequest
from service.schemas.fields import Object
from service.schemas.requests import Example
from service.state import ServerState

PATH = "/v1/responses/render"


class VllmRenderResponseRequest(OpenaiRequest, GenerationFields):
    """A request for a response. Fields that are not named here are ignored."""

    max_output_tokens: int | None = Field(None, ge=0)
    top_logprobs: Integer | None = None
    include: list[str] | None = Field(None, description="`message.output_text.logprobs` asks for `top_logprobs`.")
    text: Object | None = Field(None, description="Its `format` is the form of the output.")
    truncation: Literal["auto", "disabled"] | None = Field(
        "disabled", description="`auto` cuts a prompt that is too long."
    )

    WRITES_EXTRA: ClassVar[bool] = True
    OTHERS: ClassVar[tuple[str, ...]] = (
        *("n", "min_tokens", "prompt_logprobs", "allowed_token_ids", "bad_words", "thinking_token_budget", "echo"),
        *("spaces_between_special_tokens", "response_format", "truncate_prompt_tokens", "truncation_side"),
        *("return_token_offsets", "stream_options"),
    )

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "a text": Example("what an engine generates from", {"input": "Tell me a joke."}),
        "a state": Example("refused: nothing is kept here", {"input": "Hi", "previous_response_id": "r1"}, status=400),
    }

    def most_tokens(self) -> int | None:
        """Return what is asked for."""
        return self.max_output_tokens

    def logprobs_wanted(self) -> int | None:
        """Return how many alternatives there are to be, if any are."""
        return self.top_logprobs or 0 if "message.output_text.logprobs" in (self.include or ()) else None


def dialect(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Say a problem as vLLM does, which has OpenAI's type for a state that it does not keep."""
    status, body = generation.dialect(problem)
    if problem["path"] in openai.STATE:
        body["error"]["type"] = "invalid_request_error"
    return status, body


def vllm_render_responses(state: ServerState, body: VllmRenderResponseRequest, request_id: str = "") -> Answer:
    """Render OpenAI's input items, as vLLM's `/v1/responses/render`."""
    body = body.own()
    generation.refuse_unhonoured(body)
    if (form := (body.text or {}).get("format")) is not None:
        if body.structured_outputs is not None:
            raise ServiceError(
                "invalid_option", "say text.format or structured_outputs, not both", "structured_outputs"
            )
        own = object_of(form, "text.format")
        wanted = {"type": own.get("type"), "json_schema": own} if own.get("type") == "json_schema" else own
        body = body.model_copy(update={"response_format": wanted})
    cut = None if body.truncation == "disabled" else -1
    body = body.model_copy(update={"truncate_prompt_tokens": cut, "stop": body.stop or None})
    loaded = state.registry.of_model(body.model)
    ways: Any = {"continues": openai.goes_on(body.input), "form": "responses", "folds": "none"}
    encoded = openai.read(body, Uncountable()).encode(state, loaded, body.model, **ways)
    return generation.answer(state, loaded, body, [generation.prompt_of(body, encoded)], f"resp_{request_id}")


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    generation.declare(app, state, PATH, vllm_render_responses, VllmRenderResponseRequest, dialect=dialect)
