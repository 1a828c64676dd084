"""Parity-aware BPE: each merge is that of the most frequent pair of the language that is compressed worst.

Foroutan et al., "Parity-Aware Byte-Pair Encoding: Improving Cross-lingual Fairness in Tokenization" (2025). The cost of
a language is the tokens of texts whose content is the same in all languages; without such texts, the tokens a byte of
its corpus. Two variants of the paper: *hybrid*, where the first merges are those of all languages together; and *moving
window*, where a language waits that was chosen for more than twice its equal share of the merges in a window.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from fractions import Fraction

from tokenizer_core.reference.trainers.naive_recount import Word, in_bytes, merged, pair_counts
from tokenizer_core.reference.trainers.order import Order, Pair

Languages = Mapping[str, Mapping[bytes, int]]
"""The words of each language."""

SHARE = 2


def parity(
    corpus: Languages,
    order: Order,
    *,
    parallel: Languages | None = None,
    global_merges: int = 0,
    window: int = 0,
    least: int = 1,
) -> Iterator[tuple[Pair, int, str | None]]:
    """Yield every merge with its count in the language that it is made for, if it is not made for all.

    Args:
        least: a pair that occurs less often is not merged.
    """
    split = {name: in_bytes(words) for name, words in corpus.items()}
    measured = {name: in_bytes(words) for name, words in (corpus if parallel is None else parallel).items()}
    sizes = {name: _bytes(words) if parallel is None else 1 for name, words in corpus.items()}
    chosen: deque[str] = deque(maxlen=window)
    made = 0
    while True:
        counts = {name: pair_counts(words) for name, words in split.items()}
        together: Counter[Pair] = sum(counts.values(), Counter())
        choices: list[tuple[str | None, Counter[Pair]]]
        if made < global_merges:
            choices = [(None, together)]
        else:
            waits = {name: chosen.count(name) * len(sizes) > SHARE * window for name in sizes}
            cost = {name: Fraction(_tokens(measured[name]), size) for name, size in sizes.items()}
            names = sorted(sizes, key=lambda name: (waits[name], -cost[name], name.encode()))
            choices = [(name, counts[name]) for name in names]
        best = next((choice for choice in choices if max(choice[1].values(), default=0) >= least), None)
        if best is None:
            return
        language, pairs = best
        pair = min(pairs, key=lambda pair: order.key(pair, pairs[pair]))
        yield pair, pairs[pair], language
        made += 1
        if language is not None:
            chosen.append(language)
        order.add(product := pair[0] + pair[1])
        for words in (split, measured):
            for name, listed in words.items():
                words[name] = [(merged(word, pair, product), times) for word, times in listed]


def _bytes(words: Mapping[bytes, int]) -> int:
    return sum(len(word) * times for word, times in words.items())


def _tokens(words: list[tuple[Word, int]]) -> int:
    return sum(len(word) * times for word, times in words)
