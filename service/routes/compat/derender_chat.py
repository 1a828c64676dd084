"""``POST /v1/chat/completions/derender`` as vLLM has it: what an engine generated, back to a chat's messages."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import orjson
from fastapi import FastAPI
from pydantic import BaseModel, Field, RootModel

from service.errors import ServiceError
from service.http.response_json import Answer
from service.registry.served import ServedTokenizer
from service.routes.compat import derendering, sampling, vllm
from service.routes.compat.derender_models import (
    AnsweredChatRequest,
    ChatLogProbs,
    DerenderAnswer,
    DerenderFields,
    GeneratedDelta,
    GenerateResponse,
    Ids,
    UsageAnswer,
    usage,
)
from service.routes.compat.derendered_message import Messages, messages_of, plain
from service.routes.compat.derendering import Outputs
from service.routes.json_route import post
from service.schemas.fields import Object, Position
from service.schemas.parsing import written
from service.schemas.requests import Example
from service.state import ServerState

PATH = "/v1/chat/completions/derender"


class VllmDerenderChatRequest(DerenderFields):
    """What an engine generated for a chat. Fields that are not named here are ignored."""

    generate_response: GenerateResponse | None = Field(None, description="The engine's answer, whole.")
    prompt_tokens: Position | None = Field(None, description="The number of ids of the prompt, for `usage`.")
    prompt_token_ids: Ids | None = Field(
        None, description="The ids of the prompt, which say whether it has begun with reasoning."
    )
    chat_request: AnsweredChatRequest | None = Field(None, description="The request that was rendered.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "an answer": Example(
            "ids that an engine made",
            {"generate_response": {"request_id": "chatcmpl-1", "choices": [{"index": 0, "token_ids": [40, 41]}]}},
        ),
        "a chunk": Example(
            "the first of a stream",
            {"stream": True, "generate_chunk": {"request_id": "c-1", "choices": [{"index": 0, "token_ids": [40]}]}},
        ),
        "nothing": Example("no output has no ids", {"generate_response": {"choices": [{"index": 0}]}}, status=400),
    }

    def heavy(self) -> bool:
        """Tell whether outputs may be parsed."""
        return self.chat_request is not None


class ToolCallFunction(BaseModel):
    """The function that is called; of a delta with the next part of its arguments."""

    name: str | None
    arguments: str | None


class ToolCall(BaseModel):
    """A call; of a delta with its place among the calls."""

    id: str | None
    type: str | None
    function: ToolCallFunction
    index: int | None = None


class ChatMessage(BaseModel):
    """A message, or of a stream the next part of it, without what is always null in a message."""

    role: Literal["assistant"] | None
    content: str | None
    reasoning: str | None
    tool_calls: list[ToolCall] | None = None
    refusal: None = None
    annotations: None = None
    audio: None = None
    function_call: None = None


class ChatChoice(BaseModel):
    """One answer of the model; of a stream with `delta` in place of `message`."""

    index: int
    message: ChatMessage | None = None
    delta: ChatMessage | None = None
    logprobs: ChatLogProbs | None
    finish_reason: str | None
    stop_reason: int | str | None
    token_ids: list[int] | None
    routed_experts: None = None


class VllmChatCompletion(DerenderAnswer):
    """A chat completion, or a chunk of one."""

    object: Literal["chat.completion", "chat.completion.chunk"]
    choices: list[ChatChoice]
    usage: UsageAnswer | None
    prompt_token_ids: None
    prompt_text: None
    prompt_logprobs: Any = None
    service_tier: None = None
    kv_transfer_params: Object | None = None
    ec_transfer_params: None = None


class VllmChatChunk(BaseModel):
    """A chunk, and the state for the next."""

    chunk: VllmChatCompletion
    stream_state: str


class VllmDerenderedChat(RootModel[VllmChatCompletion | VllmChatChunk]):
    """The whole answer, or of a stream a chunk."""


def vllm_derender_chat(state: ServerState, body: VllmDerenderChatRequest) -> Answer:
    """Turn ids that an engine generated into a chat completion, as vLLM's `/v1/chat/completions/derender`."""
    return _chunk(state, body) if body.stream else _whole(state, body)


