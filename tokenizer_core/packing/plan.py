"""Decide which part of which row stands in which pack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tokenizer_core import _kernel
from tokenizer_core.arguments import check_choice, integer_of, optional_integer
from tokenizer_core.errors import InvalidOption, RowTooLong
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.token_files.shuffle import permutation

Method = Literal["best-fit", "wrapped", "none"]
"""The way to put rows together: each whole where it fits best, end to end and cut at the length, or each alone."""

Overflow = Literal["error", "split", "truncate", "drop"]
"""The treatment of a row that is longer than a pack."""

MAX_LENGTH = 1 << 24
"""The most tokens of a pack."""

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PackPlan(ShortRepr):
    """The members of every pack: each is a part of a row.

    Attributes:
        length: the most tokens of a pack.
        align: the size of a member is made a multiple of it by padding.
        rows, starts, ends: int64, shape (members,): tokens ``starts`` to ``ends`` of ``rows``, pack after pack.
        offsets: int64, shape (packs + 1,): where the members of each pack begin.
        split, truncated, dropped: rows that were longer than a pack.
        empty: rows without a token, which stand in no pack.
        tokens_lost: what truncated and dropped rows lost.
    """

    length: int
    align: int
    rows: Places
    starts: Places
    ends: Places
    offsets: Places
    split: int = 0
    truncated: int = 0
    dropped: int = 0
    empty: int = 0
    tokens_lost: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        """The tokens of all members."""
        return int((self.ends - self.starts).sum())

    @property
    def full(self) -> float:
        """The share of all packs that is not padding; 1 where there is no pack."""
        return self.tokens / (len(self) * self.length) if len(self) else 1.0


@dataclass(slots=True)
class _Parts:
    """The parts of rows that are to be packed, and what became of rows longer than a pack."""

    rows: Places
    starts: Places
    ends: Places
    split: int = 0
    truncated: int = 0
    dropped: int = 0
    tokens_lost: int = 0


def plan_packs(
    lengths: Sequence[int] | npt.NDArray[np.integer],
    length: int,
    *,
    method: Method = "best-fit",
    overflow: Overflow = "error",
    align: int = 1,
    seed: int | None = None,
) -> PackPlan:
    """Plan packs of at most ``length`` tokens for rows of these lengths.

    Args:
        method: ``"best-fit"`` puts each row, the longest first, into the pack with the least room for it (best-fit
            decreasing, in linear time); ``"wrapped"`` puts them end to end and cuts at ``length``; ``"none"`` gives
            each row its own pack.
        overflow: a row longer than ``length`` is an error, is split into parts, loses its end, or is left out. Wrapped
            rows are cut in any case.
        align: members begin at multiples of it; ``length`` is one. Not with wrapped rows.
        seed: an order of the packs, the same on every machine; by default that of their first rows.

    Raises:
        InvalidOption
        RowTooLong: with the ``row``, which counts from 0.
    """
    check_choice(method, Method, "method")
    check_choice(overflow, Overflow, "overflow")
    length, align = integer_of(length, "length", 1), integer_of(align, "align", 1)
    seed = optional_integer(seed, "seed", 0)
    if length > MAX_LENGTH:
        raise InvalidOption(f"a pack has at most {MAX_LENGTH} tokens", field="length")
    if length % align:
        raise InvalidOption(f"length is a multiple of align, which {length} of {align} is not", field="length")
    if method == "wrapped" and align > 1:
        raise InvalidOption("wrapped rows are cut where a pack ends, so align is 1", field="align")
    sizes = _sizes(lengths)
    if method == "wrapped":
        parts, offsets = _wrapped(sizes, length)
    else:
        parts = _fitting(sizes, length, overflow)
        if method == "none":
            offsets = np.arange(len(parts.rows) + 1, dtype=np.int64)
        else:
            padded = -(-(parts.ends - parts.starts) // align) * align
            order, places = _kernel.best_fit(padded.astype(np.uint32), length)
            offsets = places.astype(np.int64)
            parts.rows, parts.starts, parts.ends = parts.rows[order], parts.starts[order], parts.ends[order]
    if seed is not None:
        offsets = _shuffle(parts, offsets, seed)
    return PackPlan(
        length,
        align,
        parts.rows,
        parts.starts,
        parts.ends,
        offsets,
        parts.split,
        parts.truncated,
        parts.dropped,
        int((sizes == 0).sum()),
        parts.tokens_lost,
    )


def _sizes(lengths: Sequence[int] | npt.NDArray[np.integer]) -> Places:
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or not (np.issubdtype(sizes.dtype, np.integer) or sizes.size == 0):
        raise InvalidOption("lengths is a list of whole numbers", field="lengths")
    sizes = sizes.astype(np.int64)
    if sizes.size and (least := int(sizes.argmin())) >= 0 and sizes[least] < 0:
        raise InvalidOption("a row has no less than 0 tokens", field=f"lengths[{least}]")
    return sizes


def _fitting(sizes: Places, length: int, overflow: Overflow) -> _Parts:
    """Return parts of at most ``length`` tokens, in the order of the rows."""
    rows = np.flatnonzero(sizes)
    long = rows[sizes[rows] > length]
    if len(long) and overflow == "error":
        row = int(long[0])
        raise RowTooLong(
            f"row {row} has {sizes[row]} tokens, a pack at most {length}; give overflow split, truncate or drop",
            row=row,
        )
    over = int((sizes[long] - length).sum())
    match overflow:
        case "drop":
            rows = rows[sizes[rows] <= length]
            return _Parts(rows, np.zeros_like(rows), sizes[rows], dropped=len(long), tokens_lost=int(sizes[long].sum()))
        case "truncate":
            ends = np.minimum(sizes[rows], length)
            return _Parts(rows, np.zeros_like(rows), ends, truncated=len(long), tokens_lost=over)
        case _:
            count = -(-sizes[rows] // length)
            first = np.cumsum(count) - count
            parts = np.repeat(rows, count)
            starts = (np.arange(len(parts), dtype=np.int64) - np.repeat(first, count)) * length
            return _Parts(parts, starts, np.minimum(starts + length, sizes[parts]), split=len(long))


def _wrapped(sizes: Places, length: int) -> tuple[_Parts, Places]:
    """Cut rows that stand end to end: at the end of each row, and of each pack."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    cuts = np.unique(np.concatenate([ends, np.arange(0, total, length, dtype=np.int64), [0, total]]))
    rows = np.searchsorted(ends, cuts[:-1], side="right")
    begins = (ends - sizes)[rows]
    parts = _Parts(rows, cuts[:-1] - begins, cuts[1:] - begins)
    parts.split = int((np.bincount(rows, minlength=1) > 1).sum())
    packs = np.arange(0, total, length, dtype=np.int64)
    return parts, np.append(np.searchsorted(cuts, packs), len(cuts) - 1).astype(np.int64)


def _shuffle(parts: _Parts, offsets: Places, seed: int) -> Places:
    """Put packs into an order that the seed decides, and return where they begin."""
    order = permutation(len(offsets) - 1, seed % (1 << 64))
    counts = np.diff(offsets)[order]
    moved = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    members = np.repeat(offsets[:-1][order] - moved[:-1], counts) + np.arange(len(parts.rows), dtype=np.int64)
    parts.rows, parts.starts, parts.ends = parts.rows[members], parts.starts[members], parts.ends[members]
    return moved
