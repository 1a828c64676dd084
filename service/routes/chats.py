"""Render and encode chats for every route. A word of a caller in a message never becomes a control token."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from service.errors import ServiceError, from_core, quote
from service.http.response_json import report_bytes
from service.registry.served import Literals, ServedTokenizer
from service.routes.texts import Array
from service.schemas.requests import ChatOptions, CountRequest, EncodeRequest, RenderRequest, TextOrChatRequest, is_one
from service.settings import Settings
from tokenizer_core import (
    ChatPolicy,
    ContentFormat,
    EncodedChat,
    Offsets,
    RenderedChat,
    RenderingOptions,
    TokdError,
    Unit,
    writes_every_message,
)

Chat = Sequence[Mapping[str, Any]]
TextOrChats = TextOrChatRequest | RenderRequest

_SPAN_BYTES = 256
"""The bytes that a span of a caller's takes, with its numbers and the path of its field."""


def places(
    loaded: ServedTokenizer, request: TextOrChatRequest, unit: Unit, settings: Settings
) -> list[tuple[Offsets, RenderedChat]]:
    """Return the ids of every chat with their spans in the rendered text, and that text."""
    literals = policy(request, settings)
    found: list[tuple[Offsets, RenderedChat]] = []
    for chat, path in render(loaded, chats_of(request), unused=request.unused, **options(request, settings)):
        with placed(path):
            offsets, _ = loaded.tokenizer.chat_offsets(chat, unit, special_tokens=literals)
        found.append((offsets, chat))
        report_bytes(size(chat, offsets.ids, offsets.spans))
    return found


def options(request: ChatOptions, settings: Settings) -> RenderingOptions:
    """Return the options of a request as the tokenizer takes them."""
    return {
        "tools": request.tools,
        "documents": request.documents,
        "add_generation_prompt": request.add_generation_prompt,
        "continue_final_message": request.continue_final_message,
        "template_args": request.template_args,
        "template": request.template,
        "content_format": cast(ContentFormat, settings.content_format),
    }


def encode_one(
    loaded: ServedTokenizer,
    chat: Chat,
    path: str,
    settings: Settings,
    *,
    args_field: str = "template_args",
    literals: Literals = "text",
    **rendering: Any,
) -> EncodedChat:
    """Encode one chat, of a request that cannot say what a literal means.

    Args:
        path: the field that the chat stands in; ``args_field`` is that of the template's variables.
        literals: ``"engine"`` makes control tokens of literals, whatever the setting ``chat_literals`` says.
    """
    wanted = settings.content_format
    ((rendered, _),) = render(loaded, [(chat, path)], args_field, content_format=wanted, **rendering)
    policy = "parse" if literals == "engine" else cast(ChatPolicy, settings.chat_literals)
    try:
        encoded = _encode(loaded, rendered, path, policy, args_field)
    except ServiceError as error:
        if error.code == "reserved_literal":
            literal = quote(error.members["literal"])
            error.detail = f"a caller's text makes {literal}, which the setting chat_literals of this server refuses"
        raise
    report_bytes(encoded_size(encoded))
    return encoded


def writes(loaded: ServedTokenizer, chat: Chat, *, has_tools: bool, refused: bool = False) -> bool:
    """Tell whether the chat template takes messages of ours and, unless only that counts, writes each."""
    with placed("messages"):
        return writes_every_message(loaded.tokenizer.settings, chat, has_tools=has_tools, takes=refused)


def unused(request: TextOrChats, chats: Iterable[RenderedChat]) -> dict[str, list[list[str]]]:
    """Return the field of an answer that lists what left no trace, if the request asks for it."""
    return {"unused": [chat.unused() for chat in chats]} if request.unused == "report" else {}


def shape(request: TextOrChats) -> str | list[str]:
    """Tell ``write`` whether the answer is about one chat or many."""
    return "" if is_one(request.messages) else []


