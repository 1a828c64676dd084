"""Rung 1: count every pair again for every merge.

O(m n). The definition of BPE: Gage, "A New Algorithm for Data Compression" (1994), on words as in Sennrich, Haddow and
Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from tokenizer_core.reference.trainers.order import Order, Pair

Token = TypeVar("Token")
Word = list[bytes]


def naive_recount(words: Mapping[bytes, int], order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge with its count."""
    split = in_bytes(words)
    while counts := pair_counts(split):
        best = min(counts, key=lambda pair: order.key(pair, counts[pair]))
        yield best, counts[best]
        order.add(best[0] + best[1])
        split = [(merged(word, best, best[0] + best[1]), times) for word, times in split]


def in_bytes(words: Mapping[bytes, int]) -> list[tuple[Word, int]]:
    """List the bytes of each word, with how often it occurs."""
    return [([bytes([byte]) for byte in word], times) for word, times in words.items()]


def pair_counts(words: Iterable[tuple[Sequence[Token], int]]) -> Counter[tuple[Token, Token]]:
    """Count the pairs of words that occur so often: in ``aaa`` the pair ``(a, a)`` occurs twice."""
    counts: Counter[tuple[Token, Token]] = Counter()
    for word, times in words:
        for pair in pairwise(word):
            counts[pair] += times
    return counts


def merged(word: Sequence[Token], pair: tuple[Token, Token], product: Token) -> list[Token]:
    """Merge a pair from left to right: ``aaa`` becomes ``aa a``."""
    parts: list[Token] = []
    for token in word:
        # A product is another token than the pair's left part, so it is never taken for it.
        if parts and (parts[-1], token) == pair:
            parts[-1] = product
        else:
            parts.append(token)
    return parts
