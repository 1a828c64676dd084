"""Types that requests and answers share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

SpecialTokens = Literal["reject", "text", "parse"]
Part = Literal[
    "ids",
    "count",
    "tokens",
    "spans",
    "attention_mask",
    "special_tokens_mask",
    "position_ids",
    "labels",
    "type_ids",
    "sequence_ids",
    "assistant_mask",
    "message_index",
    "reserved_literals",
    "truncated",
    "prefix_stable",
    "segmentations",
]
PAIR_PARTS: tuple[Part, ...] = ("type_ids", "sequence_ids")
"""Parts of an answer that pairs of texts are for; texts alone have them too, and chats have not."""

CHAT_PARTS = ("assistant_mask", "message_index", "reserved_literals", "prefix_stable")
"""Parts of an answer that only chats have."""

SEGMENTATIONS: Part = "segmentations"
"""The part of an answer that lists the best segmentations of a text, alone."""

RENDERED_AGAIN = frozenset(("labels", "assistant_mask", "prefix_stable"))
"""Parts of a chat that take further renderings of it, or much memory."""

SAMPLING = ("dropout", "alpha", "nbest", "seed")
"""Options of a request whose segmentations are drawn."""

MAX_SEED = (1 << 64) - 1

PREFIX_IDS: Any = Field(None, description="Ids of an engine that one chat begins with, exactly as they are.")
NEW_FROM: Any = Field(None, description="The first message that `prefix_ids` do not stand for.")
REWRITTEN: Any = Field(
    "refuse", description="A template that rewrites earlier messages: refuse the chat, or keep `prefix_ids`."
)

Object = dict[str, Any]

MAX_ID = (1 << 32) - 1
MAX_POSITION = 1 << 31

Id = Annotated[int, Field(ge=0, le=MAX_ID)]
Position = Annotated[int, Field(ge=0, le=MAX_POSITION)]
Span = Annotated[list[Position], Field(min_length=2, max_length=2)]


def drop_default(schema: dict[str, Any]) -> None:
    """Document a field that may be missing and is never null without the null that stands for it here."""
    del schema["default"]
