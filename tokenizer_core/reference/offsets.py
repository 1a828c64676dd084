"""Find the span of each token in the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise


def byte_spans(tokens: Sequence[bytes]) -> list[tuple[int, int]]:
    """Decode every prefix of the tokens, one longer each time: a token begins where the prefix before it ends."""
    ends = [len(b"".join(tokens[:count])) for count in range(len(tokens) + 1)]
    return list(pairwise(ends))


def width(character: str, unit: str) -> int:
    """Measure a character in ``byte``, ``char`` (code points) or ``utf16`` (code units).

    Raises:
        ValueError: there is no such unit.
    """
    if unit == "byte":
        return len(character.encode("utf-8"))
    if unit == "char":
        return 1
    if unit == "utf16":
        return len(character.encode("utf-16-le")) // 2
    raise ValueError(f"unknown unit {unit!r}")


def borders(text: str, unit: str) -> Iterator[tuple[int, int]]:
    """Yield every border between characters, in bytes and in ``unit``."""
    byte = position = 0
    yield 0, 0
    for character in text:
        byte += width(character, "byte")
        position += width(character, unit)
        yield byte, position


def in_unit(text: str, spans: Sequence[tuple[int, int]], unit: str) -> list[tuple[int, int]]:
    """Turn byte spans into the smallest spans of whole characters that cover them; byte spans stay as they are.

    An empty span, of a token without text, stays empty at its place.
    """
    if unit == "byte":
        return list(spans)
    places = list(borders(text, unit))
    covering = []
    for start, end in spans:
        first = max(there for here, there in places if here <= start)
        last = min(there for here, there in places if here >= end)
        covering.append((first, last) if start < end else (first, first))
    return covering
