"""``POST /tokenize`` and ``POST /detokenize`` as vLLM has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import orjson
from fastapi import FastAPI
from pydantic import BaseModel, Field

from service.errors import ServiceError
from service.http.plain_chats import PlainTokenize
from service.http.response_json import Answer, TokenStrings
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.compat import prompts, required_prefix, vllm_messages
from service.routes.compat.conversation import FIELD, Variables
from service.routes.compat.dialects import error_info
from service.routes.json_route import error_responses, post
from service.routes.texts import Array, Ids
from service.schemas.fields import Id, MostIds, MostItems, Object
from service.schemas.inline import INLINE_SHAPED
from service.schemas.requests import CHAT_LISTS, Example, RequestBody
from service.state import ServerState
from tokenizer_core import EncodedChat, JsonList, MessageForm, NotPlain

_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
_ALPHABET = {byte: 0x100 + place for place, byte in enumerate(_OTHERS)}
"""The characters that stand for bytes in GPT-2's vocabulary, where they are not those of Latin-1."""


class VllmTokenizeRequest(RequestBody):
    """A prompt to encode. Fields that are not named here are ignored."""

    LISTS, CHATS = CHAT_LISTS, "messages"

    model: str | None = Field(None, description="A model of the settings, or a name, hash or `name@hash`.")
    prompt: str | None = Field(None, description="The text. Literals of special tokens in it become tokens.")
    messages: MostItems[Object] | None = Field(
        None, description="A chat, in place of `prompt`: what its fields hold is text, never a control token."
    )
    add_special_tokens: bool | None = Field(
        None, description="Put what the tokenizer puts around a text: true for a prompt, false for a chat."
    )
    add_generation_prompt: bool | None = Field(
        None, description="End a chat with the beginning of the next turn: true, unless the last message goes on."
    )
    continue_final_message: bool = Field(False, description="End a chat within its last message.")
    chat_template_kwargs: Object | None = Field(None, description="Further variables of the template.")
    tools: list[Object] | None = Field(None, description="Tools for the template.")
    return_token_strs: bool | None = Field(False, description="Also return every token as the vocabulary writes it.")
    required_prefix_token_ids: MostIds[Id] | None = Field(
        None, description="Ids that the chat begins with in place of its own up to the assistant's last turn."
    )
    prefix_ids: Any = Field(None, description="Refused.")
    new_from: Any = Field(None, description="Refused.")
    chat_template: Any = Field(None, description="Refused: a template comes with the tokenizer.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "a prompt": Example("ids and their number", {"prompt": "Hello, world"}),
        "a chat": Example("with the assistant's turn begun", {"messages": [{"role": "user", "content": "Hello"}]}),
        "with strings": Example("tokens as the vocabulary writes them", {"prompt": "Hi", "return_token_strs": True}),
        "a template": Example("refused", {"prompt": "Hi", "chat_template": "{{ messages }}"}, status=400),
    }

    def heavy(self) -> bool:
        """Tell whether many strings are asked for."""
        return bool(self.return_token_strs) and len(self.prompt or "") > INLINE_SHAPED

    def cut_by(self) -> tuple[str | None, ...]:
        """Return the model."""
        return (self.model,)


class VllmTokenizeAnswer(BaseModel):
    """Ids."""

    count: int
    max_model_len: int = Field(description="2147483647 if the artifact names no length.")
    tokens: list[int]
    token_strs: list[str] | None


class VllmDetokenizeRequest(RequestBody):
    """Ids to decode. Fields that are not named here are ignored."""

    model: str | None = Field(None, description="A model of the settings, or a name, hash or `name@hash`.")
    tokens: MostIds[Id] = Field(description="The ids; special tokens are kept in the text.")

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "ids": Example("ids that every tokenizer has", {"tokens": [40, 41, 42]}),
        "no id": Example("the error has the place", {"tokens": [40, "41"]}, status=400),
    }


class VllmDetokenizeAnswer(BaseModel):
    """Text."""

    prompt: str


class VllmErrorInfo(BaseModel):
    """What is wrong."""

    message: str
    type: str
    param: str | None
    code: int


class VllmError(BaseModel):
    """Any error of these routes."""

    error: VllmErrorInfo


RESPONSES = error_responses(model=VllmError)


