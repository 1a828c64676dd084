"""``POST /v1/tokenize`` and ``POST /v1/detokenize`` as SGLang has them: one prompt or many, or a chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import orjson
from fastapi import FastAPI
from pydantic import BaseModel, Field

from service.errors import ServiceError
from service.http.response_json import Answer
from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.routes.compat import prompts, vllm
from service.routes.compat.conversation import Variables
from service.routes.compat.dialects import error_info
from service.routes.json_route import error_responses, post
from service.routes.texts import Ids, refuse_large_frames
from service.schemas.fields import LEFT_TO_RIGHT, Id, MostIds, MostItems, Object
from service.schemas.inline import INLINE_ITEMS
from service.schemas.requests import CHAT_LISTS, Example, RequestBody
from service.state import ServerState

DEFAULT_MODEL = "default"
"""The name by which SGLang's clients call any model that is served."""

_MODEL = Field(DEFAULT_MODEL, description="A model of the settings, a name, hash or `name@hash`, or `default`.")


class SglangTokenizeRequest(RequestBody):
    """Prompts to encode. Fields that are not named here are ignored."""

    LISTS, CHATS = CHAT_LISTS, "messages"

    model: str = _MODEL
    prompt: Annotated[str | MostItems[str] | None, LEFT_TO_RIGHT] = Field(
        None, description="One text or a list. Literals of special tokens in it become tokens."
    )
    messages: MostItems[Object] | None = Field(
        None, description="A chat, in place of `prompt`: what its fields hold is text, never a control token."
    )
    tools: list[Object] | None = Field(None, description="Functions for the template.")
    tool_choice: Annotated[str | Object | None, LEFT_TO_RIGHT] = Field(
        None, description="The template's variable `tool_choice`, if there are tools."
    )
    reasoning_effort: str | None = Field(
        None, description="The template's variable, and `enable_thinking` if the caller does not set that."
    )
    chat_template_kwargs: Object | None = Field(None, description="Further variables of the template.")
    continue_final_message: bool | None = Field(None, description="End a chat within its last message.")
    add_generation_prompt: bool | None = Field(
        None, description="End a chat with the beginning of the next turn: true, unless the last message goes on."
    )
    add_special_tokens: bool | None = Field(
        None, description="Put what the tokenizer puts around a text: true for prompts, false for a chat."
    )
    required_prefix_token_ids: Any = Field(None, description="Refused.")
    prefix_ids: Any = Field(None, description="Refused.")
    new_from: Any = Field(None, description="Refused.")
    chat_template: Any = Field(None, description="Refused: a template comes with the tokenizer.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "one prompt": Example("ids and their number", {"prompt": "Hello, world"}),
        "many prompts": Example("one list of ids a prompt", {"prompt": ["one", "one two"]}),
        "a chat": Example("with the assistant's turn begun", {"messages": [{"role": "user", "content": "Hello"}]}),
        "another model": Example("no such model is served", {"model": "someone/else", "prompt": "Hi"}, status=404),
    }

    def heavy(self) -> bool:
        """Tell whether there are many prompts."""
        return type(self.prompt) is list and len(self.prompt) > INLINE_ITEMS

    def cut_by(self) -> tuple[str | None, ...]:
        """Return the model."""
        return (None if self.model == DEFAULT_MODEL else self.model,)


class SglangTokenizeAnswer(BaseModel):
    """Ids."""

    tokens: list[int] | list[list[int]]
    count: int | list[int]
    max_model_len: int = Field(description="2147483647 if the artifact names no length.")


class SglangDetokenizeRequest(RequestBody):
    """Ids to decode. Fields that are not named here are ignored."""

    model: str = _MODEL
    tokens: Annotated[MostIds[Id] | MostItems[MostIds[Id]], LEFT_TO_RIGHT] = Field(
        description="One list of ids, or many."
    )
    skip_special_tokens: bool = Field(True, description="Leave the special tokens out.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "one list": Example("ids that every tokenizer has", {"tokens": [40, 41, 42]}),
        "many lists": Example("one text a list", {"tokens": [[40, 41], [42]]}),
        "no id": Example("the error has the place", {"tokens": [40, "41"]}, status=400),
    }

    def heavy(self) -> bool:
        """Tell whether there are many lists."""
        return len(self.tokens) > INLINE_ITEMS and type(self.tokens[0]) is list


class SglangDetokenizeAnswer(BaseModel):
    """Text, or one text a list."""

    text: str | list[str]


class SglangError(BaseModel):
    """Any error of these routes."""

    object: Literal["error"]
    message: str
    type: str
    param: str | None
    code: int


