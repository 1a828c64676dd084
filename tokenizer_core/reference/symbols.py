"""SentencePiece's models over characters and words: each is an entry, or unknown."""

from __future__ import annotations

from collections.abc import Collection

SPACE = "▁"


def symbols(text: str, unit: str, user_defined: Collection[str]) -> list[str]:
    """Cut a text into characters, and the symbols that are found before them, longest first; or into words."""
    if unit == "word":
        starts = [at for at, character in enumerate(text) if at == 0 or character == SPACE]
        return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    found = []
    while text:
        symbol = max((symbol for symbol in user_defined if text.startswith(symbol)), key=len, default=text[0])
        found.append(symbol)
        text = text[len(symbol) :]
    return found
