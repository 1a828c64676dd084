"""Rung 2: keep the counts of all pairs, and update them in the words that a merge changes.

O(m (n + p)): every word is still looked at and the best pair still searched, but few words are counted. As in
subword-nmt's ``learn_bpe`` (Sennrich, 2015).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tokenizer_core.reference.trainers.naive_recount import merged, neighbours
from tokenizer_core.reference.trainers.order import Order, Pair


def incremental_counts(words: Mapping[bytes, int], order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge with its count."""
    split = [([bytes([byte]) for byte in word], times) for word, times in words.items()]
    counts: Counter[Pair] = Counter()
    for word, times in split:
        for pair in neighbours(word):
            counts[pair] += times
    while counts:
        best = min(counts, key=lambda pair: order.key(pair, counts[pair]))
        yield best, counts[best]
        order.add(best[0] + best[1])
        for number, (word, times) in enumerate(split):
            if best in neighbours(word):
                changed = merged(word, best)
                for pair in neighbours(word):
                    counts[pair] -= times
                for pair in neighbours(changed):
                    counts[pair] += times
                split[number] = changed, times
        # Only pairs that occur: without this a pair of count 0 would be merged in the end.
        counts = +counts
