"""Rung 6: index the places of every pair, in a linked list of tokens.

O(log p) for each merged place and nothing for the rest of the word, so that one word of a million letters costs no more
than many short ones. All words lie in one list with borders between them; a token is known by the place of its first
byte. As in Larsson and Moffat, "Offline Dictionary-Based Compression" (1999).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from tokenizer_core.reference.trainers.lazy_heap import LazyHeap
from tokenizer_core.reference.trainers.order import Order, Pair


class Links:
    """Tokens and their neighbours by place, and the count and the places of every pair.

    Args:
        words: each with the number of times that it counts.
    """

    def __init__(self, words: Iterable[tuple[bytes, int]]) -> None:
        self.tokens: list[bytes | None] = [None]
        self.times = [0]
        for word, times in words:
            self.tokens += [*(bytes([byte]) for byte in word), None]
            self.times += [times] * (len(word) + 1)
        self.left = [place - 1 for place in range(len(self.tokens))]
        self.right = [place + 1 for place in range(len(self.tokens))]
        self.counts: Counter[Pair] = Counter()
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for place in range(1, len(self.tokens) - 1):
            self._count(place, 1)

    def merge(self, pair: Pair) -> set[Pair]:
        """Merge a pair at all its places; return the pairs whose count has changed."""
        changed: set[Pair] = {pair}
        for place in sorted(self.places[pair]):
            if place not in self.places[pair]:
                continue  # In ``aaa`` the second pair is gone when the first has been merged.
            behind = self.right[place]
            around = (self.left[place], place, behind)
            changed |= {gone for at in around if (gone := self._count(at, -1)) is not None}
            self.tokens[place], self.tokens[behind] = pair[0] + pair[1], None
            self.right[place] = self.right[behind]
            self.left[self.right[place]] = place
            changed |= {made for at in around[:2] if (made := self._count(at, 1)) is not None}
        for lost in [pair for pair in changed if not self.counts[pair]]:
            del self.counts[lost], self.places[lost]
        return changed

    def _count(self, place: int, sign: int) -> Pair | None:
        """Count the pair that begins at a place in or out, if one does."""
        left, right = self.tokens[place], self.tokens[self.right[place]]
        if left is None or right is None:
            return None
        pair = left, right
        self.counts[pair] += sign * self.times[place]
        if sign > 0:
            self.places[pair].add(place)
        else:
            self.places[pair].discard(place)
        return pair


def linked_positions(words: Mapping[bytes, int], order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge with its count."""
    links = Links(words.items())
    heap = LazyHeap(links.counts, order)
    while (best := heap.pop()) is not None:
        yield best, links.counts[best]
        order.add(best[0] + best[1])
        for pair in links.merge(best):
            heap.push(pair)
