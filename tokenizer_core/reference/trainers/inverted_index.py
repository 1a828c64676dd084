"""Rung 4: index the words of every pair, and visit no others.

O(m p) to search the best pair, and for each merge only the words that hold it. An entry of the index may be stale; it
is found out when the word is looked at. As in subword-nmt (Sennrich, 2015) and Hugging Face's ``BpeTrainer`` (2019).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

from tokenizer_core.reference.trainers.naive_recount import merged
from tokenizer_core.reference.trainers.order import Order, Pair


class Index:
    """Words as tokens, the count of every pair, and the words that it may be in."""

    def __init__(self, words: Mapping[bytes, int]) -> None:
        self.words = [[bytes([byte]) for byte in word] for word in words]
        self.times = list(words.values())
        self.counts: Counter[Pair] = Counter()
        self.holders: defaultdict[Pair, set[int]] = defaultdict(set)
        for number in range(len(self.words)):
            self._count(number, 1)

    def merge(self, pair: Pair) -> set[Pair]:
        """Merge a pair in all words; return the pairs whose count has changed."""
        changed: set[Pair] = set()
        for number in self.holders.pop(pair, set()):
            changed |= self._count(number, -1)
            self.words[number] = merged(self.words[number], pair, pair[0] + pair[1])
            changed |= self._count(number, 1)
        for gone in [pair for pair in changed if not self.counts[pair]]:
            del self.counts[gone]
        return changed

    def _count(self, number: int, sign: int) -> set[Pair]:
        pairs = list(pairwise(self.words[number]))
        for pair in pairs:
            self.counts[pair] += sign * self.times[number]
            if sign > 0:
                self.holders[pair].add(number)
        return set(pairs)


def inverted_index(words: Mapping[bytes, int], order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge with its count."""
    index = Index(words)
    while index.counts:
        best = min(index.counts, key=lambda pair: order.key(pair, index.counts[pair]))
        yield best, index.counts[best]
        order.add(best[0] + best[1])
        index.merge(best)
