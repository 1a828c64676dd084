"""Results of encoding beside plain arrays: batches, offsets, and the counters of the piece caches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import index
from typing import TYPE_CHECKING

from tokenizer_core.short_repr import ShortRepr

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokenizer_core.config import Unit

    Ids = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EncodedBatch(ShortRepr):
    """The ids of many texts in one array.

    Attributes:
        ids: uint32, shape (total,).
        row_offsets: int64, shape (rows + 1,); row ``i`` is ``ids[row_offsets[i]:row_offsets[i + 1]]``.
    """

    ids: Ids
    row_offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.row_offsets) - 1

    def __getitem__(self, row: int) -> Ids:
        row = index(row)
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of a batch of {len(self)}")
        row %= len(self)
        return self.ids[self.row_offsets[row] : self.row_offsets[row + 1]]

    def __iter__(self) -> Iterator[Ids]:
        return (self[row] for row in range(len(self)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Offsets(ShortRepr):
    """The ids of a text and the half-open span of each.

    Attributes:
        ids: uint32, shape (n,).
        spans: uint32, shape (n, 2), in ``unit``; each the smallest that covers the token's bytes.
        text: the text.
        unit: the unit of the spans.

    A notebook shows the text in coloured tokens.
    """

    ids: Ids
    spans: npt.NDArray[np.uint32]
    text: str = field(repr=False)
    unit: Unit

    def trimmed(self) -> Offsets:
        """Leave white space at both ends of tokens out of their spans, as ``trim_offsets`` of RoBERTa's does.

        A token of white space alone has an empty span then, at its end.
        """
        from tokenizer_core.spans import trimmed

        return replace(self, spans=trimmed(self.spans, self.text, self.unit))

    def _repr_html_(self) -> str:
        from tokenizer_core.token_html import shown_tokens

        return f"<p>{len(self.ids):,} tokens</p>{shown_tokens(self.text, self.ids, self.spans, self.unit)}"


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counters of the piece caches of a tokenizer.

    Attributes:
        bytes: what the caches of all threads may take.
        pieces: pieces looked up.
        misses: pieces that no cache knew.
        evictions: pieces forgotten for others.
    """

    bytes: int
    pieces: int
    misses: int
    evictions: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Segmentation(ShortRepr):
    """One of the segmentations of a text.

    Attributes:
        ids: uint32, shape (n,).
        score: the sum of the scores of its tokens, added tokens aside: the logarithm of a probability.
    """

    ids: Ids
    score: float