def _whole(state: ServerState, body: VllmDerenderChatRequest) -> Answer:
    loaded, response = state.registry.of_model(body.model), body.generate_response
    if response is None:
        raise ServiceError("missing_field", "this field is required", "generate_response")
    prompt = response.prompt_token_ids if body.prompt_token_ids is None else body.prompt_token_ids
    derendering.bound(state, loaded, body.model, [response], [prompt])
    messages = messages_of(state, loaded, body.model, body.chat_request, prompt, response.request_id)
    outputs, choices, total = _outputs(loaded, body, messages), list[Object](), 0
    for place, choice in enumerate(response.choices):
        path = f"generate_response.choices[{place}]"
        total += len(derendering.ids_of(choice, path, f"choice {choice.index}"))
        text, reason = outputs.begin(prompt).push(choice, path, is_last=True), choice.finish_reason
        message = plain(text)
        if messages is not None:
            message, reason = messages.whole(text, choice.index, reason)
        made = {
            "index": choice.index,
            "message": orjson.Fragment(written(message)),
            "logprobs": outputs.logprobs(choice.logprobs),
        }
        choices.append(made | _end(body, choice, reason, messages) | {"routed_experts": None})
    fields = {
        "object": "chat.completion",
        "choices": choices,
        "usage": usage(body.prompt_tokens or 0, total),
        "prompt_logprobs": sampling.copied(response, "prompt_logprobs"),
        "prompt_token_ids": None,
        "prompt_text": None,
        "service_tier": None,
        "kv_transfer_params": sampling.copied(response, "kv_transfer_params"),
        "ec_transfer_params": None,
    }
    return derendering.answer(state, loaded, body, response, fields, total)


def _chunk(state: ServerState, body: VllmDerenderChatRequest) -> Answer:
    loaded, prompt = state.registry.of_model(body.model), body.prompt_token_ids
    words = "derender_chat_stream expects at most one choice per chunk (got {})."
    begun = derendering.begin_step(state, loaded, body, prompt, words)
    prompt = begun.chunk.prompt_token_ids if prompt is None else prompt
    messages = messages_of(state, loaded, body.model, body.chat_request, prompt, begun.chunk.request_id)
    outputs, choices = _outputs(loaded, body, messages), []
    past, step = ("", outputs.step(begun, prompt)) if messages is None else outputs.whole_step(begun, prompt)
    if (choice := step.choice) is not None:
        delta, reason = {"content": step.text or None, "reasoning": None}, choice.finish_reason
        if messages is not None:
            delta, reason = messages.delta(past, step.text, choice.index, reason)
        role = None if step.before.begun else "assistant"
        made = {
            "index": choice.index,
            "delta": orjson.Fragment(written({"role": role, **delta})),
            "logprobs": step.logprobs,
        }
        choices.append(made | _end(body, choice, reason, messages))
    fields = {
        "object": "chat.completion.chunk",
        "choices": choices,
        "usage": step.usage(body.prompt_tokens),
        "prompt_token_ids": None,
        "prompt_text": None,
    }
    return derendering.answer(state, loaded, body, step.chunk, fields, len(step.ids), step.after)


def _outputs(loaded: ServedTokenizer, body: VllmDerenderChatRequest, messages: Messages | None) -> Outputs:
    sent = body.chat_request
    return Outputs(loaded, skips=messages is None and (sent is None or sent.skip_special_tokens is not False))


def _end(
    body: VllmDerenderChatRequest, choice: GeneratedDelta, reason: str | None, messages: Messages | None
) -> Object:
    sent = body.chat_request
    # Ids would give away reasoning that is left out.
    wants_ids = sent and sent.return_token_ids and (messages is None or sent.include_reasoning is not False)
    return {
        "finish_reason": reason,
        "stop_reason": choice.stop_reason,
        "token_ids": choice.token_ids if wants_ids else None,
    }


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the route."""
    post(
        *(app, state, PATH, vllm_derender_chat, VllmDerenderChatRequest, VllmDerenderedChat),
        dialect=vllm.dialect,
        responses=vllm.RESPONSES,
    )
