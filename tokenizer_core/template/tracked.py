"""Text that knows the characters that a caller wrote.

A ``Tracked`` is a string with *runs*: ``(end, code)`` for each stretch of one origin. Code 0 is the template; other
codes are twice the number of a field, plus one inside a ``{% generation %}`` block. A result that cannot be followed
character by character is the caller's as a whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from operator import index
from typing import Any, SupportsIndex

from jinja2 import Undefined

from tokenizer_core.errors import TemplateUntrackable
from tokenizer_core.template.growth import charge_method, parts_of
from tokenizer_core.template.meter import OBJECT, PIECE, charge
from tokenizer_core.template.taken import put_back, take_out

Runs = tuple[tuple[int, int], ...]

_CONTAINERS = (list, tuple, set, range, KeysView, ValuesView, ItemsView)

TEMPLATE = 0
GENERATED = 1


def untracked(value: Any) -> TemplateUntrackable:
    """Return the error for a value of a type of which nobody knows whether a caller's text is in it."""
    return TemplateUntrackable(f"the chat template writes a {type(value).__name__} as text, which is not tracked")


def runs_of(text: str) -> Runs:
    """Return the runs of a string; Python's own, without runs, is the template's.

    Raises:
        TemplateUntrackable: the string is of another type, such as ``Markup``, which knows no origins.
    """
    if isinstance(text, Tracked):
        return text._runs
    if type(text) is not str:
        raise untracked(text)
    return ((len(text), TEMPLATE),) if text else ()


def bare(text: str) -> str:
    """Return the characters without their origins, which ``str`` itself would keep."""
    return "".join((text,))


def make(text: str, runs: Runs) -> str:
    """Join a text and its runs; what is all of the template stays a plain string."""
    if not runs or (len(runs) == 1 and runs[0][1] == TEMPLATE):
        return bare(text)
    marked = str.__new__(Tracked, text)
    marked._runs = runs
    return marked


def written(text: str, code: int) -> str:
    """Return ``text`` as wholly of one origin."""
    return make(text, ((len(text), code),) if text else ())


def code_of(value: Any) -> int:
    """Return the code of the first character or number of a caller in ``value``, or that of the template.

    Raises:
        TemplateUntrackable: it is, or holds, what may hide a caller's text, such as a namespace.
    """
    if isinstance(value, Tracked):
        return next((code for _, code in value._runs if code > GENERATED), TEMPLATE)
    if isinstance(value, (int, float)):
        # Numbers of the caller have a type of their own, which is made of this module.
        code: int = getattr(value, "_code", TEMPLATE)
        return code
    if isinstance(value, dict):
        return next((code for item in value.items() if (code := code_of(item))), TEMPLATE)
    if isinstance(value, _CONTAINERS):
        return next((code for item in value if (code := code_of(item))), TEMPLATE)
    if value is None or type(value) is str or isinstance(value, Undefined):
        return TEMPLATE
    raise untracked(value)


def concat(parts: Iterable[str]) -> str:
    """Join strings with their runs."""
    parts = parts if isinstance(parts, (list, tuple)) else list(parts)
    charge(sum(map(len, parts)) + 2 * len(parts) + OBJECT)
    text = "".join(parts)
    runs: list[tuple[int, int]] = []
    end, last = 0, -1
    for part in parts:
        if not isinstance(part, Tracked):
            if type(part) is not str:
                raise untracked(part)
            if part:
                end += len(part)
                if last == TEMPLATE:
                    runs[-1] = (end, TEMPLATE)
                else:
                    runs.append((end, TEMPLATE))
                    last = TEMPLATE
            continue
        for stop, code in part._runs:
            if code == last:
                runs[-1] = (end + stop, code)
            else:
                runs.append((end + stop, code))
                last = code
        end += len(part)
    return make(text, tuple(runs))


def cut(text: str, start: int, end: int) -> str:
    """Return ``text[start:end]`` for places inside the text."""
    charge(max(end - start, 0) + OBJECT)
    part = str.__getitem__(text, slice(start, end))
    if not isinstance(text, Tracked) or not part:
        return part
    runs = text._runs
    first = bisect_right(runs, start, key=lambda run: run[0])
    cropped = []
    for stop, code in runs[first:]:
        if stop >= end:
            cropped.append((end - start, code))
            break
        cropped.append((stop - start, code))
    return make(part, tuple(cropped))


