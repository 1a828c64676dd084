"""Rung 5: take the best pair from a heap.

O(log p) for each change of a count. An entry says what the pair was worth when it was pushed; one that says something
else than the count is stale and dropped when it comes up. So that stale entries do not outnumber the others, the heap
is rebuilt when it has grown to a multiple of the pairs. As in sentencepiece (Kudo, 2018) and YouTokenToMe (2019).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping

from tokenizer_core.reference.trainers.inverted_index import Index
from tokenizer_core.reference.trainers.order import Order, Pair

Entry = tuple[tuple[object, ...], int, Pair]

CROWDED = 4
"""Entries for each pair at which the heap is rebuilt."""


class LazyHeap:
    """The pairs by what they are worth."""

    def __init__(self, counts: Mapping[Pair, int], order: Order) -> None:
        self._counts = counts
        self._order = order
        self._heap: list[Entry] = []
        self._compact()

    def push(self, pair: Pair) -> None:
        """Say that a count has changed."""
        if self._counts.get(pair):
            heapq.heappush(self._heap, self._entry(pair))
        if len(self._heap) > CROWDED * len(self._counts) + 16:
            self._compact()

    def pop(self) -> Pair | None:
        """Take the best pair out."""
        while self._heap:
            _, count, pair = heapq.heappop(self._heap)
            if self._counts.get(pair) == count:
                return pair
        return None

    def _compact(self) -> None:
        self._heap = [self._entry(pair) for pair in self._counts]
        heapq.heapify(self._heap)

    def _entry(self, pair: Pair) -> Entry:
        count = self._counts[pair]
        return self._order.key(pair, count), count, pair


def lazy_heap(words: Mapping[bytes, int], order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge with its count."""
    index = Index(words)
    heap = LazyHeap(index.counts, order)
    while (best := heap.pop()) is not None:
        yield best, index.counts[best]
        order.add(best[0] + best[1])
        for pair in index.merge(best):
            heap.push(pair)
