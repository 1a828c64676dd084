"""The meaning of character classes in one pinned version of Unicode.

The ``regex`` module follows the newest version of Unicode, the kernel a pinned one. So the classes of a pattern are
written out as ranges before it is compiled: ``\\p{N}`` becomes ``[0-9...]``, from the general categories of
``unicodedata2``, whose release number is its Unicode version.
"""

from __future__ import annotations

from functools import cache
from itertools import chain

import regex
import unicodedata2

UNICODE_VERSION: str = unicodedata2.unidata_version

_WHITE_SPACE_CONTROLS = frozenset({0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x85})
_JOIN_CONTROLS = frozenset({0x200C, 0x200D})
# The only alphabetic characters that are neither letters, letter numbers nor marks: circled and squared Latin letters.
_ALPHABETIC_SYMBOLS = frozenset(
    {*range(0x24B6, 0x24EA), *range(0x1F130, 0x1F14A), *range(0x1F150, 0x1F16A), *range(0x1F170, 0x1F18A)}
)

_TOKEN = regex.compile(
    r"\\(?P<letter>[pP])(?:\{(?P<name>\^?\w+)\}|(?P<short>\w))|\\(?P<class>[sSdDwW])|\\.|\[\^?|\]|.", regex.DOTALL
)
_SHORTHANDS = {"s": "White_Space", "d": "Nd", "w": "Word"}


@cache
def categories() -> tuple[str, ...]:
    """Return the general category of every code point."""
    return tuple(unicodedata2.category(chr(code_point)) for code_point in range(0x110000))


@cache
def _points() -> dict[str, list[int]]:
    """Return the code points of every general category."""
    points: dict[str, list[int]] = {}
    for code_point, category in enumerate(categories()):
        points.setdefault(category, []).append(code_point)
    return points


@cache
def members(name: str) -> frozenset[int]:
    """Return the code points of a class: a general category, a group of them, ``White_Space`` or a kind of ``Word``.

    ``Word`` is what ``\\w`` means in a pattern, which is Oniguruma's; Rust's, ``Joined_Word``, has the joiners as well.

    Raises:
        ValueError: there is no such class here.
    """
    if name == "White_Space":
        return members("Z") | _WHITE_SPACE_CONTROLS
    if name == "Word":
        return members("L") | members("Nl") | members("M") | members("Nd") | members("Pc") | _ALPHABETIC_SYMBOLS
    if name == "Joined_Word":
        return members("Word") | _JOIN_CONTROLS
    found = frozenset(
        chain.from_iterable(points for category, points in _points().items() if category.startswith(name))
    )
    if len(name) > 2 or not found:
        raise ValueError(f"unknown character class {name!r}")
    return found


@cache
def ranges(name: str, complement: bool = False) -> str:
    """Write a class as the inside of a bracket expression."""
    inside = members(name)
    points = sorted(inside)
    first = [point for point in points if point - 1 not in inside]
    last = [point for point in points if point + 1 not in inside]
    if complement:
        first, last = [0, *(point + 1 for point in last)], [*(point - 1 for point in first), 0x10FFFF]
    return "".join(f"\\U{start:08X}-\\U{end:08X}" for start, end in zip(first, last, strict=True) if start <= end)


def expand(pattern: str) -> str:
    """Write out every class of a pattern as ranges; the rest stays as it is.

    Raises:
        ValueError: a class that is not known here.
    """
    text = []
    in_brackets = False
    for token in _TOKEN.finditer(pattern):
        letter = token["letter"] or token["class"]
        if letter:
            name = token["name"] or token["short"] or _SHORTHANDS[letter.lower()]
            complement = letter.isupper() is not name.startswith("^")
            inside = ranges(name.removeprefix("^"), complement)
            text.append(inside if in_brackets else f"[{inside}]")
            continue
        if token[0].startswith("["):
            in_brackets = True
        elif token[0] == "]":
            in_brackets = False
        text.append(token[0])
    return "".join(text)
