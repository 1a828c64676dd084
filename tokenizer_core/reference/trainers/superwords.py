"""Superwords: merges within words, then merges that join words.

As in Liu et al., "SuperBPE: Space Travel for Language Models" (2025). Text is encoded by one list of merges, so when
the second part begins, those of the first are made across words too. Every count is taken anew for every merge: O(m n).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from tokenizer_core.reference.trainers.naive_recount import Word, in_bytes, merged, naive_recount, pair_counts
from tokenizer_core.reference.trainers.order import Order, Pair, learn


def superwords(
    pieces: Mapping[bytes, int],
    words_of: Callable[[bytes], Iterable[bytes]],
    within_words: int,
    vocab_size: int,
    tie_break: str = "lexicographic_low",
    least: int = 1,
) -> tuple[list[Pair], list[Word]]:
    """Return all merges, and the tokens of every piece after them.

    Args:
        pieces: with how often each occurs.
        words_of: cuts a piece into words.
        within_words: tokens in all, the bytes among them, before merges join words.
        least: a pair that occurs less often is not merged.
    """
    words: Counter[bytes] = Counter()
    for piece, times in pieces.items():
        for word in words_of(piece):
            words[word] += times
    merges = learn(naive_recount, words, within_words, tie_break, least)
    order, split = Order(tie_break), in_bytes(pieces)

    def merge(pair: Pair) -> None:
        order.add(product := pair[0] + pair[1])
        split[:] = [(merged(tokens, pair, product), times) for tokens, times in split]

    for pair in merges:
        merge(pair)
    while len(order.ids) < vocab_size:
        counts = pair_counts(split)
        best = min(counts, key=lambda pair: order.key(pair, counts[pair]), default=None)
        if best is None or counts[best] < least:
            break
        merges.append(best)
        merge(best)
    return merges, [tokens for tokens, _ in split]
