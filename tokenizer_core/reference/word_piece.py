"""WordPiece: cut a word into the longest entry that it begins with, and then the longest that goes on."""

from __future__ import annotations

from collections.abc import Mapping


def word_piece(word: str, ids: Mapping[str, int], *, unk: int, prefix: str, max_chars: int) -> list[tuple[int, int]]:
    """Return ids, each with the number of characters that it stands for.

    Args:
        ids: those of all entries; one that does not begin a word has ``prefix`` before it.
        unk: the id of a word that is longer than ``max_chars``, or of which a part is no entry.
    """
    tokens: list[tuple[int, int]] = []
    at = 0
    while at < len(word) <= max_chars:
        entries = ((end, (prefix if at else "") + word[at:end]) for end in range(len(word), at, -1))
        longest = next(((end, ids[entry]) for end, entry in entries if entry in ids), None)
        if longest is None:
            break
        end, id = longest
        tokens.append((id, end - at))
        at = end
    return tokens if at == len(word) else [(unk, len(word))]
