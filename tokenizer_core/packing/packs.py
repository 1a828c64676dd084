"""Build the arrays of packs that a trainer reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokenizer_core.examples import Encoded
from tokenizer_core.packing.plan import PackPlan
from tokenizer_core.padding import IGNORED
from tokenizer_core.short_repr import ShortRepr

PADDING = -1
"""The source row of a member that is padding alone."""

_BLOCK = 1 << 20
"""About as many tokens are built at a time."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class TokenRows(ShortRepr):
    """Rows of tokens, one after the other.

    Attributes:
        ids: uint32, shape (tokens,).
        trained: bool, shape (tokens,): which tokens the model is to learn to write.
        offsets: int64, shape (rows + 1,).
    """

    ids: npt.NDArray[np.uint32]
    trained: npt.NDArray[np.bool_]
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        """The number of tokens of each row."""
        return np.diff(self.offsets)


class RowBuilder:
    """Collects encoded examples as rows."""

    def __init__(self) -> None:
        self._ids: list[npt.NDArray[np.uint32]] = []
        self._trained: list[npt.NDArray[np.bool_]] = []

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, encoded: Encoded) -> None:
        """Add a row."""
        self._ids.append(encoded.ids)
        self._trained.append(encoded.trained)

    def rows(self) -> TokenRows:
        """Return all rows that were added."""
        lengths = np.array([0, *map(len, self._ids)], dtype=np.int64)
        ids = np.concatenate([np.empty(0, np.uint32), *self._ids])
        trained = np.concatenate([np.empty(0, bool), *self._trained])
        return TokenRows(ids, trained, np.cumsum(lengths))


@dataclass(frozen=True, eq=False, repr=False)
class PackBlock(ShortRepr):
    """Some packs, one after the other.

    Attributes:
        input_ids: uint32, shape (tokens,), padding included.
        labels: int64, shape (tokens,): the id to learn or -100, without a shift. The first token of a member is never
            learned: what stands before it belongs to another.
        position_ids: int64, shape (tokens,): from 0 on in each member.
        token_offsets: int64, shape (packs + 1,): where the tokens of each pack begin.
        seq_lengths: int64, shape (members,): the tokens of each member, padding included.
        source_rows: int64, shape (members,): the row that a member is of; -1 is padding alone.
        member_offsets: int64, shape (packs + 1,): where the members of each pack begin.
    """

    input_ids: npt.NDArray[np.uint32]
    labels: Ints
    position_ids: Ints
    token_offsets: Ints
    seq_lengths: Ints
    source_rows: Ints
    member_offsets: Ints

    def __len__(self) -> int:
        return len(self.token_offsets) - 1

    def cu_seqlens(self, pack: int) -> Ints:
        """Return where the members of a pack begin, and its end, as kernels of attention take it."""
        lengths = self.seq_lengths[self.member_offsets[pack] : self.member_offsets[pack + 1]]
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


@dataclass(frozen=True, eq=False, repr=False)
class Packs(ShortRepr):
    """Rows and the plan by which they are packed.

    Args:
        pad_id: what fills a member up to ``align``, and with ``pad`` a pack up to its length.
        pad: make every pack exactly as long as the plan says: what is missing is a member of its own.
    """

    rows: TokenRows
    plan: PackPlan
    pad_id: int | None = None
    pad: bool = False

    def __len__(self) -> int:
        return len(self.plan)

    @property
    def trained(self) -> int:
        """The number of labels that are not -100."""
        plan, trained = self.plan, self.rows.trained
        begins = self.rows.offsets[:-1][plan.rows]
        parts = zip((begins + plan.starts + 1).tolist(), (begins + plan.ends).tolist(), strict=True)
        return sum(int(np.count_nonzero(trained[begin:end])) for begin, end in parts)

    def blocks(self) -> Iterator[PackBlock]:
        """Build all packs, about a million tokens at a time."""
        step = max(1, _BLOCK // self.plan.length)
        for first in range(0, len(self), step):
            yield self.block(first, min(first + step, len(self)))

    def block(self, first: int, last: int) -> PackBlock:
        """Build packs ``first`` to ``last``, without the last."""
        plan = self.plan
        begins = plan.offsets[first : last + 1]
        members = slice(int(begins[0]), int(begins[-1]))
        rows, starts = plan.rows[members], plan.starts[members]
        sizes = plan.ends[members] - starts
        padded = -(-sizes // plan.align) * plan.align
        offsets = begins - begins[0]
        if self.pad:
            used = np.add.reduceat(padded, offsets[:-1]) if len(padded) else np.zeros(0, np.int64)
            short = np.flatnonzero(used < plan.length)
            ends = offsets[1:][short]
            rows = np.insert(rows, ends, PADDING)
            starts, sizes = np.insert(starts, ends, 0), np.insert(sizes, ends, 0)
            padded = np.insert(padded, ends, plan.length - used[short])
            offsets = offsets + np.concatenate([np.zeros(1, np.int64), np.cumsum(used < plan.length)])
        places = np.concatenate([np.zeros(1, np.int64), np.cumsum(padded)])
        positions = np.arange(places[-1], dtype=np.int64) - np.repeat(places[:-1], padded)
        real = positions < np.repeat(sizes, padded)
        source = (np.repeat(self.rows.offsets[:-1][rows] + starts, padded) + positions)[real]
        ids = np.full(places[-1], 0 if self.pad_id is None else self.pad_id, dtype=np.uint32)
        ids[real] = self.rows.ids[source]
        learned = np.zeros(len(ids), dtype=bool)
        learned[real] = self.rows.trained[source]
        learned &= positions > 0
        labels = np.where(learned, ids.astype(np.int64), IGNORED)
        return PackBlock(ids, labels, positions, places[offsets], padded, rows, offsets)
