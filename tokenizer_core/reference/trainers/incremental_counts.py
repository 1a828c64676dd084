"""Rung 2: keep the counts of all pairs, and update them in the words that a merge changes.

O(m (n + p)): every word is still looked at and the best pair still searched, but few words are counted. As in
subword-nmt's ``learn_bpe`` (Sennrich, 2015).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from tokenizer_core.reference.trainers.naive_recount import in_bytes, merged, pair_counts
from tokenizer_core.reference.trainers.order import Order, Pair


def incremental_counts(words: Mapping[bytes, int], order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge with its count."""
    split = in_bytes(words)
    counts = pair_counts(split)
    while counts:
        best = min(counts, key=lambda pair: order.key(pair, counts[pair]))
        yield best, counts[best]
        order.add(product := best[0] + best[1])
        for number, (word, times) in enumerate(split):
            if best in pairwise(word):
                changed = merged(word, best, product)
                counts.subtract(pair_counts([(word, times)]))
                counts.update(pair_counts([(changed, times)]))
                split[number] = changed, times
        # Only pairs that occur: without this a pair of count 0 would be merged in the end.
        counts = +counts
