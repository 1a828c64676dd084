"""Rung 1: count every pair again for every merge.

O(m n). The definition of BPE: Gage, "A New Algorithm for Data Compression" (1994), on words as in Sennrich, Haddow and
Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tokenizer_core.reference.trainers.order import Order, Pair

Word = list[bytes]


def naive_recount(words: Mapping[bytes, int], order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge with its count."""
    split = [([bytes([byte]) for byte in word], times) for word, times in words.items()]
    while True:
        counts: Counter[Pair] = Counter()
        for word, times in split:
            for pair in neighbours(word):
                counts[pair] += times
        if not counts:
            return
        best = min(counts, key=lambda pair: order.key(pair, counts[pair]))
        yield best, counts[best]
        order.add(best[0] + best[1])
        split = [(merged(word, best), times) for word, times in split]


def neighbours(word: Sequence[bytes]) -> list[Pair]:
    """List the pairs of a word: in ``aaa`` the pair ``(a, a)`` occurs twice."""
    return list(pairwise(word))


def merged(word: Sequence[bytes], pair: Pair) -> Word:
    """Merge a pair from left to right: ``aaa`` becomes ``aa a``."""
    parts: Word = []
    for token in word:
        # A product is longer than the pair's left part, so it is never taken for it.
        if parts and (parts[-1], token) == pair:
            parts[-1] += token
        else:
            parts.append(token)
    return parts
