"""Small corpora, made by chance."""

from __future__ import annotations

import random

TIE_BREAKS = ("lexicographic_low", "lexicographic_high", "lowest_ids")


def random_words(rng: random.Random, alphabet: str = "ab") -> dict[bytes, int]:
    """Make weighted words: few letters and many ties, some of them long or of one letter."""
    words: dict[bytes, int] = {}
    for _ in range(rng.randint(1, 10)):
        letters = rng.choice((alphabet, "a", "abc", "é日"))
        word = "".join(rng.choices(letters, k=rng.choice((1, 2, 3, 5, 8, 13, 30))))
        words[word.encode()] = rng.choice((1, 1, 2, 3, 7, 1000))
    return words


def text(seed: int, length: int = 4000) -> str:
    """Make a text in which words come back."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdeé日", k=rng.randint(1, 9))) for _ in range(60)]
    return "".join(rng.choice(words) + rng.choice((" ", " ", "\n", "  ", "12 ", ", ")) for _ in range(length // 6))
