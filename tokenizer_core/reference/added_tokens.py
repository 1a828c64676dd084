"""Match literals before everything else: leftmost, then longest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tokenizer_core.reference.unicode_classes import members


class Literal(NamedTuple):
    """An added token; the flags are those of Hugging Face."""

    content: str
    id: int
    special: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


class ReservedLiteralError(ValueError):
    """The text holds a special token's literal although that is forbidden; ``span`` is in characters."""

    def __init__(self, content: str, span: tuple[int, int]) -> None:
        super().__init__(f"the text holds the reserved literal {content!r} at {span}")
        self.content = content
        self.span = span


@dataclass
class _Node:
    literal: Literal | None = None
    children: dict[str, _Node] = field(default_factory=dict)


class Trie:
    """Literals by their characters."""

    def __init__(self, literals: Iterable[Literal]) -> None:
        self._root = _Node()
        for literal in literals:
            node = self._root
            for character in literal.content:
                node = node.children.setdefault(character, _Node())
            node.literal = literal

    def longest_at(self, text: str, start: int) -> Literal | None:
        """Return the longest literal that begins at ``start``."""
        node, best = self._root, None
        for character in text[start:]:
            if character not in node.children:
                break
            node = node.children[character]
            best = node.literal or best
        return best

    def matches(self, text: str) -> Iterator[tuple[int, int, Literal]]:
        """Find the matches from left to right; they do not overlap."""
        at = 0
        while at < len(text):
            literal = self.longest_at(text, at)
            if literal is None:
                at += 1
                continue
            yield at, at + len(literal.content), literal
            at += len(literal.content)


def split(text: str, literals: Iterable[Literal], forbid_special: bool = False) -> list[tuple[int, int, int | None]]:
    """Tile the text with ``(start, end, id)``; the id is ``None`` for the text between literals.

    A literal that must be a word of its own and is not is passed over whole. One that strips takes the white space next
    to it, but none that a literal before it has taken.

    Raises:
        ReservedLiteralError: a special literal matches and ``forbid_special`` is set.
    """
    segments: list[tuple[int, int, int | None]] = []
    taken = 0
    for found_start, found_end, literal in Trie(literals).matches(text):
        start, end = found_start, found_end
        if start < taken:
            continue
        if literal.single_word and (_is_word(text[start - 1 : start]) or _is_word(text[end : end + 1])):
            continue
        while literal.lstrip and start > taken and _is_white(text[start - 1]):
            start -= 1
        while literal.rstrip and end < len(text) and _is_white(text[end]):
            end += 1
        if literal.special and forbid_special:
            raise ReservedLiteralError(literal.content, (found_start, found_end))
        if taken < start:
            segments.append((taken, start, None))
        segments.append((start, end, literal.id))
        taken = end
    if taken < len(text):
        segments.append((taken, len(text), None))
    return segments


def _is_word(character: str) -> bool:
    return character != "" and ord(character) in members("Joined_Word")


def _is_white(character: str) -> bool:
    return ord(character) in members("White_Space")
