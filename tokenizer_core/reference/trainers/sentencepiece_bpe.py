"""BPE as SentencePiece trains it: merge characters of words whose spaces are written ``▁``.

Every count is taken anew for every merge: O(m n). With ties broken as here the pieces are those of sentencepiece's
trainer, which orders equally frequent pairs so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from tokenizer_core.reference.trainers.naive_recount import merged, pair_counts

Pair = tuple[str, str]


def words_of(texts: list[str]) -> Counter[str]:
    """Cut texts into words, each from the ``▁`` of a space on, the first with one of its own; a line feed is one."""
    words: Counter[str] = Counter()
    for text in filter(None, texts):
        escaped = text.replace(" ", "▁")
        words.update(re.findall(r"\n|▁[^▁\n]*|[^▁\n]+", escaped if escaped[0] == "▁" else "▁" + escaped))
    return words


def sentencepiece_bpe(
    words: Mapping[str, int],
    vocab_size: int,
    *,
    least: int = 1,
    longest: int = 16,
    coverage: float = 1.0,
    required: str = "",
) -> tuple[list[str], list[Pair]]:
    """Return the pieces by id, characters before products, and the merges.

    Args:
        words: with how often each occurs.
        least: a pair that occurs less often is not merged.
        longest: characters of a piece.
        coverage: only the most frequent characters that are together so great a share of all; ``▁`` is one anyway.
        required: characters that are pieces whether they occur or not.
    """
    pieces = alphabet(words, coverage, required)
    known = set(pieces)
    split = [(list(word), times) for word, times in words.items()]
    merges: list[Pair] = []
    while len(pieces) < vocab_size:
        counts = pair_counts(split)
        allowed = [
            pair
            for pair, count in counts.items()
            if count >= max(least, 1) and set(pair) <= known and len("".join(pair)) <= longest
        ]
        if not allowed:
            break
        best = min(allowed, key=lambda pair: (-counts[pair], len("".join(pair)), "".join(pair)))
        merges.append(best)
        pieces.append("".join(best))
        known.add(pieces[-1])
        split = [(merged(word, best, pieces[-1]), times) for word, times in split]
    return pieces, merges


def alphabet(words: Mapping[str, int], coverage: float, required: str) -> list[str]:
    """Return the characters of the vocabulary in the order of their code points."""
    occurrences: Counter[str] = Counter()
    for word, times in words.items():
        for character in word:
            occurrences[character] += times
    total, covered = sum(occurrences.values()), 0
    kept = {"▁", *required}
    for character in sorted(occurrences, key=lambda one: (-occurrences[one], one)):
        if covered / total >= coverage:
            break
        kept.add(character)
        covered += occurrences[character]
    return sorted(kept)