def _fields(parts: Iterable[str]) -> set[int]:
    """Return the numbers of the caller's fields that characters of these strings come from."""
    runs = (run for part in parts if isinstance(part, Tracked) for run in part._runs)
    return {code >> 1 for _, code in runs if code > GENERATED}


def _returned(text: str, parts: list[str]) -> str:
    """Give the caller back, in what a template puts between or into parts, what it took out of the caller's text."""
    pieces, end = [], 0
    for start, stop, field in put_back(text, _fields(parts)):
        pieces += [cut(text, end, start), written(bare(cut(text, start, stop)), 2 * field)]
        end = stop
    return concat([*pieces, cut(text, end, len(text))])


def generated(text: str) -> str:
    """Mark everything in ``text`` as the model's turn."""
    return make(text, tuple((end, code | GENERATED) for end, code in runs_of(text)))


def _mapped(name: str) -> Callable[[Tracked], str]:
    method: Callable[[str], str] = getattr(str, name)

    def mapped(self: Tracked) -> str:
        # One character may become three.
        charge(len(self) * (1 if self.isascii() else 3) + OBJECT)
        text = method(self)
        if len(text) == len(self):
            return make(text, self._runs)
        runs: list[tuple[int, int]] = []
        start = end = 0
        before = ""
        for stop, code in self._runs:
            # What becomes of a character depends on the one before it: "ß" is two behind a space in a title.
            part = str.__getitem__(self, slice(start, stop))
            end += len(method(before + part)) - len(method(before))
            runs.append((end, code))
            start, before = stop, part[-1:]
        return make(text, tuple(runs)) if end == len(text) else written(text, code_of(self))

    # The sandbox knows methods by their names.
    mapped.__name__ = mapped.__qualname__ = name
    return mapped


