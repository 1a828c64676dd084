"""The parts of an answer of ``/encode``: the table that requests, answers, their documentation and the route follow.

A text, a pair of texts or a chat becomes a *source*: its ids and all that its parts are made of. The ids are cut and
padded to a *row*. A part is made of both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal, NamedTuple

import numpy.typing as npt
from pydantic import BaseModel, Field

from service.schemas.fields import Span
from tokenizer_core import Row, Side

PartName = Literal[
    "ids",
    "count",
    "tokens",
    "spans",
    "attention_mask",
    "special_tokens_mask",
    "position_ids",
    "type_ids",
    "sequence_ids",
    "word_ids",
    "overflow_of",
    "segmentations",
    "labels",
    "assistant_mask",
    "message_index",
    "truncated",
    "reserved_literals",
    "prefix_stable",
]

Subject = Literal["texts", "words", "chats", "prefixes"]
"""What a request is about; ``prefixes`` are chats that begin with ids of an engine."""

Need = Literal["spans", "sequences", "words", "nbest"]
"""What texts are encoded to beyond their ids: places, segments as pairs have them, the words of strings, or lists of
segmentations."""


class Part(NamedTuple):
    """One thing that can be asked of ``/encode``.

    Attributes:
        meaning: for the documentation.
        make: makes it of a row and the row's source.
        kind: the type of its JSON for one text.
        of: the requests that have it.
        needs: what its texts are encoded to; what is drawn at random has no part with a need.
        renders_again: whether a chat takes further renderings for it, or much memory.
    """

    meaning: str
    make: Callable[[Row, Any], Any]
    kind: Any = list[int]
    of: tuple[Subject, ...] = ("texts", "words", "chats")
    needs: tuple[Need, ...] = ()
    renders_again: bool = False


class Nulls:
    """Numbers with null for those below 0, made a slice at a time."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, part: slice) -> list[int | None]:
        values: list[int] = self._values[part].tolist()
        return [None if value < 0 else value for value in values]


class ReservedLiteral(BaseModel):
    """The literal of an added token in a caller's text, with its place in the rendered text, in characters."""

    start: int
    end: int
    literal: str


class Truncated(BaseModel):
    """The cut of `max_length` in a text or chat."""

    side: Side
    count: int = Field(description="How many ids.")
    span: Span = Field(description="Their place, half-open, in characters.")


class Segmentation(BaseModel):
    """One way to cut a text."""

    ids: list[int]
    score: float = Field(description="The sum of the scores of its tokens: the logarithm of a probability.")


_ALL: tuple[Subject, ...] = ("texts", "words", "chats", "prefixes")
_TEXTS: tuple[Subject, ...] = ("texts", "words")
_CHATS: tuple[Subject, ...] = ("chats",)

PARTS: dict[PartName, Part] = {
    "ids": Part("the ids", lambda row, _: row.ids, of=_ALL),
    "count": Part("the number of ids, without padding", lambda row, _: row.count, kind=int, of=_ALL),
    "tokens": Part(
        "the text of each id alone; U+FFFD for an incomplete character",
        lambda row, source: source.tokens(row.ids),
        kind=list[str],
    ),
    "spans": Part(
        "half-open spans in code points of the id's own text or word, or of a rendered chat; empty for special tokens "
        "round a text, at 0 or at its end; `[0, 0]` for padding",
        lambda row, source: row.carry(source.spans),
        kind=list[Span],
        needs=("spans",),
    ),
    "attention_mask": Part("1 for ids, 0 for padding", lambda row, _: row.attention_mask()),
    "special_tokens_mask": Part(
        "1 for padding and for tokens of `add_special_tokens`; of chats for all special tokens",
        lambda row, source: source.special_tokens_mask(row),
    ),
    "position_ids": Part("0, 1, 2, ... over the ids; 0 on padding", lambda row, _: row.position_ids()),
    "type_ids": Part(
        "the segment of each id, as the model numbers them; 0 on padding",
        lambda row, source: row.carry(source.pair.type_ids),
        of=_TEXTS,
        needs=("sequences",),
    ),
    "sequence_ids": Part(
        "0 for the first text, 1 for the second, null for special tokens round them and padding",
        lambda row, source: Nulls(row.carry(source.pair.sequence_ids, -1)),
        kind=list[int | None],
        of=_TEXTS,
        needs=("sequences",),
    ),
    "word_ids": Part(
        "the number of the word of each id in `words`, or of the piece that the pretokenizer cut from a text; null for "
        "special tokens round the text and padding",
        lambda row, source: Nulls(row.carry(source.pair.word_ids, -1)),
        kind=list[int | None],
        of=_TEXTS,
        needs=("sequences", "words"),
    ),
    "overflow_of": Part(
        "the number of the text, or pair, that a row is of",
        lambda _, source: source.pair.overflow_of,
        kind=int,
        of=_TEXTS,
        needs=("sequences",),
    ),
    "segmentations": Part(
        "of a Unigram model, alone: the `nbest` most probable segmentations with their scores, the best first",
        lambda _, source: source,
        kind=list[Segmentation],
        of=("texts",),
        needs=("nbest",),
    ),
    "labels": Part(
        "the ids, with -100 on padding and, in chats, outside `train_on`; with `word_labels` the label of each word on "
        "its first id, and -100 elsewhere",
        lambda row, source: source.labels(row),
        renders_again=True,
    ),
    "assistant_mask": Part(
        "for chats: 1 on the assistant's text",
        lambda row, source: source.assistant_mask(row),
        of=("chats", "prefixes"),
        renders_again=True,
    ),
    "message_index": Part(
        "for chats: the message of a token's text, or -1",
        lambda row, source: row.carry(source.chat.message_index, -1),
        of=_CHATS,
    ),
    "truncated": Part(
        "the cut of `max_length`: `side`, `count` (ids) and `span` (characters), of a pair for each text; null if "
        "nothing is cut",
        lambda row, source: source.truncated(row),
        kind=Truncated | list[Truncated | None] | None,
        of=("texts", "chats"),
        needs=("spans",),
    ),
    "reserved_literals": Part(
        "for chats: the places of callers' literals of control tokens, which are text",
        lambda _, source: source.chat.reserved_literals,
        kind=list[ReservedLiteral],
        of=_CHATS,
    ),
    "prefix_stable": Part(
        "for one chat: of each answer that messages follow, whether they extend the ids up to it",
        lambda _, source: source.prefix_stable(),
        kind=list[bool],
        of=_CHATS,
        renders_again=True,
    ),
}

PLAIN: tuple[PartName, ...] = ("ids", "count")
"""Parts that answers have unless others are asked for."""


def needs_of(parts: Collection[PartName]) -> set[Need]:
    """Return what texts are encoded to for some parts."""
    return {need for name in parts for need in PARTS[name].needs}


def markdown() -> str:
    """Return every part as a line of Markdown: what ``docs/http.md`` holds."""
    return "".join(f"- `{name}`: {part.meaning}\n" for name, part in PARTS.items())
