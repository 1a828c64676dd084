"""Two texts in one row, as rerankers and cross-encoders take them: type ids, truncation that takes turns, and windows
that overlap over a text that is too long.

Truncation counts the frame of special tokens and never cuts it. What it takes of each text is what Hugging Face's
``tokenizers`` takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from tokenizer_core._kernel import Pipeline
from tokenizer_core.arguments import check_choice, check_flag, optional_integer
from tokenizer_core.config import Side, TokenizerParts, Unit
from tokenizer_core.errors import InvalidOption, TokdError
from tokenizer_core.frame import frame_of, pair_frame_of
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.spans import length_in

if TYPE_CHECKING:
    from typing import Unpack

Ids = npt.NDArray[np.uint32]
Spans = npt.NDArray[np.uint32]
Truncation = Literal["longest_first", "only_first", "only_second"]


class PairOptions(TypedDict, total=False):
    """Options of ``Tokenizer.encode_pair``, which says what they mean."""

    special_tokens: Literal["reject", "text", "parse", "ordinary"]
    add_special_tokens: bool
    max_length: int | None
    truncation: Truncation
    truncation_side: Side | None
    unit: Unit | None


ROW_IDS = 64
"""The ids that take as much memory as the objects of a row."""

Encoded = tuple[Ids, Spans | None, int]
"""The ids of one text, their spans if wanted, and the length of the text in the unit of these."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EncodedPair(ShortRepr):
    """The ids of a pair of texts, or of one text, with what a model is told of each.

    Attributes:
        ids: uint32, shape (n,).
        type_ids: uint32, shape (n,); the segments, as the tokenizer's frame numbers them.
        sequence_ids: int8, shape (n,); 0 for the first text, 1 for the second, -1 for special tokens round them.
        spans: uint32, shape (n, 2), each in its own text; ``None`` unless a unit was asked for. That of a special token
            round a text is empty, at the end of the text behind which it stands.
        removed: how many ids truncation took of each text.
        removed_spans: the place of those in each text, ``None`` without spans or where none was taken.
        overflow_of: the number of the text, or pair, of which this is a row or, with a ``stride``, one of several.
    """

    ids: Ids
    type_ids: npt.NDArray[np.uint32]
    sequence_ids: npt.NDArray[np.int8]
    spans: Spans | None
    removed: tuple[int, ...]
    removed_spans: tuple[tuple[int, int] | None, ...]
    overflow_of: int = 0

    def special_tokens_mask(self) -> npt.NDArray[np.uint8]:
        """Return 1 for the special tokens round the texts and 0 for the texts; shape (n,)."""
        return (self.sequence_ids < 0).view(np.uint8)


def lengths_kept(lengths: Sequence[int], room: int, truncation: Truncation) -> list[int]:
    """Say how many ids of one text, or of two, stay in ``room`` ids.

    ``longest_first`` takes one id after the other from whichever text is longer; when both are equally long by then
    they share the room, and of an odd one the longer text has the one more.

    Raises:
        InvalidOption: one text alone is to be cut, and nothing of it would be left.
    """
    excess = sum(lengths) - room
    if excess <= 0:
        return list(lengths)
    if room == 0:
        return [0] * len(lengths)
    if truncation == "longest_first":
        if len(lengths) < 2:
            return [room]
        short, long = sorted(lengths)
        if short > room - short:
            short, long = room // 2, room - room // 2
        else:
            long = room - short
        return [short, long] if lengths[0] <= lengths[1] else [long, short]
    cut = 0 if truncation == "only_first" else 1
    if lengths[cut] <= excess:
        raise InvalidOption(
            f'truncation "{truncation}" cannot take {excess} ids of a text that has {lengths[cut]}; raise max_length '
            'or take "longest_first"',
            field="truncation",
        )
    return [length - excess if index == cut else length for index, length in enumerate(lengths)]


def windows(length: int, size: int, stride: int, side: Side) -> Iterator[tuple[int, int]]:
    """Yield the stretches of at most ``size`` ids into which a text is cut, each of which has ``stride`` of the last.

    They are those of Hugging Face's ``tokenizers``: on the left they begin at the end of the text.
    """
    for at in range(windows_count(length, size, stride)):
        start = at * (size - stride)
        end = min(start + size, length)
        yield (start, end) if side == "right" else (length - end, length - start)


def windows_count(length: int, size: int, stride: int) -> int:
    """Return how many stretches ``windows`` yields of a text with more than ``size`` ids."""
    # Rounded up.
    return 1 - (size - length) // (size - stride)


