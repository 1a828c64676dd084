"""A tiny vocabulary that is trained where it is needed, so that nothing outside the project is."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise

from tokenizer_core.reference.byte_alphabet import byte_to_character, to_entry
from tokenizer_core.reference.pretokenize import pretokenize

Merge = tuple[bytes, bytes]

GPT2_STAGE = {"type": "split", "pattern": {"name": "gpt2"}, "behavior": "isolated"}
MERGES = 300
TEXT = """
It was the best of times, it was the worst of times; the tokens were the tokens of the time, and they'd been counted.
She said: "I'll be there, we've been there, don't you think?" They're the ones that weren't. 1234567890 2024 1999 100.
    def encode(self, text: str) -> list[int]:
        return [self.ids[token] for token in self.tokens(text)]  # tokens, tokens

Die Größe der Wörter überrascht; Москва слезам не верит. 東京都の日本語、日本語の東京都。 Ünïcödé naïve café.
👨‍👩‍👧 👍🏽 👍👍👍 ........ ======== -------- aaaaaaaa\tb\t\tc\r\n\r\n  \n   x    y
"""


def best_pair(words: Counter[tuple[bytes, ...]]) -> Merge | None:
    """Return the most frequent pair, the smallest among equals, or nothing when every word is one token."""
    pairs: Counter[Merge] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            pairs[pair] += count
    return min(pairs, key=lambda pair: (-pairs[pair], pair)) if pairs else None


def join(word: tuple[bytes, ...], merge: Merge) -> tuple[bytes, ...]:
    """Join every occurrence of a pair, from left to right."""
    parts: list[bytes] = []
    for part in word:
        if parts and (parts[-1], part) == merge:
            parts[-1] += part
        else:
            parts.append(part)
    return tuple(parts)


@cache
def merges() -> tuple[Merge, ...]:
    """Train ``MERGES`` merges on ``TEXT``, counting every pair anew each time."""
    words = Counter(tuple(bytes([byte]) for byte in piece.encode()) for piece in pretokenize([GPT2_STAGE], TEXT))
    learned: list[Merge] = []
    while len(learned) < MERGES and (merge := best_pair(words)):
        learned.append(merge)
        joined: Counter[tuple[bytes, ...]] = Counter()
        for word, count in words.items():
            joined[join(word, merge)] += count
        words = joined
    return tuple(learned)


@cache
def tokens() -> tuple[bytes, ...]:
    """Return the tokens by id: the bytes in the order of their characters, then the products, each once."""
    characters = byte_to_character()
    base = [bytes([byte]) for byte in sorted(characters, key=lambda byte: characters[byte])]
    return tuple(dict.fromkeys([*base, *(left + right for left, right in merges())]))


def vocab() -> dict[str, int]:
    """Return the content of ``vocab.json``."""
    return {to_entry(token): id for id, token in enumerate(tokens())}


def merges_txt() -> str:
    """Return the content of ``merges.txt``."""
    return "#version: 0.2\n" + "".join(f"{to_entry(left)} {to_entry(right)}\n" for left, right in merges())


def ranks() -> dict[bytes, int]:
    """Return the vocabulary as tiktoken has it: ranks in the order of the merges, the bytes first."""
    return {token: id for id, token in enumerate(tokens())}
