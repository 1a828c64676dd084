"""``POST /v1/chat/completions/render`` as vLLM has it: a chat to what an engine generates from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from fastapi import FastAPI
from pydantic import Field

from service.errors import ServiceError, quote
from service.http.response_json import Answer
from service.routes.compat import generation, vllm
from service.routes.compat.body_objects import object_of, text_of
from service.routes.compat.conversation import Variables
from service.routes.compat.generation import Prompt
from service.routes.compat.generation_models import GenerationFields, Integer
from service.routes.compat.plain_render import PlainRender
from service.schemas.fields import LEFT_TO_RIGHT, MostItems, Object, under_limits
from service.schemas.requests import CHAT_LISTS, Example
from service.state import ServerState

PATH = "/v1/chat/completions/render"

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Choice = Literal["none", "auto", "required"]


class VllmRenderChatRequest(GenerationFields):
    """A request for a chat completion. Fields that are not named here are ignored."""

    LISTS, CHATS = CHAT_LISTS, "messages"

    messages: MostItems[Object] = Field(description="The chat; what its fields hold is text, never a control token.")
    tools: list[Object] | None = Field(None, description="Functions for the template.")
    tool_choice: Annotated[Choice | Object | None, LEFT_TO_RIGHT] = Field(
        None, description="Checked; templates do not get it."
    )
    reasoning_effort: Effort | None = Field(
        None, description="The template's variable, and `enable_thinking` if the caller does not set that."
    )
    chat_template_kwargs: Object | None = Field(None, description="Further variables of the template.")
    documents: list[Object] | None = Field(None, description="Documents for the template.")
    add_generation_prompt: bool | None = Field(
        None, description="End with the beginning of the next turn: true, unless the last message goes on."
    )
    continue_final_message: bool | None = Field(None, description="End within the last message.")
    add_special_tokens: bool | None = Field(None, description="Put what the tokenizer puts around a text, too.")
    max_completion_tokens: int | None = Field(None, ge=0)
    max_tokens: int | None = Field(None, ge=0)
    logprobs: bool | None = None
    top_logprobs: Integer | None = None

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "a chat": Example("what an engine generates from", {"messages": [{"role": "user", "content": "Hello"}]}),
        "parts": Example(
            "text parts, as routers send them",
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "warmup"}]}], "max_tokens": 1},
        ),
        "an image": Example(
            "refused by its type",
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]},
            status=400,
        ),
    }

    def most_tokens(self) -> int | None:
        """Return the newer field, or the older."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    def logprobs_wanted(self) -> int | None:
        """Return how many alternatives there are to be, if any are."""
        asked = self.top_logprobs or 0
        if asked < -1 or (asked and not self.logprobs):
            raise ServiceError("invalid_value", "this is at least -1, and goes with logprobs", "top_logprobs")
        return asked if self.logprobs else None


def vllm_render_chat(state: ServerState, body: VllmRenderChatRequest, request_id: str = "") -> Answer:
    """Render a chat, as vLLM's `/v1/chat/completions/render`: the answer is what an engine generates from."""
    generation.refuse_unhonoured(body)
    if body.add_generation_prompt and body.continue_final_message:
        raise ServiceError(
            "invalid_option",
            "Cannot set both `continue_final_message` and `add_generation_prompt` to True.",
            "continue_final_message",
        )
    loaded = state.registry.of_model(body.model)
    variables = Variables(body.chat_template_kwargs, body.reasoning_effort)
    if body.echo and body.prompt_logprobs is None:
        body = body.model_copy(update={"prompt_logprobs": body.top_logprobs or 0})
    _check_tools(body)
    documents = _documents(body.documents)
    encoded = vllm.encode_chat(state, loaded, body, body.messages, variables, form="render", documents=documents)
    prompt = generation.prompt_of(body, encoded)
    if body.add_special_tokens:
        prompt = Prompt(*vllm.framed(loaded, encoded.ids, prompt.spans, len(encoded.rendered.text)))
    return generation.answer(state, loaded, body, [prompt], f"chatcmpl-{request_id}")


def _check_tools(body: VllmRenderChatRequest) -> None:
    """Refuse a choice among tools that are not there."""
    if body.tools is not None and not body.tools:
        raise ServiceError("invalid_value", "send at least one tool, or leave tools out", "tools")
    choice = body.tool_choice
    if choice in (None, "none"):
        return
    if body.tools is None:
        raise ServiceError("invalid_option", "this goes with tools; send them, or leave this out", "tool_choice")
    if isinstance(choice, dict):
        name = text_of(object_of(choice.get("function"), "tool_choice.function"), "name", "tool_choice.function")
        if all((tool.get("function") or {}).get("name") != name for tool in body.tools):
            raise ServiceError("invalid_option", f"no tool is named {quote(name)}", "tool_choice")


def _documents(documents: Sequence[Object] | None) -> Sequence[Object] | None:
    for at, document in enumerate(documents or ()):
        for name in document:
            text_of(document, name, f"documents[{at}]")
    return documents


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    model = under_limits(VllmRenderChatRequest, state.settings)
    generation.declare(app, state, PATH, vllm_render_chat, model, plain=PlainRender(state, model))
