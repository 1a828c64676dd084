"""Keep a literal the caller's when a template cuts it out of the caller's text and puts it back.

``content.split("<|end|>") | join("<|end|>")`` is the text that the caller wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tokenizer_core.template.meter import PIECE, charge, taken_out


def take_out(literal: str, fields: set[int]) -> None:
    """Remember that a literal was cut out of a text of these fields."""
    folded = _folded(literal)
    for field in fields if literal else ():
        charge(PIECE + len(literal))
        taken_out().setdefault(field, set()).add(folded)


def put_back(text: str, fields: set[int]) -> Iterator[tuple[int, int, int]]:
    """Find what was taken out of a caller's text in what a template puts between parts, in whatever case.

    Args:
        fields: those that the parts come from, which are named if none of them held the literal.

    Yields:
        ``(start, end, field)`` of each find, in order and disjoint.
    """
    literals = [(literal, field) for field, literals in taken_out().items() for literal in literals]
    if not literals:
        return
    charge((len(literals) + 2) * len(text) + PIECE * len(literals))
    folded, owners = _folded(text), [0] * len(text)
    for literal, field in literals:
        owner = field if field in fields else min(fields, default=field)
        at = folded.find(literal)
        while at >= 0:
            owners[at : at + len(literal)] = [owner] * len(literal)
            at = folded.find(literal, at + len(literal))
    end = 0
    for owner, group in groupby(owners):
        start, end = end, end + len(list(group))
        if owner:
            yield start, end, owner


def _folded(text: str) -> str:
    """Lower the case of every character that stays one."""
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)
