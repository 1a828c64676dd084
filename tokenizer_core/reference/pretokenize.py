"""Cut a text into pieces by one pattern or several in turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import regex

from tokenizer_core.reference.patterns import PATTERNS
from tokenizer_core.reference.unicode_classes import expand, members


@cache
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern with its character classes written out in the pinned version of Unicode."""
    return regex.compile(expand(pattern))


def stretches(pattern: Mapping[str, str], text: str) -> list[tuple[str, bool]]:
    """Tile the text with the matches of a pattern and the gaps between them; the flag marks a match.

    Args:
        pattern: one entry: ``name``, ``regex`` or ``string``, with its text.
        text: what is tiled.
    """
    ((kind, content),) = pattern.items()
    if kind == "string":
        content = regex.escape(content, special_only=True, literal_spaces=True)
    elif kind == "name":
        content = PATTERNS[content]
    found = []
    at = 0
    for match in compiled(content).finditer(text):
        found += [(text[at : match.start()], False), (match[0], True)]
        at = match.end()
    found.append((text[at:], False))
    return [(piece, is_match) for piece, is_match in found if piece]


def cut(found: list[tuple[str, bool]], behavior: str) -> list[str]:
    """Turn matches and gaps into pieces.

    Raises:
        ValueError: ``removed`` would lose text, or the behaviour is unknown.
    """
    if behavior == "removed":
        if any(is_match for _, is_match in found):
            raise ValueError("the pattern leaves text outside every piece")
        return [piece for piece, _ in found]
    if behavior == "isolated":
        return [piece for piece, _ in found]
    if behavior == "merged_with_next":
        backwards = [(piece[::-1], is_match) for piece, is_match in reversed(found)]
        return [piece[::-1] for piece in reversed(cut(backwards, "merged_with_previous"))]
    if behavior not in {"contiguous", "merged_with_previous"}:
        raise ValueError(f"unknown behaviour {behavior!r}")
    pieces: list[str] = []
    last: bool | None = None
    for piece, is_match in found:
        joins = is_match == last if behavior == "contiguous" else is_match and last is False
        if joins:
            pieces[-1] += piece
        else:
            pieces.append(piece)
        last = is_match
    return pieces


def digits(text: str, individual: bool) -> list[str]:
    """Cut at digits, each alone or each run together."""
    numbers = members("N")
    found = [(character, ord(character) in numbers) for character in text]
    if individual:
        runs: list[str] = []
        for place, (character, is_digit) in enumerate(found):
            if runs and not is_digit and not found[place - 1][1]:
                runs[-1] += character
            else:
                runs.append(character)
        return runs
    return cut(found, "contiguous")


def pretokenize(stages: Iterable[Mapping[str, Any]], text: str) -> list[str]:
    """Run the stages, each on every piece of the one before; no stage makes the whole text one piece.

    Raises:
        ValueError: a stage would lose text.
    """
    pieces = [text] if text else []
    for stage in stages:
        if stage["type"] == "digits":
            pieces = [part for piece in pieces for part in digits(piece, stage["individual"])]
            continue
        refined = []
        for piece in pieces:
            found = stretches(stage["pattern"], piece)
            if stage.get("invert", False):
                found = [(part, not is_match) for part, is_match in found]
            refined += cut(found, stage["behavior"])
        pieces = refined
    return pieces
