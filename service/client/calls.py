"""Every request that a client sends, and how its answer is read: once, for both kinds of client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from service.client.answers import Answer, Count, Decoded, Encoding, Places, Rendered, TokenizerInfo
from service.schemas.fields import Part, Side, SpecialTokens, Unit

T = TypeVar("T")
A = TypeVar("A", bound=Answer)

Ids = Sequence[int]
Targets = Sequence[Sequence[int]]
Chat = Sequence[Mapping[str, Any]]


class TextOptions(TypedDict, total=False):
    """What every method that takes text takes."""

    tokenizer: str
    special_tokens: SpecialTokens
    add_special_tokens: bool


class EncodeOptions(TextOptions, total=False):
    """The options of ``encode``; ``parts`` is ``return`` of the HTTP API, which is no name in Python."""

    max_length: int
    truncation_side: Side
    padding: str
    padding_side: Side
    pad_to_multiple_of: int
    parts: Sequence[Part]


class ChatOptions(TypedDict, total=False):
    """What every method that takes chats takes."""

    tokenizer: str
    tools: Sequence[Mapping[str, Any]]
    documents: Sequence[Mapping[str, Any]]
    add_generation_prompt: bool
    continue_final_message: bool
    template_args: Mapping[str, Any]


class EncodeChatOptions(ChatOptions, EncodeOptions, total=False):
    """The options of ``encode_chat``."""

    train_on: str | Sequence[str]


class OffsetsOptions(TextOptions, total=False):
    """The options of ``offsets``."""

    unit: Unit
    tokens: bool


class DecodeOptions(TypedDict, total=False):
    """The options of ``decode``."""

    tokenizer: str
    skip_special_tokens: bool


class StreamOptions(DecodeOptions, total=False):
    """The options of ``decode`` for a stream: the ``pending`` of the answer before, at first an empty string."""

    pending: str
    final: bool


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None


def rows_of(kind: type[A]) -> Callable[[Any], list[A]]:
    """Return the reader of an answer whose fields are lists with one entry a text."""

    def read(answer: dict[str, Any]) -> list[A]:
        head = {"tokenizer": answer.pop("tokenizer")}
        return [kind({**head, **dict(zip(answer, row, strict=True))}) for row in zip(*answer.values(), strict=True)]

    return read


def _renamed(body: dict[str, Any]) -> dict[str, Any]:
    if "parts" in body:
        body["return"] = body.pop("parts")
    return body


def encode(text: str, **options: Unpack[EncodeOptions]) -> Call[Encoding]:
    """Turn a text into ids, and what else ``parts`` asks for."""
    return Call("POST", "/encode", Encoding, _renamed({"text": text, **options}))


def encode_batch(texts: Sequence[str], **options: Unpack[EncodeOptions]) -> Call[list[Encoding]]:
    """Turn many texts into ids in one request."""
    return Call("POST", "/encode", rows_of(Encoding), _renamed({"text": texts, **options}))


def render(messages: Chat, **options: Unpack[ChatOptions]) -> Call[Rendered]:
    """Render a chat by the tokenizer's template, and say what of the text the caller wrote."""
    return Call("POST", "/render", Rendered, {"messages": messages, **options})


def encode_chat(messages: Chat, **options: Unpack[EncodeChatOptions]) -> Call[Encoding]:
    """Turn a chat into ids; what its fields hold is text, never a control token."""
    return Call("POST", "/encode", Encoding, _renamed({"messages": messages, **options}))


def count_chat(messages: Chat, **options: Unpack[ChatOptions]) -> Call[Count]:
    """Say how many ids a chat has."""
    return Call("POST", "/count", Count, {"messages": messages, **options})


def count(text: str, **options: Unpack[TextOptions]) -> Call[Count]:
    """Say how many ids a text has."""
    return Call("POST", "/count", Count, {"text": text, **options})


def count_batch(texts: Sequence[str], **options: Unpack[TextOptions]) -> Call[list[Count]]:
    """Say how many ids each of many texts has."""
    return Call("POST", "/count", rows_of(Count), {"text": texts, **options})


def offsets(text: str, target_spans: Targets | None = None, **options: Unpack[OffsetsOptions]) -> Call[Places]:
    """Say where every token stands, and which overlap the target spans."""
    return Call("POST", "/offsets", Places, {"text": text, "target_spans": target_spans, **options})


def offsets_batch(
    texts: Sequence[str], target_spans: Sequence[Targets] | None = None, **options: Unpack[OffsetsOptions]
) -> Call[list[Places]]:
    """Say where every token of many texts stands."""
    return Call("POST", "/offsets", rows_of(Places), {"text": texts, "target_spans": target_spans, **options})


def decode(ids: Ids, **options: Unpack[StreamOptions]) -> Call[Decoded]:
    """Turn ids into text; with ``pending`` as a part of a stream."""
    return Call("POST", "/decode", Decoded, {"ids": ids, **options})


def decode_batch(ids: Sequence[Ids], **options: Unpack[DecodeOptions]) -> Call[list[Decoded]]:
    """Turn many lists of ids into texts."""
    return Call("POST", "/decode", rows_of(Decoded), {"ids": ids, **options})


def tokenizers() -> Call[list[TokenizerInfo]]:
    """List the tokenizers that are loaded."""
    return Call("GET", "/tokenizers", lambda answer: [TokenizerInfo(each) for each in answer["tokenizers"]])


def tokenizer(reference: str) -> Call[TokenizerInfo]:
    """Describe one tokenizer, by name, hash or ``name@hash``."""
    return Call("GET", f"/tokenizers/{quote(reference, safe='')}", TokenizerInfo)
