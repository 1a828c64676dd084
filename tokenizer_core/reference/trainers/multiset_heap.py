"""Rung 7: update the counts inside the heap.

O(log p) for each change of a count, as with stale entries, but with one entry a pair and no rubbish: the heap knows
where each pair stands, as the queues of Dijkstra's algorithm (1959) do. It is a multiset of pairs that gives back its
most frequent element.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokenizer_core.reference.trainers.linked_positions import Links
from tokenizer_core.reference.trainers.order import Order, Pair


class MultisetHeap:
    """A binary heap of pairs that can be found again."""

    def __init__(self, counts: Mapping[Pair, int], order: Order) -> None:
        self._order = order
        self._heap: list[tuple[tuple[object, ...], Pair]] = []
        self._at: dict[Pair, int] = {}
        for pair, count in counts.items():
            self.set(pair, count)

    def set(self, pair: Pair, count: int) -> None:
        """Let a pair occur ``count`` times; 0 takes it out."""
        at = self._at.get(pair)
        if at is None:
            if count == 0:
                return
            at = len(self._heap)
            self._heap.append(((), pair))
        if count > 0:
            self._put(at, (self._order.key(pair, count), pair))
        else:
            last = self._heap.pop()
            del self._at[pair]
            if at == len(self._heap):
                return
            self._put(at, last)
        self._sift(at)

    def first(self) -> Pair | None:
        """Return the best pair."""
        return self._heap[0][1] if self._heap else None

    def _put(self, at: int, entry: tuple[tuple[object, ...], Pair]) -> None:
        self._heap[at] = entry
        self._at[entry[1]] = at

    def _sift(self, at: int) -> None:
        """Move the entry up or down to where it belongs."""
        while at > 0 and self._heap[at] < self._heap[(at - 1) // 2]:
            at = self._swap(at, (at - 1) // 2)
        while children := [child for child in (2 * at + 1, 2 * at + 2) if child < len(self._heap)]:
            least = min(children, key=self._heap.__getitem__)
            if self._heap[at] <= self._heap[least]:
                return
            at = self._swap(at, least)

    def _swap(self, at: int, other: int) -> int:
        one, two = self._heap[at], self._heap[other]
        self._put(at, two)
        self._put(other, one)
        return other


def multiset_heap(words: Mapping[bytes, int], order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge with its count."""
    links = Links(words.items())
    heap = MultisetHeap(links.counts, order)
    while (best := heap.first()) is not None:
        yield best, links.counts[best]
        order.add(best[0] + best[1])
        for pair in links.merge(best):
            heap.set(pair, links.counts[pair])
