"""Rung 8: train on a whole text in linear time, without a heap.

O(n) in all but the choice among ties. A pair never becomes more frequent than the one whose merge it came from, so the
highest count only falls: pairs lie in buckets by their count, and the way down through the buckets is made once. After
Larsson and Moffat's Re-Pair (1999). Words are laid out as often as they occur, as a text has them; a text without a
pretokenizer is one word.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from tokenizer_core.reference.trainers.linked_positions import Links
from tokenizer_core.reference.trainers.order import Order, Pair


class Buckets:
    """Pairs by their count."""

    def __init__(self, counts: Mapping[Pair, int]) -> None:
        self._buckets: defaultdict[int, set[Pair]] = defaultdict(set)
        self._counts: dict[Pair, int] = {}
        self._highest = 0
        for pair, count in counts.items():
            self.set(pair, count)

    def set(self, pair: Pair, count: int) -> None:
        """Let a pair occur ``count`` times."""
        self._buckets[self._counts.pop(pair, 0)].discard(pair)
        if count:
            self._buckets[count].add(pair)
            self._counts[pair] = count
            # A token that two merges make can lift its pairs; otherwise this only happens at the start.
            self._highest = max(self._highest, count)

    def first(self, order: Order) -> Pair | None:
        """Return the best pair of the highest bucket."""
        while self._highest and not self._buckets[self._highest]:
            del self._buckets[self._highest]
            self._highest -= 1
        if not self._highest:
            return None
        return min(self._buckets[self._highest], key=lambda pair: order.key(pair, 0))


def whole_text(words: Mapping[bytes, int], order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge with its count."""
    text = Links((word, 1) for word, times in words.items() for _ in range(times))
    buckets = Buckets(text.counts)
    while (best := buckets.first(order)) is not None:
        yield best, text.counts[best]
        order.add(best[0] + best[1])
        for pair in text.merge(best):
            buckets.set(pair, text.counts[pair])
