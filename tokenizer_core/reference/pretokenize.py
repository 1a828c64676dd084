"""Cut a text into pieces by one pattern or several in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Any

import regex

from tokenizer_core.reference import older_tables
from tokenizer_core.reference.byte_alphabet import to_entry
from tokenizer_core.reference.patterns import PATTERNS
from tokenizer_core.reference.scripts import by_script
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
        ValueError: the behaviour is unknown.
    """
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


def parts(stage: Mapping[str, Any], text: str, drops: bool) -> list[tuple[str, bool]]:
    """Tile a text with what one stage makes of it; the flag says whether a part is a piece, or is dropped.

    Args:
        stage: as the configuration has it.
        text: a piece of the stage before.
        drops: whether what an inverted split leaves out is dropped.

    Raises:
        ValueError: it is not dropped, or the stage is not known here.
    """
    kind, behavior = stage["type"], stage.get("behavior", "isolated")
    if kind == "digits":
        return [(piece, True) for piece in digits(text, stage["individual"])]
    if kind == "fixed_length":
        length = stage["length"]
        return [(text[at : at + length], True) for at in range(0, len(text), length)]
    if kind in {"bert", "whitespace", "whitespace_split"}:
        return list(words(kind, text))
    if kind == "unicode_scripts":
        return by_script(text)
    if kind == "punctuation":
        found = [(character, ord(character) in older_tables.punctuation()) for character in text]
        found = [
            (part, is_match) for is_match, run in groupby(found, lambda one: one[1]) for part in joined(run, is_match)
        ]
    elif kind == "split":
        found = stretches(stage["pattern"], text)
    else:
        raise ValueError(f"unknown pretokenizer stage {kind!r}")
    if stage.get("invert", False):
        found = [(part, not is_match) for part, is_match in found]
        if behavior == "removed" and not drops and any(is_match for _, is_match in found):
            raise ValueError("the pattern leaves text outside every piece")
    if behavior == "removed":
        return [(part, not is_match) for part, is_match in found]
    return [(piece, True) for piece in cut(found, behavior)]


def joined(run: Iterable[tuple[str, bool]], is_match: bool) -> list[str]:
    """Keep characters that match one by one, and put those between together."""
    characters = [character for character, _ in run]
    return characters if is_match else ["".join(characters)]


def words(kind: str, text: str) -> Iterator[tuple[str, bool]]:
    """Yield runs of characters of one class; white space is dropped, and BERT's punctuation marks stand alone."""

    def of(character: str) -> str:
        code = ord(character)
        if code in members("White_Space"):
            return "white"
        if kind == "bert":
            return "mark" if code in older_tables.punctuation() else "word"
        return "word" if kind == "whitespace_split" or code in members("Joined_Word") else "other"

    for name, run in groupby(text, of):
        if name == "mark":
            yield from ((character, True) for character in run)
        else:
            yield "".join(run), name != "white"


def places(stages: Iterable[Mapping[str, Any]], text: str, drops: bool = False) -> list[tuple[int, int]]:
    """Run the stages, each on every piece of the one before; no stage makes the whole text one piece.

    Returns:
        the places of the pieces, in characters.

    Raises:
        ValueError: a stage would lose text.
    """
    found = [(0, len(text))] if text else []
    for stage in stages:
        refined = []
        for start, end in found:
            for part, is_piece in parts(stage, text[start:end], drops):
                if is_piece:
                    refined.append((start, start + len(part)))
                start += len(part)
        found = refined
    return found


def pretokenize(stages: Iterable[Mapping[str, Any]], text: str, drops: bool = False) -> list[str]:
    """Return the text of each of the :func:`places`."""
    return [text[start:end] for start, end in places(stages, text, drops)]


REWRITES = frozenset({"metaspace", "byte_level"})
"""Stages whose pieces are other text than that which they cut."""


def rewritten(stages: Iterable[Mapping[str, Any]], text: str, *, begins: bool) -> list[str]:
    """Run stages that also rewrite pieces, and return the pieces.

    Args:
        begins: nothing stands before the text.
    """
    pieces = [(text, begins)] if text else []
    for stage in stages:
        refined: list[tuple[str, bool]] = []
        for piece, is_first in pieces:
            found = _rewritten(stage, piece, is_first)
            refined += [(part, is_first and index == 0) for index, part in enumerate(found)]
        pieces = refined
    return [piece for piece, _ in pieces]


def _rewritten(stage: Mapping[str, Any], piece: str, is_first: bool) -> list[str]:
    match stage:
        case {"type": "byte_level", "prefix_space": prefix_space}:
            return [to_entry((" " + piece if prefix_space and piece[0] != " " else piece).encode("utf-8"))]
        case {"type": "metaspace", "replacement": mark, "prepend": prepend, "split": split}:
            piece = piece.replace(" ", mark)
            if (prepend == "always" or (prepend == "first" and is_first)) and piece[0] != mark:
                piece = mark + piece
            return cut(stretches({"string": mark}, piece), "merged_with_next") if split else [piece]
    return [part for part, is_piece in parts(stage, piece, drops=True) if is_piece]