def dialect(problem: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """Say a problem as vLLM does."""
    status, info = error_info(problem)
    return status, {"error": info}


def token_strings(loaded: ServedTokenizer, ids: Ids) -> TokenStrings:
    """Return every token as its vocabulary writes it: bytes in GPT-2's alphabet, added tokens as they are."""
    tokenizer, vocabulary = loaded.tokenizer, loaded.tokenizer.parts.vocabulary
    literals = {token.id: token.content for token in tokenizer.added_tokens}

    def write(id: int) -> str:
        if id in literals:
            return literals[id]
        data = tokenizer.token_bytes(id)
        return data.decode("utf-8") if vocabulary.is_opaque(id) else data.decode("latin-1").translate(_ALPHABET)

    return TokenStrings(ids, write)


class ChatFields(Protocol):
    """The fields of a request with a chat, as vLLM's routes have them."""

    @property
    def model(self) -> str | None: ...
    @property
    def tools(self) -> Sequence[Object] | None: ...
    @property
    def add_generation_prompt(self) -> bool | None: ...
    @property
    def continue_final_message(self) -> bool | None: ...


def encode_chat(
    state: ServerState,
    loaded: ServedTokenizer,
    body: ChatFields,
    chat: Sequence[Object],
    variables: Variables,
    *,
    form: MessageForm,
    documents: Sequence[Object] | None = None,
) -> EncodedChat:
    """Encode a chat; unlike in vLLM, nothing that its fields hold becomes a control token, unless a setting says so.

    Errors:
        those of chats, at the fields of the request
    """
    begins, continues = body.add_generation_prompt, bool(body.continue_final_message)
    encode = partial(
        chats.encode_one,
        loaded,
        path="messages",
        settings=state.settings,
        args_field=FIELD,
        literals=state.engines.literals(body.model, loaded.name),
        form=form,
        documents=documents,
        add_generation_prompt=not continues if begins is None else begins,
        continue_final_message=continues,
        template_args=variables.values,
    )
    if isinstance(chat, JsonList):
        # The check of the chat meets the same error, and knows its place.
        with suppress(NotPlain, ServiceError):
            return encode(chat, tools=body.tools)
    try:
        return encode(vllm_messages.read(chat), tools=vllm_messages.read_tools(body.tools))
    except ServiceError as error:
        error.path = variables.sent(vllm_messages.sent(error.path, chat)) if error.path else error.path
        raise


def framed(loaded: ServedTokenizer, ids: Ids, spans: Array | None = None, end: int = 0) -> tuple[Ids, Array | None]:
    """Return ids with what the tokenizer puts around a text, and their spans: empty ones at 0 and at the text's end."""
    config = loaded.tokenizer.config
    before, after = (np.array(each, np.uint32) for each in (config.prefix_ids, config.suffix_ids))
    if spans is not None:
        spans = np.concatenate(
            (np.zeros((len(before), 2), spans.dtype), spans, np.full((len(after), 2), end, spans.dtype))
        )
    return np.concatenate((before, ids, after)), spans


def _chat_ids(state: ServerState, loaded: ServedTokenizer, body: VllmTokenizeRequest, chat: Sequence[Object]) -> Ids:
    variables = Variables(body.chat_template_kwargs)

    def encode(messages: Sequence[Object], options: ChatFields) -> EncodedChat:
        return encode_chat(state, loaded, options, messages, variables, form="tokenize")

    whole = encode(chat, body)
    given, place = required_prefix.given(chat, body.required_prefix_token_ids)
    if not given:
        return framed(loaded, whole.ids)[0] if body.add_special_tokens else whole.ids
    prefix = prompts.ids_of(loaded, given, place)
    closed = body.model_copy(update={"add_generation_prompt": False, "continue_final_message": False})
    past = encode(required_prefix.history(chat), closed)
    ids = required_prefix.continued(loaded, prefix, past, whole)
    # The prefix has the ids that the tokenizer puts before a text.
    behind = np.array(loaded.tokenizer.config.suffix_ids if body.add_special_tokens else (), np.uint32)
    return np.concatenate((ids, behind))


def _answer(state: ServerState, loaded: ServedTokenizer, body: VllmTokenizeRequest, ids: Ids) -> Answer:
    head = b'{"count":%d,"max_model_len":%d,"tokens":' % (len(ids), state.engines.length(body.model, loaded))
    strings = token_strings(loaded, ids) if body.return_token_strs else b"null"
    return prompts.written(state, loaded, body.model, len(ids), head, ids, b',"token_strs":', strings, b"}")


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the routes."""
    said: Any = {"dialect": dialect, "responses": RESPONSES}
    plain = PlainTokenize(state.current.registry, state.settings, state.engines)
    post(app, state, "/tokenize", tokenize, VllmTokenizeRequest, VllmTokenizeAnswer, plain=plain, **said)
    post(app, state, "/detokenize", detokenize, VllmDetokenizeRequest, VllmDetokenizeAnswer, **said)


def tokenize(state: ServerState, body: VllmTokenizeRequest) -> Answer:
    """Turn a prompt or a chat into ids, as vLLM's `/tokenize`: its clients need only this address."""
    prompts.refuse_template(body.chat_template)
    prompts.refuse_fields(body, ("prefix_ids", "new_from"))
    loaded = state.registry.of_model(body.model)
    if body.messages is not None:
        return _answer(state, loaded, body, _chat_ids(state, loaded, body, body.messages))
    if body.required_prefix_token_ids is not None:
        raise ServiceError("invalid_option", "a prefix goes with messages, not with a prompt", required_prefix.FIELD)
    if body.prompt is None:
        raise ServiceError("missing_field", "this field is required", "prompt")
    is_framed = body.add_special_tokens is not False
    return _answer(state, loaded, body, prompts.encode(loaded, body.prompt, add_special_tokens=is_framed))


def detokenize(state: ServerState, body: VllmDetokenizeRequest) -> Answer:
    """Turn ids into text, as vLLM's `/detokenize`."""
    loaded = state.registry.of_model(body.model)
    text = prompts.decode(loaded, body.tokens, skip_special_tokens=False)
    return prompts.written(state, loaded, body.model, len(body.tokens), b'{"prompt":', orjson.dumps(text), b"}")
