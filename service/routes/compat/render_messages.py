"""``POST /v1/messages/render`` as vLLM has it: Anthropic's messages to what an engine generates from."""

from __future__ import annotations

from typing import ClassVar

from fastapi import FastAPI
from pydantic import Field

from service.errors import ServiceError
from service.http.response_json import Answer
from service.routes.compat import anthropic, generation
from service.routes.compat.anthropic import AnthropicRequest
from service.routes.compat.body_objects import Uncountable, object_of
from service.routes.compat.generation_models import GenerationFields
from service.schemas.requests import Example
from service.state import ServerState

PATH = "/v1/messages/render"
_LEAST_BUDGET = 1024


class VllmRenderMessagesRequest(AnthropicRequest, GenerationFields):
    """A request for a message. Fields that are not named here are ignored."""

    max_tokens: int = Field(ge=0, description="The most tokens of the answer.")
    stop_sequences: list[str] | None = Field(None, description="The engine's `stop`.")

    OTHERS: ClassVar[tuple[str, ...]] = (
        *("n", "presence_penalty", "frequency_penalty", "repetition_penalty", "min_p", "seed", "stop", "bad_words"),
        *("stop_token_ids", "min_tokens", "ignore_eos", "include_stop_str_in_output", "skip_special_tokens", "echo"),
        *("spaces_between_special_tokens", "prompt_logprobs", "logit_bias", "allowed_token_ids", "priority"),
        *("thinking_token_budget", "structured_outputs", "response_format", "truncate_prompt_tokens"),
        *("truncation_side", "return_token_offsets", "stream_options"),
    )

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "a message": Example(
            "with a system prompt",
            {"system": "Be brief.", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 64},
        ),
        "no max_tokens": Example(
            "required, as at Anthropic", {"messages": [{"role": "user", "content": "Hello"}]}, status=400
        ),
    }

    def most_tokens(self) -> int | None:
        """Return what is asked for."""
        return self.max_tokens


def vllm_render_messages(state: ServerState, body: VllmRenderMessagesRequest, request_id: str = "") -> Answer:
    """Render Anthropic's messages, as vLLM's `/v1/messages/render`; the last message is never continued."""
    body = body.own()
    generation.refuse_unhonoured(body)
    loaded = state.registry.of_model(body.model)
    encoded = anthropic.read(body, Uncountable()).encode(state, loaded, body.model, folds="refused")
    if body.stop_sequences:
        body = body.model_copy(update={"stop": body.stop_sequences})
    if (body.thinking or {}).get("type") == "enabled":
        body = body.model_copy(update={"thinking_token_budget": _budget(body)})
    if body.stream:
        body = body.model_copy(
            update={"stream_options": dict.fromkeys(("include_usage", "continuous_usage_stats"), True)}
        )
    if (form := (body.output_config or {}).get("format")) is not None:
        schema = {"schema": object_of(form, "output_config.format").get("schema")}
        body = body.model_copy(update={"response_format": {"type": "json_schema", "json_schema": schema}})
    return generation.answer(state, loaded, body, [generation.prompt_of(body, encoded)], f"chatcmpl-{request_id}")


def _budget(body: VllmRenderMessagesRequest) -> int:
    budget = (body.thinking or {}).get("budget_tokens")
    if type(budget) is not int or not _LEAST_BUDGET <= budget < body.max_tokens:
        raise ServiceError(
            "invalid_value", f"this is at least {_LEAST_BUDGET}, and less than max_tokens", "thinking.budget_tokens"
        )
    return budget


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    generation.declare(app, state, PATH, vllm_render_messages, VllmRenderMessagesRequest)