@contextmanager
def of_second_text() -> Iterator[None]:
    """Give errors that are raised within the field ``text_pair``."""
    try:
        yield
    except TokdError as error:
        error.place.setdefault("field", "text_pair")
        raise


class Framing:
    """The frame of the rows of one call, and what truncation leaves of their texts.

    Args:
        parts: of the tokenizer.
        is_pair: whether there are two texts.
        max_length: the most ids of a row with its frame; ``None`` cuts nothing.
        truncation: which text is cut.
        side: the end of a text that is cut; ``None`` is the tokenizer's own.
        stride: the ids that a row shares with the one before; ``None`` makes one row of a text, whatever is cut.
        most_ids: of all windows together, each of which counts as ``ROW_IDS`` at least.

    Raises:
        InvalidOption: with the option as field.
    """

    def __init__(
        self,
        parts: TokenizerParts,
        *,
        is_pair: bool,
        add_special_tokens: bool,
        max_length: int | None = None,
        truncation: Truncation = "longest_first",
        side: Side | None = None,
        stride: int | None = None,
        most_ids: int | None = None,
    ) -> None:
        check_flag(add_special_tokens, "add_special_tokens")
        check_choice(truncation, Truncation, "truncation")
        if truncation == "only_second" and not is_pair:
            raise InvalidOption('truncation "only_second" needs a second text', field="truncation")
        self._truncation, self._side = truncation, parts.settings.truncation_side if side is None else side
        check_choice(self._side, Side, "truncation_side")
        frame = (pair_frame_of if is_pair else frame_of)(parts.config, parts.settings)
        if is_pair and not {"A", "B"} <= {item for item, _ in frame}:
            raise InvalidOption("this tokenizer's post-processor has no place for a second text", field="text_pair")
        if not add_special_tokens:
            frame = tuple(part for part in frame if isinstance(part[0], str))
        # Of every part: the id of a special token, which of the texts it is or -1, and its type id.
        self._items = [(item, -1) if isinstance(item, int) else (0, "AB".index(item)) for item, _ in frame]
        self._type_ids = np.array([type_id for _, type_id in frame], np.uint32)
        self._sequence_ids = np.array([sequence for _, sequence in self._items], np.int8)
        self.special_tokens = sum(sequence < 0 for _, sequence in self._items)
        self._room = _room(optional_integer(max_length, "max_length", 0), self.special_tokens)
        self._stride = optional_integer(stride, "stride", 0)
        self._ids_left = most_ids
        if self._stride is not None:
            self._require_windows(is_pair)

    def _require_windows(self, is_pair: bool) -> None:
        if self._room is None:
            raise InvalidOption("stride goes with max_length; say how long a row may be", field="stride")
        if is_pair and self._truncation == "longest_first":
            wrong = 'of a pair one text is cut into windows; set truncation to "only_first" or "only_second"'
            raise InvalidOption(wrong, field="truncation")

    def rows(self, *texts: Encoded, overflow_of: int) -> Iterator[EncodedPair]:
        """Yield the row of one text or two, or with a stride a row for each window of the text that is cut.

        Raises:
            InvalidOption: the stride leaves no room for a new id.
        """
        of, lengths = int(self._truncation == "only_second"), [len(ids) for ids, _, _ in texts]
        if self._stride is None or self._room is None or sum(lengths) <= self._room:
            yield replace(self.around(*texts), overflow_of=overflow_of)
            return
        size = self._room - (sum(lengths) - lengths[of])
        if self._stride >= size:
            wrong = f"rows have room for {max(size, 0)} ids of the text that is cut, and stride is {self._stride}"
            raise InvalidOption(f"{wrong}; raise max_length or take a smaller stride", field="stride")
        ids, spans, length = texts[of]
        if self._ids_left is not None:
            count = windows_count(lengths[of], size, self._stride)
            self._ids_left -= count * max(self._room + self.special_tokens, ROW_IDS)
            if self._ids_left < 0:
                wrong = "the rows have too many ids together; raise max_length, take a smaller stride or send less text"
                raise InvalidOption(wrong, field="stride")
        for start, end in windows(lengths[of], size, self._stride, self._side):
            window = ids[start:end], None if spans is None else spans[start:end], length
            row = self.around(*(window if index == of else text for index, text in enumerate(texts)))
            yield replace(row, overflow_of=overflow_of)

    def around(self, *texts: Encoded) -> EncodedPair:
        """Cut the ids of one text or two, with their spans if there are any, and put them into the frame."""
        lengths = [len(ids) for ids, _, _ in texts]
        kept = lengths if self._room is None else lengths_kept(lengths, self._room, self._truncation)
        cut = [
            (self._cut(ids, stay), self._cut(spans, stay)) for (ids, spans, _), stay in zip(texts, kept, strict=True)
        ]
        rows, end = [], 0
        for id, sequence in self._items:
            rows.append((np.array([id]), np.full((1, 2), end, np.uint32)) if sequence < 0 else cut[sequence])
            end = end if sequence < 0 else texts[sequence][2]
        sizes = [len(ids) for ids, _ in rows]
        has_spans = texts[0][1] is not None
        return EncodedPair(
            np.concatenate([ids for ids, _ in rows], dtype=np.uint32, casting="unsafe"),
            np.repeat(self._type_ids, sizes),
            np.repeat(self._sequence_ids, sizes),
            np.concatenate([spans for _, spans in rows if spans is not None]) if has_spans else None,
            tuple(length - stay for length, stay in zip(lengths, kept, strict=True)),
            tuple(self._removed(spans, stay) for (_, spans, _), stay in zip(texts, kept, strict=True)),
        )

    def _cut(self, values: Any, length: int) -> Any:
        if values is None or len(values) == length:
            return values
        return values[:length] if self._side == "right" else values[len(values) - length :]

    def _removed(self, spans: Spans | None, length: int) -> tuple[int, int] | None:
        if spans is None or len(spans) == length:
            return None
        taken = spans[length:] if self._side == "right" else spans[: len(spans) - length]
        return int(taken[:, 0].min()), int(taken[:, 1].max())