def _padded(name: str) -> Callable[..., str]:
    method: Callable[..., str] = getattr(str, name)

    def padded(self: Tracked, width: SupportsIndex, fill: str = " ") -> str:
        charge_method(self, name, width)
        text = method(self, width, fill)
        padding = len(text) - len(self)
        left = {"ljust": 0, "rjust": padding, "center": padding // 2 + (padding & int(width) & 1)}[name]
        return concat([fill * left, self, fill * (padding - left)])

    padded.__name__ = padded.__qualname__ = name
    return padded


class Tracked(str):
    """A string and the origin of each of its characters; its methods are those of ``str`` and keep the origins."""

    __slots__ = ("_runs",)
    _runs: Runs

    def __new__(cls, text: str) -> Tracked:
        marked = super().__new__(cls, text)
        marked._runs = runs_of(text)
        return marked

    def __str__(self) -> str:
        return self

    def __repr__(self) -> str:
        return written(super().__repr__(), code_of(self))

    def __add__(self, other: object) -> str:
        return concat([self, other]) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: object) -> str:
        return concat([other, self]) if isinstance(other, str) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> str:
        return concat([self] * times.__index__())

    __rmul__ = __mul__

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        if isinstance(key, slice):
            start, end, step = map(int, key.indices(len(self)))
            if step == 1:
                return cut(self, start, max(start, end))
            charge(2 * len(self) + PIECE * len(range(start, end, step)))
            text, codes = super().__getitem__(key), self._codes()[key]
            return concat([written(character, code) for character, code in zip(text, codes, strict=True)])
        at = int(index(key))
        at += len(self) if at < 0 else 0
        if not 0 <= at < len(self):
            raise IndexError("string index out of range")
        return cut(self, at, at + 1)

    def __iter__(self) -> Iterator[str]:
        start = 0
        for end, code in self._runs:
            runs = ((1, code),)
            for character in super().__getitem__(slice(start, end)):
                yield make(character, runs)
            start = end

    def _codes(self) -> list[int]:
        codes: list[int] = []
        for end, code in self._runs:
            codes.extend([code] * (end - len(codes)))
        return codes

    def _cuts(self, parts: list[str], gap: int) -> list[str]:
        """Find parts that follow one another with ``gap`` characters between."""
        cuts, at = [], 0
        for part in parts:
            cuts.append(cut(self, at, at + len(part)))
            at += len(part) + gap
        return cuts

    def _pieces(self, parts: list[str], sep: str | None) -> list[str]:
        """Find the parts that ``split`` made, and remember what stood between."""
        if sep is not None:
            if len(parts) > 1:
                take_out(sep, _fields([self]))
            return self._cuts(parts, len(sep))
        cuts, at = [], 0
        for part in parts:
            at = super().find(part, at)
            cuts.append(cut(self, at, at + len(part)))
            at += len(part)
        return cuts

    def strip(self, chars: str | None = None, /) -> str:
        start = len(self) - len(super().lstrip(chars))
        return cut(self, start, start + len(super().strip(chars)))

    def lstrip(self, chars: str | None = None, /) -> str:
        return cut(self, len(self) - len(super().lstrip(chars)), len(self))

    def rstrip(self, chars: str | None = None, /) -> str:
        return cut(self, 0, len(super().rstrip(chars)))

    def removeprefix(self, prefix: str, /) -> str:
        return cut(self, len(self) - len(super().removeprefix(prefix)), len(self))

    def removesuffix(self, suffix: str, /) -> str:
        return cut(self, 0, len(super().removesuffix(suffix)))

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        charge_method(self, "split", sep, maxsplit)
        return self._pieces(super().split(sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        charge_method(self, "rsplit", sep, maxsplit)
        return self._pieces(super().rsplit(sep, maxsplit), sep)

    def splitlines(self, keepends: bool = False) -> list[str]:
        charge_method(self, "splitlines")
        lines = self._cuts(super().splitlines(True), 0)
        if keepends:
            return lines
        ends = [len(line) for line in super().splitlines()]
        for line_break in {str.__getitem__(line, slice(end, None)) for line, end in zip(lines, ends, strict=True)}:
            take_out(line_break, _fields([self]))
        return [cut(line, 0, end) for line, end in zip(lines, ends, strict=True)]

    def partition(self, sep: str, /) -> tuple[str, str, str]:
        before, found, behind = self._cuts(list(super().partition(sep)), 0)
        return before, found, behind

    def rpartition(self, sep: str, /) -> tuple[str, str, str]:
        before, found, behind = self._cuts(list(super().rpartition(sep)), 0)
        return before, found, behind

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
        limit = count.__index__()
        times = super().count(old) if limit < 0 else min(super().count(old), limit)
        charge_method(self, "replace", old, new, limit)
        if times == 0:
            return self
        if old:
            parts: list[str] = Tracked.split(self, old, times)
            return Tracked(new).join(parts)
        characters, new = list(self), _returned(new, [self])
        joined = [piece for character in characters[:times] for piece in (new, character)]
        return concat([*joined, *characters[times:], *([new] if times > len(characters) else [])])

    def join(self, parts: Iterable[str], /) -> str:
        items: list[str] = []
        for at, part in enumerate(parts_of(self, parts)):
            if not isinstance(part, str):
                raise TypeError(f"sequence item {at}: expected str instance, {type(part).__name__} found")
            items.append(part)
        between = _returned(self, items)
        return concat([piece for item in items for piece in (between, item)][1:])

    def zfill(self, width: SupportsIndex, /) -> str:
        charge_method(self, "zfill", width)
        return written(super().zfill(width), code_of(self))

    def expandtabs(self, tabsize: SupportsIndex = 8) -> str:
        charge_method(self, "expandtabs", tabsize)
        return written(super().expandtabs(tabsize), code_of(self))

    ljust = _padded("ljust")
    rjust = _padded("rjust")
    center = _padded("center")
    upper = _mapped("upper")
    lower = _mapped("lower")
    title = _mapped("title")
    capitalize = _mapped("capitalize")
    swapcase = _mapped("swapcase")
    casefold = _mapped("casefold")


def tracked(text: str) -> Tracked:
    """Return the text with the methods that keep origins."""
    return text if isinstance(text, Tracked) else Tracked(text)


def text_of(value: Any) -> str:
    """Return ``str(value)`` with its origins: a container of the caller's values is theirs as a whole."""
    if isinstance(value, str):
        return value
    code = code_of(value)
    return written(str(value), code)
