"""Permute the documents of a part by a seed: memory holds where they lie, a file holds their ids."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from tokenizer_core.token_files.layouts.layout import Batch, Shape, Sink

_BATCH = 1 << 20
"""Bytes of ids that are given on at a time, or those of one document."""


class Shuffled(Sink):
    """Keeps the documents in a file until all are there, then gives them on in their new order."""

    def __init__(self, sink: Sink, shape: Shape, spool: BinaryIO, seed: int) -> None:
        super().__init__(sink.outputs, shape)
        self._sink, self._spool, self._seed = sink, spool, seed
        self._lengths: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        self._origins: list[npt.NDArray[np.int64]] = [np.empty((0, 2), np.int64)]
        self._batches: list[int] = []

    def take(self, batch: Batch) -> None:
        self._spool.write(batch.ids)
        self._spool.write(batch.trained)
        self._lengths.append(batch.lengths)
        self._origins.append(batch.origins)
        self._batches.append(len(batch.lengths))

    def finish(self) -> None:
        self._spool.flush()
        lengths, origins = np.concatenate(self._lengths), np.concatenate(self._origins)
        sizes = lengths * self.shape.item
        starts, marks = self._places(lengths)
        order = permutation(len(lengths), self._seed)
        ends = sizes[order].cumsum()
        first = 0
        while first < len(order):
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + _BATCH, "right")))
            chosen = order[first:last]
            ids = self._read(starts[chosen], sizes[chosen])
            trained = self._read(marks[chosen], lengths[chosen]) if self.shape.is_labeled else b""
            self._sink.take(Batch(ids, lengths[chosen], origins[chosen], trained))
            first = last
        self._sink.finish()

    def _places(self, lengths: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return where the ids of each document lie, and where the bytes that say which of them are trained on do."""
        before = lengths.cumsum() - lengths
        if not self.shape.is_labeled:
            return before * self.shape.item, before
        counts = np.array(self._batches, np.int64)
        tokens = np.array([each.sum() for each in self._lengths[1:]], np.int64)
        earlier = np.repeat(tokens.cumsum() - tokens, counts)
        # A batch's ids, then its marks.
        starts = before * self.shape.item + earlier
        marks = before + (earlier + np.repeat(tokens, counts)) * self.shape.item
        return starts, marks

    def _read(self, starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> bytes:
        file = self._spool.fileno()
        return b"".join(
            [os.pread(file, size, start) for size, start in zip(sizes.tolist(), starts.tolist(), strict=True)]
        )


def seed_of(*parts: object) -> int:
    """Hash what names a part into a seed of 64 bits."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "little")


def permutation(count: int, seed: int) -> npt.NDArray[np.int64]:
    """Return a permutation that depends on nothing but its arguments: the order of SplitMix64's numbers."""
    with np.errstate(over="ignore"):
        state = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return np.argsort(state ^ state >> np.uint64(31), kind="stable")