def _room(max_length: int | None, special_tokens: int) -> int | None:
    if max_length is None:
        return None
    if max_length < special_tokens:
        raise InvalidOption(
            f"max_length {max_length} has no room for the {special_tokens} special tokens round the text; "
            "raise it or turn add_special_tokens off",
            field="max_length",
        )
    return max_length - special_tokens


def encode_batch(
    pipeline: Pipeline,
    parts: TokenizerParts,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None,
    *,
    threads: int,
    special_tokens: str = "reject",
    add_special_tokens: bool = True,
    max_length: int | None = None,
    truncation: Truncation = "longest_first",
    truncation_side: Side | None = None,
    stride: int | None = None,
    most_ids: int | None = None,
    unit: Unit | None = None,
) -> list[EncodedPair]:
    """Encode many pairs, or many texts alone; arguments and errors are those of ``Tokenizer.encode_pair_batch``."""
    framing = Framing(
        parts,
        is_pair=text_pairs is not None,
        add_special_tokens=add_special_tokens,
        max_length=max_length,
        truncation=truncation,
        side=truncation_side,
        stride=stride,
        most_ids=most_ids,
    )

    def encoded(texts: Sequence[str]) -> list[Encoded]:
        if unit is None:
            ids, ends = pipeline.encode_batch(texts, special_tokens, False, threads)
            return [(ids[start:end], None, 0) for start, end in pairwise(ends.tolist())]
        rows: list[Encoded] = []
        for row, text in enumerate(texts):
            try:
                rows.append((*pipeline.offsets(text, unit, special_tokens, False), length_in(text, unit)))
            except TokdError as error:
                error.place.setdefault("row", row)
                raise
        return rows

    sides = [encoded(texts)]
    if text_pairs is not None:
        with of_second_text():
            sides.append(encoded(text_pairs))
        if len(texts) != len(text_pairs):
            raise InvalidOption(f"there are {len(texts)} texts and {len(text_pairs)} second texts", field="text_pairs")
    rows: list[EncodedPair] = []
    for at, each in enumerate(zip(*sides, strict=True)):
        rows += framing.rows(*each, overflow_of=at)
    return rows


def encode(
    pipeline: Pipeline, parts: TokenizerParts, text: str, text_pair: str | None, **options: Unpack[PairOptions]
) -> EncodedPair:
    """Encode one pair, or one text alone; arguments and errors are those of ``Tokenizer.encode_pair``."""
    pairs = None if text_pair is None else [text_pair]
    try:
        (encoded,) = encode_batch(pipeline, parts, [text], pairs, threads=1, **options)
    except TokdError as error:
        error.place.pop("row", None)
        raise
    return encoded
