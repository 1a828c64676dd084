"""The options of the calls of a client, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from service.schemas.fields import SpecialTokens
from service.schemas.parts import PartName
from tokenizer_core import RewrittenHistory, Side, Truncation, Unit


class TextOptions(TypedDict, total=False):
    """Options of every method with texts; ``text_pair`` is the second text, or a list of them for many texts."""

    tokenizer: str
    text_pair: str | Sequence[str]
    special_tokens: SpecialTokens
    add_special_tokens: bool


class EncodeOptions(TextOptions, total=False):
    """The options of ``encode``; ``parts`` is ``return`` of the HTTP API, which is not a name in Python."""

    max_length: int
    truncation: Truncation
    truncation_side: Side
    stride: int
    padding: str
    padding_side: Side
    pad_token: str
    pad_to_multiple_of: int
    dropout: float
    alpha: float
    nbest: int
    seed: int
    word_labels: Sequence[int] | Sequence[Sequence[int]]
    block_hashes: Mapping[str, Any]
    since: Mapping[str, Any]
    parts: Sequence[PartName]


class ChatOptions(TypedDict, total=False):
    """Options of every method with chats."""

    tokenizer: str
    tools: Sequence[Mapping[str, Any]]
    documents: Sequence[Mapping[str, Any]]
    add_generation_prompt: bool
    continue_final_message: bool | str
    template_args: Mapping[str, Any]
    template: str
    unused: Literal["refuse", "report"]


class CountChatOptions(ChatOptions, total=False):
    """The options of ``count_chat``."""

    special_tokens: SpecialTokens


class EncodeChatOptions(ChatOptions, EncodeOptions, total=False):
    """The options of ``encode_chat``."""

    train_on: str | Sequence[str]
    train_reasoning: Literal["all", "written", "none"]
    prefix_ids: Sequence[int]
    new_from: int
    rewritten: RewrittenHistory


class OffsetsOptions(TextOptions, total=False):
    """The options of ``offsets``."""

    unit: Unit
    trim_offsets: bool
    tokens: bool


class ParseOptions(TypedDict, total=False):
    """The options of ``parse``."""

    tokenizer: str
    messages: Sequence[Mapping[str, Any]]
    prompt: str
    tools: Sequence[Mapping[str, Any]]
    documents: Sequence[Mapping[str, Any]]
    continue_final_message: bool
    template_args: Mapping[str, Any]
    template: str
    response_template: Mapping[str, Any]


class DecodeOptions(TypedDict, total=False):
    """The options of ``decode``."""

    tokenizer: str
    skip_special_tokens: bool


class StreamOptions(DecodeOptions, total=False):
    """The options of ``decode`` for a stream: the ``pending`` of the answer before, at first an empty string."""

    pending: str
    final: bool
