"""Divide a large file into segments that are counted separately, at places where it may be cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Literal

from tokenizer_core.corpus.reading import BLOCK, Meter, Source, blocks

_BORDERS = {"words": re.compile(rb"[A-Za-z](?=[ \n])"), "lines": re.compile(rb"\n(?=[A-Za-z])")}
"""Where every named pattern ends a piece, and where the patterns of superwords do."""

_SEARCHED = 1 << 16
"""Bytes at the end of a block in which a place is looked for."""

Cut = Callable[[bytes], int]
"""Returns the last place in a block at which a file may be cut, or 0."""


class Segments:
    """The unpacked bytes of one file, read once from its beginning to its end.

    Attributes:
        position: bytes given so far.
        lines: line feeds in them.
    """

    def __init__(self, source: Source, meter: Meter, cut: Cut) -> None:
        self._blocks = blocks(source, meter)
        self._cut = cut
        self._next = next(self._blocks, b"")
        self._following = next(self._blocks, b"")
        self.position = self.lines = 0

    @property
    def is_at_end(self) -> bool:
        """True if all bytes were given."""
        return not self._next

    def skip(self, position: int, pause: Callable[[], object]) -> None:
        """Go to where an earlier segment ended; ``pause`` is called after every block."""
        while not self.is_at_end and self.position < position:
            self._take(position - self.position)
            pause()

    def read(self, size: int) -> Iterator[bytes]:
        """Give at least ``size`` bytes, up to a place at which the file may be cut, or its end."""
        start = self.position
        while not self.is_at_end:
            is_enough = self.position - start + len(self._next) >= size
            if is_enough and self._following and (place := self._cut(self._next)):
                yield self._take(place)
                return
            yield self._take(len(self._next))

    def _take(self, size: int) -> bytes:
        taken, self._next = self._next[:size], self._next[size:]
        self.position += len(taken)
        self.lines += taken.count(b"\n")
        if not self._next:
            self._next, self._following = self._following, next(self._blocks, b"")
        return taken


def cut_from(file: IO[bytes], place: int, cut: Cut) -> int:
    """Return where a file is cut that is not packed and can be sought, near ``place``, or its end.

    It depends on nothing but the file, the place and the rule.
    """
    at = file.seek(place)
    while place and (block := _whole(file)):
        if found := cut(block):
            return at + found
        at += len(block)
    return at


def _whole(file: IO[bytes]) -> bytes:
    """Read a block, which is shorter only at the end of the file."""
    parts, left = [], BLOCK
    while left and (data := file.read(left)):
        parts.append(data)
        left -= len(data)
    return b"".join(parts)


def after_a_line(block: bytes) -> int:
    """Cut a file of lines."""
    return block.rfind(b"\n") + 1


def cut_at(places: Literal["words", "lines"], special_tokens: Sequence[str]) -> Cut:
    """Cut a text, but never a special token."""
    literals = [literal.encode() for literal in special_tokens]
    longest = max(map(len, literals), default=1)

    def cut(block: bytes) -> int:
        # Around the place there must be as much as a special token has.
        first, last = max(longest, len(block) - _SEARCHED), len(block) - longest
        for found in reversed(list(_BORDERS[places].finditer(block, first, max(first, last)))):
            if not any(_straddles(block, found.end(), literal) for literal in literals):
                return found.end()
        return 0

    return cut


def _straddles(block: bytes, place: int, literal: bytes) -> bool:
    window = block[place - len(literal) + 1 : place + len(literal) - 1]
    return literal in window
