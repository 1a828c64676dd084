"""Truncate rows of ids, pad them, and make their masks.

Truncation takes ids from the text alone: what ``add_special_tokens`` put before and after it stays, as in Hugging Face.
Padding never shortens a row. Masks and positions are derived from a row when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from tokenizer_core import _kernel
from tokenizer_core.arguments import check_choice, integer_of, optional_integer
from tokenizer_core.config import AddedToken, Side
from tokenizer_core.errors import InvalidOption, shown
from tokenizer_core.nearest import did_you_mean
from tokenizer_core.short_repr import ShortRepr

Ids = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.uint8]
Spans = npt.NDArray[Any]
Padding = Literal["none", "longest", "max_length"]

IGNORED = -100
"""The label of a token that is not trained on; cross-entropy losses ignore it by default."""

MAX_PADDED_IDS = 1 << 24
"""No padding makes more ids than this (64 MiB), however long the longest row is and whatever the options say."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The cut of a truncation: ``removed`` ids from index ``start`` of the row, on ``side`` of its text."""

    side: Side
    start: int
    removed: int

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return ``values``, one a token of the uncut row, without those of the removed tokens."""
        if not self.removed:
            return values
        return np.concatenate((values[: self.start], values[self.start + self.removed :]))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Row(ShortRepr):
    """One row after truncation and padding.

    Attributes:
        ids: shape (width,).
        cut: what truncation took.
        pad_left, pad_right: how many ids at each end are padding.
        prefix, suffix: how many ids at each end of the rest are special tokens round the text.
    """

    ids: Ids
    cut: Cut
    pad_left: int
    pad_right: int
    prefix: int
    suffix: int

    @property
    def count(self) -> int:
        """The number of ids that are not padding."""
        return len(self.ids) - self.pad_left - self.pad_right

    def attention_mask(self) -> Mask:
        """Return 1 for every token and 0 for padding; shape (width,)."""
        mask = np.zeros(len(self.ids), np.uint8)
        mask[self.pad_left : self.pad_left + self.count] = 1
        return mask

    def special_tokens_mask(self) -> Mask:
        """Return 1 for padding and for the special tokens round the text, 0 for the text; shape (width,).

        A special token in the text itself counts as text, as in Hugging Face.
        """
        mask = np.ones(len(self.ids), np.uint8)
        mask[self.pad_left + self.prefix : len(self.ids) - self.pad_right - self.suffix] = 0
        return mask

    def position_ids(self) -> Ids:
        """Return 0 for the first token, counting up; 0 on padding; shape (width,)."""
        positions = np.zeros(len(self.ids), np.uint32)
        positions[self.pad_left : self.pad_left + self.count] = np.arange(self.count, dtype=np.uint32)
        return positions

    def carry(self, values: npt.NDArray[Any], fill: int = 0) -> npt.NDArray[Any]:
        """Cut and pad ``values``, one a token of the row before both, such as spans; shape (width, ...).

        Raises:
            InvalidOption: ``values`` is not an array of that length, or ``fill`` is not an integer that it can hold.
        """
        given: object = values
        length = self.count + self.cut.removed
        if not isinstance(given, np.ndarray) or given.shape[:1] != (length,):
            raise InvalidOption(f"values is an array of {length} items, not {shown(given)}", field="values")
        kept = self.cut.apply(values)
        try:
            filling = np.array(integer_of(fill, "fill"), kept.dtype)
        except OverflowError:
            message = f"fill is a number that an array of {kept.dtype} can hold, not {shown(fill)}"
            raise InvalidOption(message, field="fill") from None
        if not self.pad_left + self.pad_right:
            return kept
        carried = np.full((len(self.ids), *kept.shape[1:]), filling)
        carried[self.pad_left : self.pad_left + self.count] = kept
        return carried


def pad_id_of(pad_token: str, added_tokens: Iterable[AddedToken]) -> int:
    """Return the id of an added token that is to fill rows; errors as ``id_of_role``, at ``pad_token``."""
    return id_of_role("pad", pad_token, added_tokens)


def id_of_role(role: str, literal: str, added_tokens: Iterable[AddedToken]) -> int:
    """Return the id of the added token that is to have a role such as ``eos``.

    Raises:
        InvalidOption: at ``eos_token``; no added token has this literal.
    """
    ids = {token.content: token.id for token in added_tokens}
    if (id := ids.get(literal)) is None:
        near = did_you_mean(literal, ids) or (f"; there is {next(iter(ids))[:80]!r}" if ids else "")
        raise InvalidOption(
            f"the {role} token is an added token, which {literal[:80]!r} is not{near}", field=f"{role}_token"
        )
    return id


def plan_cut(length: int, max_length: int, *, side: Side = "right", prefix: int = 0, suffix: int = 0) -> Cut:
    """Decide what a row of ``length`` ids loses so that it has at most ``max_length``.

    Args:
        side: the end of the text that is cut.
        prefix, suffix: how many ids at each end are special tokens, which stay.

    Raises:
        InvalidOption: ``max_length`` has no room for the special tokens, or an unknown side.
    """
    check_choice(side, Side, "truncation_side")
    if max_length < prefix + suffix:
        raise InvalidOption(
            f"max_length {max_length} has no room for the {prefix + suffix} special tokens round the text; "
            "raise it or turn add_special_tokens off",
            field="max_length",
        )
    removed = max(0, length - max_length)
    return Cut(side, prefix if side == "left" else length - suffix - removed, removed)


def padded_width(
    lengths: Sequence[int],
    *,
    padding: Padding,
    max_length: int | None = None,
    pad_to_multiple_of: int | None = None,
) -> int:
    """Return the width that every shorter row is padded to; 0 for no padding.

    Raises:
        InvalidOption: with the field: ``lengths``, ``padding``, ``max_length`` or ``pad_to_multiple_of``.
    """
    check_choice(padding, Padding, "padding")
    max_length = optional_integer(max_length, "max_length", 0)
    pad_to_multiple_of = optional_integer(pad_to_multiple_of, "pad_to_multiple_of", 1)
    if padding == "none":
        if pad_to_multiple_of is not None:
            raise InvalidOption(
                'pad_to_multiple_of needs padding; set padding to "longest" or "max_length"', field="pad_to_multiple_of"
            )
        return 0
    multiple = pad_to_multiple_of or 1
    if max_length is not None and max_length % multiple:
        raise InvalidOption(
            f"max_length {max_length} is not a multiple of pad_to_multiple_of {multiple}, so a padded row could be "
            f"longer than max_length; take {max_length - max_length % multiple} or "
            f"{max_length + multiple - max_length % multiple}",
            field="pad_to_multiple_of",
        )
    lengths = _lengths(lengths)
    if padding == "max_length":
        if max_length is None:
            raise InvalidOption('padding "max_length" needs max_length', field="max_length")
        width, field = max_length, "max_length"
    else:
        width = -(-max(lengths, default=0) // multiple) * multiple
        field = "padding" if pad_to_multiple_of is None else "pad_to_multiple_of"
    if width * len(lengths) > max(MAX_PADDED_IDS, sum(lengths)):
        raise InvalidOption(
            f"{len(lengths)} rows padded to {width} ids are more than {MAX_PADDED_IDS} ids; "
            "pad to less or send fewer rows",
            field=field,
        )
    return width


def _lengths(lengths: Any) -> list[int]:
    if (not isinstance(lengths, Sequence) and np.ndim(lengths) != 1) or len(lengths) > MAX_PADDED_IDS:
        raise InvalidOption(f"lengths is a list of at most {MAX_PADDED_IDS} lengths", field="lengths")
    return [integer_of(length, "lengths", 0) for length in lengths]


def shape_rows(
    rows: Sequence[Ids],
    *,
    max_length: int | None = None,
    truncation_side: Side = "right",
    padding: Padding = "none",
    padding_side: Side = "right",
    pad_to_multiple_of: int | None = None,
    pad_id: int | None = None,
    prefix: int = 0,
    suffix: int = 0,
) -> tuple[Row, ...]:
    """Truncate and pad rows of ids.

    Args:
        rows: ids of any lengths, each with its special tokens round the text.
        max_length: the most ids a row may have; ``None`` cuts nothing.
        truncation_side: the end of the text that is cut.
        padding: ``"longest"`` pads to the longest row, ``"max_length"`` to ``max_length``.
        padding_side: the end that padding is put on.
        pad_to_multiple_of: rounds the width up; ``max_length``, if given, must be a multiple of it.
        pad_id: the id that pads, needed unless ``padding`` is ``"none"``.
        prefix, suffix: how many ids at each end of every row are special tokens round the text.

    Raises:
        InvalidOption: with the option as field.
    """
    check_choice(padding_side, Side, "padding_side")
    check_choice(truncation_side, Side, "truncation_side")
    max_length = optional_integer(max_length, "max_length", 0)
    pad_to_multiple_of = optional_integer(pad_to_multiple_of, "pad_to_multiple_of", 1)
    pad_id = optional_integer(pad_id, "pad_id", 0)
    prefix, suffix = integer_of(prefix, "prefix", 0), integer_of(suffix, "suffix", 0)
    if pad_id is not None and pad_id >= 1 << 32:
        raise InvalidOption(f"pad_id is from 0 to 2 ** 32 - 1, not {shown(pad_id)}", field="pad_id")
    _check_rows(rows, prefix + suffix)
    cuts = _cuts(rows, max_length, truncation_side, prefix, suffix)
    kept = [cast(Ids, cut.apply(row)) for row, cut in zip(rows, cuts, strict=True)]
    width = padded_width(
        [len(row) for row in kept], padding=padding, max_length=max_length, pad_to_multiple_of=pad_to_multiple_of
    )
    if padding != "none" and pad_id is None:
        raise InvalidOption(
            'there is no pad token; give the id of one as pad_id, or set padding to "none"', field="padding"
        )
    return tuple(
        _pad(row, cut, width, padding_side, pad_id, prefix, suffix) for row, cut in zip(kept, cuts, strict=True)
    )


def _check_rows(rows: Any, specials: int) -> None:
    """Refuse what is not a list of rows, each with at least ``specials`` ids."""
    if isinstance(rows, str | bytes | bytearray) or not isinstance(rows, Sequence):
        raise InvalidOption(f"rows is a list of arrays of ids, not {type(rows).__name__}", field="rows")
    for index, row in enumerate(rows):
        if not isinstance(row, np.ndarray) or row.ndim != 1 or row.dtype.kind not in "iu":
            raise InvalidOption(f"row {index} is not an array of ids, shape (n,)", field=f"rows[{index}]")
        if len(row) < specials:
            raise InvalidOption(
                f"row {index} has {len(row)} ids, fewer than its {specials} special tokens", field=f"rows[{index}]"
            )


def _cuts(rows: Sequence[Ids], max_length: int | None, side: Side, prefix: int, suffix: int) -> list[Cut]:
    """Return what truncation takes of each row."""
    if max_length is None:
        return [Cut(side, 0, 0)] * len(rows)
    # Once without a row: a length with no room for the special tokens is refused also where there are no rows.
    plan_cut(0, max_length, side=side, prefix=prefix, suffix=suffix)
    return [plan_cut(len(row), max_length, side=side, prefix=prefix, suffix=suffix) for row in rows]


def _pad(row: Ids, cut: Cut, width: int, side: Side, pad_id: int | None, prefix: int, suffix: int) -> Row:
    missing = max(0, width - len(row))
    if not missing or pad_id is None:
        return Row(row, cut, 0, 0, prefix, suffix)
    pad = np.full(missing, pad_id, np.uint32)
    if side == "left":
        return Row(np.concatenate((pad, row)), cut, missing, 0, prefix, suffix)
    return Row(np.concatenate((row, pad)), cut, 0, missing, prefix, suffix)


def overlapping(spans: Spans, targets: Spans) -> npt.NDArray[np.bool_]:
    """Tell which spans share at least one position with a target; what is empty shares none.

    Args:
        spans: shape (n, 2).
        targets: shape (m, 2), in any order, overlapping or not.

    Raises:
        InvalidOption: one of them is not such an array of integers.
    """
    for field, value in (("spans", spans), ("targets", targets)):
        given: object = value
        if not isinstance(given, np.ndarray) or given.dtype.kind not in "iu" or given.shape[1:] != (2,):
            raise InvalidOption(f"{field} is an array of integers, shape (n, 2), not {shown(given)}", field=field)
    return _kernel.overlapping(np.ascontiguousarray(spans, np.int64), np.ascontiguousarray(targets, np.int64))
