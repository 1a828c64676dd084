"""WordPiece: merge characters, of which those inside a word have a prefix, by count or by likelihood.

By count as in Hugging Face's ``WordPieceTrainer``; by likelihood after Schuster and Nakajima, "Japanese and Korean
Voice Search" (2012): of all merges, that of tokens which are most often neighbours for how often they occur. Every
count is taken anew for every merge: O(m n).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from tokenizer_core.reference.trainers.naive_recount import merged, pair_counts

Words = list[tuple[list[int], int]]
"""The ids of each word, with how often it occurs."""


def word_piece(
    words: Mapping[str, int],
    vocab_size: int,
    *,
    prefix: str = "##",
    score: str = "count",
    least: int = 1,
    limit_alphabet: int | None = None,
) -> list[str]:
    """Return the entries by id: characters, characters inside words, and products as they are made.

    Args:
        words: with how often each occurs.
        score: ``count``, or ``likelihood``: ``count(ab) / (count(a) * count(b))``.
        least: a pair that occurs less often is not merged.
        limit_alphabet: only the most frequent characters; others are taken out of their words.
    """
    occurrences: Counter[str] = Counter()
    for word, times in words.items():
        for character in word:
            occurrences[character] += times
    ranked = sorted(occurrences, key=lambda character: (-occurrences[character], character))
    alphabet = sorted(ranked[:limit_alphabet])
    inside = {character for word in words for character in word[1:]}
    tokens = [*alphabet, *(prefix + character for character in alphabet if character in inside)]
    ids = {token: id for id, token in enumerate(tokens)}
    split = [
        ([ids[prefix * (at > 0) + character] for at, character in enumerate(word) if character in alphabet], times)
        for word, times in words.items()
    ]
    while len(tokens) < vocab_size and (pair := _best(split, tokens, prefix, score, max(least, 1))):
        tokens.append(_product(tokens, pair, prefix))
        split = [(merged(word, pair, len(tokens) - 1), times) for word, times in split]
    return tokens


def _best(split: Words, tokens: list[str], prefix: str, score: str, least: int) -> tuple[int, int] | None:
    """Return the pair to merge: of equal scores the more frequent one, of equal counts that of the lowest ids."""
    singles: Counter[int] = Counter()
    for word, times in split:
        for token in word:
            singles[token] += times
    pairs = pair_counts(split)
    known = set(tokens)
    # If a word begins with the prefix, as '###' does, a product may be spelled as another token.
    allowed = [pair for pair, count in pairs.items() if count >= least and _product(tokens, pair, prefix) not in known]

    def order(pair: tuple[int, int]) -> tuple[Fraction, int, tuple[int, int]]:
        count = pairs[pair]
        likelihood = Fraction(count, singles[pair[0]] * singles[pair[1]])
        return (-likelihood if score == "likelihood" else Fraction(0), -count, pair)

    return min(allowed, key=order, default=None)


def _product(tokens: list[str], pair: tuple[int, int], prefix: str) -> str:
    return tokens[pair[0]] + tokens[pair[1]].removeprefix(prefix)