RESPONSES = error_responses(model=SglangError)


def dialect(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Say a problem as SGLang does."""
    status, info = error_info(problem)
    return status, {"object": "error", **info}


def find(registry: Registry, model: str) -> ServedTokenizer:
    """Find a tokenizer as SGLang's clients name it."""
    return registry.default if model == DEFAULT_MODEL else registry.of_model(model)


def tokenize_prompts(
    state: ServerState, loaded: ServedTokenizer, body: SglangTokenizeRequest, given: str | list[str]
) -> Answer:
    """Answer one prompt, or many with a list for each."""
    many, framed = isinstance(given, list), body.add_special_tokens is not False
    texts = given if isinstance(given, list) else [given]
    if framed and many:
        refuse_large_frames(loaded, texts, state.settings.max_ids, "prompt")
    rows = [
        prompts.encode(loaded, text, add_special_tokens=framed, path=f"prompt[{index}]" if many else "prompt")
        for index, text in enumerate(texts)
    ]
    return _answer(state, loaded, body, rows, many=many)


def tokenize_chat(
    state: ServerState, loaded: ServedTokenizer, body: SglangTokenizeRequest, messages: list[Object]
) -> Answer:
    """Answer a chat."""
    variables = Variables(body.chat_template_kwargs, body.reasoning_effort)
    if body.tools:
        variables.set("tool_choice", body.tool_choice or "auto", "tool_choice")
    ids = vllm.encode_chat(state, loaded, body, messages, variables, form="render").ids
    row = vllm.framed(loaded, ids)[0] if body.add_special_tokens else ids
    return _answer(state, loaded, body, [row], many=False)


def _answer(
    state: ServerState, loaded: ServedTokenizer, body: SglangTokenizeRequest, rows: list[Ids], *, many: bool
) -> Answer:
    parts: list[Any] = [b'{"tokens":', b"[" if many else b""]
    for index, ids in enumerate(rows):
        parts += [b"," if index else b"", ids]
    counts = list(map(len, rows))
    tail = (orjson.dumps(counts if many else counts[0]), loaded.max_model_len)
    parts += [b"]" if many else b"", b',"count":%b,"max_model_len":%d}' % tail]
    return prompts.written(state, loaded, body.model, sum(counts), *parts)


def detokenize_lists(state: ServerState, loaded: ServedTokenizer, body: SglangDetokenizeRequest) -> Answer:
    """Answer one list of ids, or many with a text for each."""
    tokens: Any = body.tokens
    many = bool(tokens) and isinstance(tokens[0], list)
    rows = tokens if many else [tokens]
    total = sum(map(len, rows))
    max_ids = state.settings.max_ids
    if total > max_ids:
        raise ServiceError("too_many_ids", f"there are more than {max_ids} ids; send fewer in one request", "tokens")
    texts = [
        prompts.decode(
            loaded,
            row,
            skip_special_tokens=body.skip_special_tokens,
            path=f"tokens[{index}]" if many else "tokens",
        )
        for index, row in enumerate(rows)
    ]
    return prompts.written(
        state, loaded, body.model, total, b'{"text":', orjson.dumps(texts if many else texts[0]), b"}"
    )


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the routes."""
    said: Any = {"dialect": dialect, "responses": RESPONSES}
    post(app, state, "/v1/tokenize", sglang_tokenize, SglangTokenizeRequest, SglangTokenizeAnswer, **said)
    post(app, state, "/v1/detokenize", sglang_detokenize, SglangDetokenizeRequest, SglangDetokenizeAnswer, **said)


def sglang_tokenize(state: ServerState, body: SglangTokenizeRequest) -> Answer:
    """Turn a prompt, or many, or a chat, into ids, as SGLang's `/v1/tokenize`."""
    prompts.refuse_template(body.chat_template)
    prompts.refuse_fields(body, ("required_prefix_token_ids", "prefix_ids", "new_from"))
    loaded = find(state.registry, body.model)
    if body.messages is not None and body.prompt is None:
        return tokenize_chat(state, loaded, body, body.messages)
    if body.prompt is not None and body.messages is None:
        return tokenize_prompts(state, loaded, body, body.prompt)
    code, field = ("missing_field", "prompt") if body.prompt is None else ("invalid_option", "messages")
    raise ServiceError(code, "Exactly one of 'prompt' or 'messages' must be provided.", field)


def sglang_detokenize(state: ServerState, body: SglangDetokenizeRequest) -> Answer:
    """Turn ids into text, as SGLang's `/v1/detokenize`."""
    return detokenize_lists(state, find(state.registry, body.model), body)
