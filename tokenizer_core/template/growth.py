"""Charge a template's operation for its result before it is made, with and without origins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import Any

from tokenizer_core.template.meter import OBJECT, PIECE, charge, size_of, weight_of

_LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_SPACES = "".join(character for character in map(chr, range(0x3001)) if character.isspace())

_KEPT_TWICE = 2
"""Lines are cut with their breaks, and once more to know how long each is without."""

_ITEM = {
    "batch": 8,
    "dictsort": PIECE,
    "groupby": 2 * PIECE,
    "items": 1,
    "list": OBJECT,
    "map": 1,
    "max": 8,
    "min": 8,
    "reject": 1,
    "rejectattr": 1,
    "reverse": OBJECT,
    "select": 1,
    "selectattr": 1,
    "slice": 8,
    "sort": PIECE,
    "sum": 1,
    "unique": 2 * PIECE,
}
"""Units for each item that a filter goes over: what it keeps of it until it is done."""

_CHARACTER = {"title": OBJECT, "wordcount": OBJECT, "e": 6, "escape": 6, "forceescape": 6}
"""Units for each character that a filter takes apart, or writes as several."""

_EXTENTS = ("batch", "slice", "round")


def ticking(items: Iterable[Any], units: int) -> Iterator[Any]:
    """Yield the items, each charged before."""
    for item in items:
        charge(units)
        yield item


def parts_of(separator: str, parts: Iterable[Any]) -> Iterator[Any]:
    """Yield what a separator joins, each charged before: joining allocates for all of them at once."""
    for part in parts:
        charge(len(separator) + (len(part) if isinstance(part, str) else 0) + OBJECT)
        yield part


def charge_method(text: str, name: str, *args: Any) -> None:
    """Charge for a method of a string that may make more than the string and its arguments hold."""
    if name in ("center", "ljust", "rjust", "zfill"):
        charge(_extent(args, 0))
    elif name == "expandtabs":
        charge(len(text) + text.count("\t") * _extent(args, 0, 8))
    elif name == "replace" and len(args) > 1 and isinstance(args[0], str) and isinstance(args[1], str):
        old, new, limit = args[0], args[1], args[2:]
        times = text.count(old)
        if limit and isinstance(limit[0], int) and limit[0] >= 0:
            times = min(times, limit[0])
        charge(len(text) + times * (len(new) + (PIECE if old else 2 * PIECE)))
    elif name in ("split", "rsplit"):
        separator = args[0] if args else None
        pieces = text.count(separator) + 1 if isinstance(separator, str) else _pieces(text, _SPACES)
        limit = args[1:]
        if limit and isinstance(limit[0], int) and limit[0] >= 0:
            pieces = min(pieces, limit[0] + 1)
        charge(len(text) + pieces * PIECE)
    elif name == "splitlines":
        charge(_KEPT_TWICE * (len(text) + _pieces(text, _LINE_BREAKS) * PIECE))


def charge_indent(text: str, width: int | str) -> None:
    """Charge for the margins of all lines."""
    margin = len(width) if isinstance(width, str) else max(width, 0)
    charge(margin + len(text) + _pieces(text, _LINE_BREAKS) * (margin + 1))


def charge_filter(name: str, value: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Charge for a filter that goes over its value or takes it apart, and return what is to be given to it instead."""
    charge(OBJECT + size_of(args))
    if name in _EXTENTS:
        # Columns to fill and digits to round to: the work grows with them, or with their square.
        charge(sum(extent * extent for extent in (*args, *kwargs.values()) if isinstance(extent, int)))
    if name in _CHARACTER:
        charge(_CHARACTER[name] * weight_of(value))
    if name in _ITEM:
        if isinstance(value, Sized):
            charge(_ITEM[name] * len(value))
        elif isinstance(value, Iterator):
            return ticking(value, _ITEM[name])
    return value


def charge_product(left: Any, right: Any) -> None:
    """Charge for a string or a list as often as a number says."""
    for value, times in ((left, right), (right, left)):
        if isinstance(value, (str, list, tuple)) and isinstance(times, int):
            charge(max(times, 0) * (len(value) * (1 if isinstance(value, str) else 2) + 2) + OBJECT)


def _extent(args: tuple[Any, ...], at: int, default: int = 0) -> int:
    given = args[at] if len(args) > at else default
    return max(given, 0) if isinstance(given, int) else 0


def _pieces(text: str, separators: str) -> int:
    """Return how many pieces these characters can cut a text into, at the most."""
    if text.isascii():
        separators = "".join(filter(str.isascii, separators))
    return 1 + sum(map(text.count, separators))
