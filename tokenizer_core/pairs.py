"""One text or two in a row, as encoders and rerankers take them: type ids, words, truncation that takes turns, and
windows that overlap over a text that is too long.

Truncation counts the frame of special tokens and never cuts it. What it takes of each text is what Hugging Face's
``tokenizers`` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt

from tokenizer_core._kernel import Pipeline
from tokenizer_core.arguments import check_choice, check_flag, optional_integer
from tokenizer_core.config import Side, TokenizerParts, Unit
from tokenizer_core.encoded_texts import (
    NO_LABEL,
    NO_WORD,
    EncodedText,
    Ids,
    Labels,
    Spans,
    Text,
    WordIds,
    encode_texts,
)
from tokenizer_core.errors import InvalidOption, TokdError
from tokenizer_core.frame import frame_of, pair_frame_of
from tokenizer_core.short_repr import ShortRepr

if TYPE_CHECKING:
    from typing import Unpack

Truncation = Literal["longest_first", "only_first", "only_second", True]
"""The text of a pair that is cut; true is ``"longest_first"``."""


class PairOptions(TypedDict, total=False):
    """Options of ``Tokenizer.encode_pair``, which says what they mean."""

    special_tokens: Literal["reject", "text", "parse", "ordinary"]
    add_special_tokens: bool
    max_length: int | None
    truncation: Truncation | None
    truncation_side: Side | None
    unit: Unit | None
    word_ids: bool


ROW_IDS = 64
"""The ids that take as much memory as the objects of a row."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EncodedPair(ShortRepr):
    """The ids of a pair of texts, or of one text, with what a model is told of each.

    Attributes:
        ids: uint32, shape (n,).
        type_ids: uint32, shape (n,); the segments, as the tokenizer's frame numbers them.
        sequence_ids: int8, shape (n,); 0 for the first text, 1 for the second, -1 for special tokens round them.
        spans: uint32, shape (n, 2), each in its own text; ``None`` unless a unit was asked for. That of a special token
            round a text is empty, at the end of the text behind which it stands. Of lists of words they are in words.
        removed: how many ids truncation took of each text.
        removed_spans: the place of those in each text, ``None`` without spans, of words, or where none was taken.
        word_ids: int32, shape (n,); the number of the word of each id in its text, -1 for special tokens round the
            texts; ``None`` of strings unless they were asked for.
        labels: int64, shape (n,); the label of each word on its first id and -100 elsewhere; ``None`` without labels.
        overflow_of: the number of the text, or pair, of which this is a row or, with a ``stride``, one of several.
    """

    ids: Ids
    type_ids: npt.NDArray[np.uint32]
    sequence_ids: npt.NDArray[np.int8]
    spans: Spans | None
    removed: tuple[int, ...]
    removed_spans: tuple[tuple[int, int] | None, ...]
    word_ids: WordIds | None = None
    labels: Labels | None = None
    overflow_of: int = 0

    def special_tokens_mask(self) -> npt.NDArray[np.uint8]:
        """Return 1 for the special tokens round the texts and 0 for the texts; shape (n,)."""
        return (self.sequence_ids < 0).view(np.uint8)