def render(
    loaded: ServedTokenizer,
    chats: Sequence[tuple[Chat, str]],
    args_field: str = "template_args",
    *,
    unused: str = "ignore",
    trains: bool = False,
    **rendering: Any,
) -> Iterator[tuple[RenderedChat, str]]:
    """Render chats within one budget, and yield each with the field that it stands in.

    Args:
        unused: what to do about what leaves no trace; ``"refuse"`` or nothing.
        trains: labels are made, for which calls of tools count too.
    """
    with placed(chats[0][1], args_field):
        renderer = loaded.tokenizer.chat_renderer(**rendering)
    for chat, path in chats:
        with placed(path, args_field):
            rendered = renderer.render(chat)
            if unused == "refuse":
                rendered.require_all_used()
                if trains:
                    rendered.require_calls_used()
        yield rendered, path


def _encode(
    loaded: ServedTokenizer, rendered: RenderedChat, path: str, policy: ChatPolicy, args_field: str = "template_args"
) -> EncodedChat:
    with placed(path, args_field):
        return loaded.tokenizer.encode_chat(rendered, special_tokens=policy)


def size(chat: RenderedChat, *arrays: Array) -> int:
    """Return the bytes that a chat takes until its answer is written."""
    rendering = chat.rendering
    return rendering.size + _SPAN_BYTES * rendering.span_count + sum(array.nbytes for array in arrays)


def encoded_size(chat: EncodedChat) -> int:
    """Return the same of an encoded chat, with the mask of its special tokens, whether that is made or not."""
    return size(chat.rendered, chat.ids, chat.spans) + len(chat.ids)


@contextmanager
def placed(path: str, args_field: str = "template_args", ids: str = "") -> Iterator[None]:
    """Work on one chat; an error is placed in the field that the chat stands in, or in the one of given ids."""
    try:
        yield
    except TokdError as error:
        if ids and "index" in error.place:
            raise from_core(error, ids) from error
        field = error.place.get("field")
        if isinstance(field, str) and field.startswith("messages"):
            error.place["field"] = path + field.removeprefix("messages")
        elif isinstance(field, str) and field.startswith("template_args"):
            error.place["field"] = args_field + field.removeprefix("template_args")
            error.message = error.message.replace("template_args", args_field, 1)
        raise from_core(error, path) from error


def encode(loaded: ServedTokenizer, request: EncodeRequest | CountRequest, settings: Settings) -> Iterator[EncodedChat]:
    literals = policy(request, settings)
    trains = isinstance(request, EncodeRequest) and "labels" in request.parts
    rendering = options(request, settings)
    for chat, path in render(loaded, chats_of(request), unused=request.unused, trains=trains, **rendering):
        yield _encode(loaded, chat, path, literals)


def policy(request: TextOrChatRequest, settings: Settings) -> ChatPolicy:
    """Check what text alone can have, and return what literals in a caller's fields mean."""
    if request.text_pair is not None:
        raise ServiceError("invalid_option", "a chat has no second text; send text with text_pair", "text_pair")
    if request.model_fields_set & {"text"}:
        raise ServiceError("invalid_option", "send text or messages, not both", "messages")
    if "add_special_tokens" in request.model_fields_set and request.add_special_tokens:
        raise ServiceError(
            "invalid_option",
            "a template writes the special tokens of a chat; leave add_special_tokens out",
            "add_special_tokens",
        )
    if "special_tokens" not in request.model_fields_set:
        return cast(ChatPolicy, settings.chat_literals)
    if request.special_tokens == "parse" and not settings.chat_parse:
        raise ServiceError(
            "invalid_option",
            "a chat's fields are text on this server, unless its setting chat_parse allows callers to write control "
            'tokens; render the chat and send it as text with "parse"',
            "special_tokens",
        )
    return request.special_tokens


def only(request: TextOrChats) -> tuple[Chat, str]:
    """Return the one chat of a request with its field.

    Errors:
        ``invalid_option``: there are many.
    """
    if not is_one(request.messages):
        raise ServiceError("invalid_option", "this goes with one chat; send a request for each", "messages")
    return chats_of(request)[0]


def chats_of(request: TextOrChats) -> list[tuple[Chat, str]]:
    """Return every chat with the field it stands in."""
    chats: Any = request.messages
    return [(chats, "messages")] if is_one(chats) else [(chat, f"messages[{at}]") for at, chat in enumerate(chats)]
