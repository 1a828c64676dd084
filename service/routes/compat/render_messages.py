"""``POST /v1/messages/render`` as vLLM has it: Anthropic's messages to what an engine generates from."""

from __future__ import annotations

from typing import ClassVar

from fastapi import FastAPI
from pydantic import Field

from service.http.response_json import Answer
from service.routes.compat import anthropic, generation, vllm
from service.routes.compat.anthropic import AnthropicRequest
from service.routes.compat.generation import Prompt
from service.routes.compat.generation_models import GenerateRequest, GenerationFields
from service.routes.compat.parts import Uncountable
from service.routes.compat.variables import FIELD
from service.routes.json_route import post
from service.schemas.fields import Object
from service.schemas.requests import Example, list_of, narrow
from service.state import State

PATH = "/v1/messages/render"


class VllmRenderMessagesRequest(AnthropicRequest, GenerationFields):
    """A request for a message. Fields that are not named here are ignored."""

    model: str | None = Field(None, description="A model of the settings, or a name, hash or `name@hash`.")
    max_tokens: int = Field(ge=0, description="The most tokens of the answer.")
    stop_sequences: list[str] | None = Field(None, description="The engine's `stop`.")

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


def vllm_render_messages(state: State, body: VllmRenderMessagesRequest, request_id: str = "") -> Answer:
    """Render Anthropic's messages, as vLLM's `/v1/messages/render`; the last message is never continued."""
    generation.refuse_unhonoured(body)
    loaded = state.registry.of_model(body.model)
    body = body.model_copy(update={FIELD: generation.variables_of(body.chat_template_kwargs)})
    conversation, tools, variables = anthropic.read(body, Uncountable(skip=False))
    literals = state.engines.literals(body.model, loaded.name)
    encoded = conversation.encode(loaded, state.settings, tools, variables, literals=literals)
    spans = encoded.spans if body.return_token_offsets else None
    if body.stop_sequences:
        body = body.model_copy(update={"stop": body.stop_sequences})
    budget = (body.thinking or {}).get("budget_tokens")
    if (body.thinking or {}).get("type") == "enabled" and isinstance(budget, int):
        body = body.model_copy(update={"thinking_token_budget": budget})
    return generation.answer(state, loaded, body, [Prompt(encoded.ids, spans)], f"chatcmpl-{request_id}")


def mount(app: FastAPI, state: State) -> None:
    """Declare the route."""
    model = narrow(VllmRenderMessagesRequest, messages=list_of(Object, state.settings.max_items))
    post(
        *(app, state, PATH, vllm_render_messages, model, GenerateRequest),
        dialect=generation.dialect,
        responses=vllm.RESPONSES,
        negotiate=generation.named_by_header(state, model, vllm_render_messages),
    )