def lengths_kept(lengths: Sequence[int], room: int, truncation: Truncation, row: int = 0) -> list[int]:
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
            f'truncation "{truncation}" cannot take {excess} ids of a text that has {lengths[cut]}: '
            'one id must remain; raise max_length or take "longest_first"',
            field="truncation",
            row=row,
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
        truncation: which text is cut; with one, the ``max_length`` is by default that of the model, if it has any.
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
        truncation: Truncation | None = None,
        side: Side | None = None,
        stride: int | None = None,
        most_ids: int | None = None,
    ) -> None:
        check_flag(add_special_tokens, "add_special_tokens")
        max_length = parts.settings.max_length_for(truncation, max_length)
        truncation = "longest_first" if truncation is None or truncation is True else truncation
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

    def rows(self, *texts: EncodedText, overflow_of: int) -> Iterator[EncodedPair]:
        """Yield the row of one text or two, or with a stride a row for each window of the text that is cut.

        Raises:
            InvalidOption: the stride leaves no room for a new id.
        """
        of, lengths = int(self._truncation == "only_second"), [len(text.ids) for text in texts]
        if self._stride is None or self._room is None or sum(lengths) <= self._room:
            yield self._around(texts, overflow_of)
            return
        size = self._room - (sum(lengths) - lengths[of])
        if self._stride >= size:
            wrong = f"rows have room for {max(size, 0)} ids of the text that is cut, and stride is {self._stride}"
            raise InvalidOption(f"{wrong}; raise max_length or take a smaller stride", field="stride", row=overflow_of)
        count = windows_count(lengths[of], size, self._stride)
        self.charge(count * max(self._room + self.special_tokens, ROW_IDS), "stride")
        for start, end in windows(lengths[of], size, self._stride, self._side):
            yield self._around((*texts[:of], texts[of].part(start, end), *texts[of + 1 :]), overflow_of)

    def charge(self, ids: int, field: str) -> None:
        """Count ids of rows that have the same text again, before they are made.

        Raises:
            InvalidOption: there are too many of them by now.
        """
        if self._ids_left is None:
            return
        self._ids_left -= ids
        if self._ids_left < 0:
            ways = "raise max_length, take a smaller stride" if field == "stride" else "lower max_length"
            raise InvalidOption(f"the rows have too many ids together; {ways} or send less text", field=field)

    def share(self, text: EncodedText, rows: int) -> list[EncodedText]:
        """Return one text for each of so many rows that have it.

        Raises:
            InvalidOption: it takes too many ids.
        """
        length = len(text.ids) if self._room is None else min(len(text.ids), self._room)
        self.charge(length * rows, "text_pair")
        return [text] * rows

    def _around(self, texts: Sequence[EncodedText], overflow_of: int) -> EncodedPair:
        """Cut one text or two, and put them into the frame."""
        lengths = [len(text.ids) for text in texts]
        kept = lengths if self._room is None else lengths_kept(lengths, self._room, self._truncation, overflow_of)
        bounds = [
            (0, stay) if self._side == "right" else (length - stay, length)
            for length, stay in zip(lengths, kept, strict=True)
        ]
        cut = [text.part(*bound) for text, bound in zip(texts, bounds, strict=True)]
        rows, end = [], 0
        for id, sequence in self._items:
            rows.append(_special(id, end) if sequence < 0 else cut[sequence])
            end = end if sequence < 0 else texts[sequence].length
        sizes = [len(row.ids) for row in rows]

        def joined(name: str, fill: np.generic) -> Any:
            if getattr(texts[0], name) is None and getattr(texts[-1], name) is None:
                return None
            values = (getattr(row, name) for row in rows)
            return np.concatenate(
                [np.full(size, fill) if each is None else each for each, size in zip(values, sizes, strict=True)]
            )

        return EncodedPair(
            np.concatenate([row.ids for row in rows]),
            np.repeat(self._type_ids, sizes),
            np.repeat(self._sequence_ids, sizes),
            joined("spans", np.uint32(0)),
            tuple(length - stay for length, stay in zip(lengths, kept, strict=True)),
            tuple(self._removed(text, stay) for text, stay in zip(texts, kept, strict=True)),
            joined("word_ids", NO_WORD),
            joined("labels", NO_LABEL),
            overflow_of,
        )

    def _removed(self, text: EncodedText, length: int) -> tuple[int, int] | None:
        spans = text.spans
        if spans is None or len(spans) == length or not text.length:
            return None
        taken = spans[length:] if self._side == "right" else spans[: len(spans) - length]
        return int(taken[:, 0].min()), int(taken[:, 1].max())


def _special(id: int, place: int) -> EncodedText:
    """Return a special token round the texts as a text of its own."""
    spans = np.full((1, 2), place, np.uint32)
    return EncodedText(np.array([id], np.uint32), spans, np.array([NO_WORD]), np.array([NO_LABEL]))


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
    texts: Sequence[Text] | str,
    text_pairs: Sequence[Text] | None,
    *,
    threads: int,
    special_tokens: str = "reject",
    add_special_tokens: bool = True,
    max_length: int | None = None,
    truncation: Truncation | None = None,
    truncation_side: Side | None = None,
    stride: int | None = None,
    most_ids: int | None = None,
    unit: Unit | None = None,
    word_ids: bool = False,
    word_labels: Sequence[Sequence[int]] | None = None,
) -> list[EncodedPair]:
    """Encode many pairs, or many texts alone; arguments and errors are those of ``Tokenizer.encode_pair_batch``."""
    check_flag(word_ids, "word_ids")
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
    options: dict[str, Any] = {"special_tokens": special_tokens, "threads": threads, "unit": unit, "word_ids": word_ids}
    encoded: Callable[..., list[EncodedText]] = partial(encode_texts, pipeline, **options)
    is_shared = isinstance(texts, str) and text_pairs is not None
    sides = [encoded([texts] if is_shared else texts, word_labels=word_labels)]
    if text_pairs is not None:
        with of_second_text():
            sides.append(encoded(text_pairs))
        if is_shared:
            sides[0] = framing.share(sides[0][0], len(text_pairs))
        if len(sides[0]) != len(text_pairs):
            raise InvalidOption(f"there are {len(texts)} texts and {len(text_pairs)} second texts", field="text_pairs")
    rows: list[EncodedPair] = []
    for at, each in enumerate(zip(*sides, strict=True)):
        rows += framing.rows(*each, overflow_of=at)
    return rows


def encode(
    pipeline: Pipeline, parts: TokenizerParts, text: Text, text_pair: Text | None, **options: Unpack[PairOptions]
) -> EncodedPair:
    """Encode one pair, or one text alone; arguments and errors are those of ``Tokenizer.encode_pair``."""
    pairs = None if text_pair is None else [text_pair]
    try:
        (encoded,) = encode_batch(pipeline, parts, [text], pairs, threads=1, **options)
    except TokdError as error:
        error.place.pop("row", None)
        raise
    return encoded
