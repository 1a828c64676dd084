"""Charts as SVG: lines over a logarithmic or plain scale, and bars. The output does not depend on fonts or time."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 84, 32, 52, 56
BAR, GAP = 22, 10
LABEL = 220
FONT = 13
BROAD, NARROW = "mMwW@%…—", "Ifijlrt .,:;/|!()[]-"

ROW = 24
VALUE = 150
COLOURS = ("#2563a8", "#c2571a", "#2f855a", "#8b3fa0", "#8a6d1d", "#a32c4f")
OTHER = "#9aa5b1"

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from data to a length, with the values that are worth a line."""

    label: str
    lowest: float
    highest: float
    logarithmic: bool = False

    @classmethod
    def over(cls, label: str, values: Sequence[float], *, logarithmic: bool = False) -> Axis:
        """Take in all values and end at round ones; a logarithmic scale leaves out what is not above 0."""
        taken = [value for value in values if value > 0] if logarithmic else [0.0, *values]
        lowest, highest = min(taken, default=0.0), max(taken, default=1.0)
        if logarithmic:
            lowest, highest = 10 ** math.floor(math.log10(lowest or 1)), 10 ** math.ceil(math.log10(highest or 1))
            highest = max(highest, lowest * 10)
        highest = highest if highest > lowest else lowest + 1
        if not logarithmic:
            step = _step(lowest, highest)
            lowest, highest = step * math.floor(lowest / step), step * math.ceil(highest / step)
        return cls(label, lowest, highest, logarithmic)

    def share(self, value: float) -> float:
        """Return the position of a value on the scale, 0 to 1."""
        if not self.logarithmic:
            return (value - self.lowest) / (self.highest - self.lowest)
        low, high = math.log10(self.lowest), math.log10(self.highest)
        return (math.log10(max(value, self.lowest)) - low) / (high - low)

    def ticks(self) -> list[float]:
        """Return round values, at most eleven."""
        if self.logarithmic:
            powers = range(round(math.log10(self.lowest)), round(math.log10(self.highest)) + 1)
            return [10.0**power for power in powers[:: max(1, math.ceil(len(powers) / 10))]]
        step = _step(self.lowest, self.highest)
        first = math.ceil(self.lowest / step)
        return [step * index for index in range(first, math.floor(self.highest / step) + 1)]


def _step(lowest: float, highest: float) -> float:
    """Return the round distance of some six values."""
    rough = (highest - lowest) / 6
    unit = 10.0 ** math.floor(math.log10(rough))
    return min((unit * factor for factor in (1, 2, 5, 10)), key=lambda step: abs(step - rough))


def number(value: float) -> str:
    """Write a number shortly: 1,500 and 2.5 M."""
    for unit, sign in ((1e9, " G"), (1e6, " M")):
        if abs(value) >= unit:
            return f"{value / unit:g}{sign}"
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


def lines(title: str, x: Axis, y: Axis, series: Mapping[str, Sequence[Point]]) -> str:
    """Draw one line for each series."""
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(point: Point) -> str:
        return f"{LEFT + across * x.share(point[0]):.1f},{HEIGHT - BOTTOM - up * y.share(point[1]):.1f}"

    parts = [_text(WIDTH / 2, 24, title, anchor="middle", bold=True)]
    for value in y.ticks():
        at = HEIGHT - BOTTOM - up * y.share(value)
        parts.append(_line(LEFT, at, WIDTH - RIGHT, at))
        parts.append(_text(LEFT - 8, at + 4, number(value), anchor="end"))
    for value in x.ticks():
        at = LEFT + across * x.share(value)
        parts.append(_line(at, TOP, at, HEIGHT - BOTTOM))
        parts.append(_text(at, HEIGHT - BOTTOM + 18, number(value), anchor="middle"))
    parts.append(_text(LEFT + across / 2, HEIGHT - 14, x.label, anchor="middle"))
    parts.append(_text(LEFT - 8, TOP - 12, y.label, anchor="start"))
    for index, (name, points) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        path = " ".join(map(place, points))
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        if len(points) == 1:
            x_at, y_at = map(float, path.split(","))
            parts.append(_mark(x_at, y_at, index))
        if len(series) > 1:
            parts.append(_text(WIDTH - RIGHT - 8, TOP + 16 + 18 * index, name, anchor="end", colour=colour))
    return _document(WIDTH, HEIGHT, parts)


def bars(title: str, values: Mapping[str, float], unit: str, *, logarithmic: bool = False) -> str:
    """Draw one bar for each value, with the value behind it."""
    scale = Axis.over(unit, list(values.values()), logarithmic=logarithmic)
    parts = [_text(WIDTH / 2, 24, title, anchor="middle", bold=True)]
    for index, (name, value) in enumerate(values.items()):
        parts += _bar(TOP + index * (BAR + GAP), name, value, scale, COLOURS[0])
    return _document(WIDTH, TOP + len(values) * (BAR + GAP) + 16, parts)


def groups(title: str, values: Mapping[str, Mapping[str, float]], unit: str) -> str:
    """Draw bars under a heading for each group, on one scale; the first bar of each stands out."""
    scale = Axis.over(unit, [value for group in values.values() for value in group.values()])
    parts = [_text(WIDTH / 2, 24, title, anchor="middle", bold=True)]
    top = TOP
    for heading, group in values.items():
        parts.append(_text(LABEL, top + BAR - 6, heading, anchor="start", bold=True))
        for index, (name, value) in enumerate(group.items()):
            top += BAR + (GAP if index == 0 else 2)
            parts += _bar(top, name, value, scale, OTHER if index else COLOURS[0])
        top += BAR + GAP
    return _document(WIDTH, top + 16, parts)


def dots(title: str, values: Mapping[str, Mapping[str, float | None]], unit: str) -> str:
    """Draw a row for each name with a dot for each series, which are told apart by colour and then by form."""
    series = list(dict.fromkeys(name for row in values.values() for name in row))
    scale = Axis.over(unit, [value for row in values.values() for value in row.values() if value is not None])
    top, across = TOP + ROW * len(series), WIDTH - LABEL - RIGHT
    bottom = top + ROW * len(values)
    parts = [_text(WIDTH / 2, 24, title, anchor="middle", bold=True)]
    for index, name in enumerate(series):
        parts.append(_mark(LABEL + 6, TOP + ROW * index - 4, index))
        parts.append(_text(LABEL + 18, TOP + ROW * index, name, anchor="start"))
    for value in scale.ticks():
        at = LABEL + across * scale.share(value)
        parts.append(_line(at, top - ROW / 2, at, bottom))
        parts.append(_text(at, bottom + 18, number(value), anchor="middle"))
    parts.append(_text(LABEL + across / 2, bottom + 38, scale.label, anchor="middle"))
    for row, (name, costs) in enumerate(values.items()):
        middle = top + ROW * row + ROW / 2
        placed = [
            (LABEL + across * scale.share(value), series.index(each))
            for each, value in costs.items()
            if value is not None
        ]
        parts.append(_text(LABEL - 12, middle + 4, fitted(name, LABEL - 12), anchor="end"))
        if placed:
            parts.append(_line(min(placed)[0], middle, max(placed)[0], middle))
        # The first is drawn last: where dots lie on each other, it is the one that the others are compared with.
        parts += [_mark(at, middle, index) for at, index in reversed(placed)]
    return _document(WIDTH, bottom + 52, parts)


def width(text: str) -> float:
    """Return a length that a text does not exceed in the usual fonts without serifs, of which DejaVu is the widest."""
    return FONT * sum(map(_em, text))


def fitted(text: str, room: float) -> str:
    """Return the text, cut so that it fits."""
    if width(text) <= room:
        return text
    while text and width(f"{text}…") > room:
        text = text[:-1]
    return f"{text}…"


def _em(character: str) -> float:
    if is_mark(character):
        return 0.0
    if is_wide(character) or character in BROAD:
        return 1.05
    if character in NARROW:
        return 0.45
    return 0.8 if character.isupper() else 0.65


def is_wide(character: str) -> bool:
    """Tell whether a character is as wide as two others: ideographs, kana, Hangul, most emoji."""
    return unicodedata.east_asian_width(character) in "WF"


def is_mark(character: str) -> bool:
    """Tell whether a character takes no room of its own."""
    return unicodedata.category(character) in ("Mn", "Me", "Cf")


def _mark(x: float, y: float, index: int) -> str:
    colour, form = COLOURS[index % len(COLOURS)], index // len(COLOURS) % 3
    if form == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if form == 2 else ""
    return f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9" fill="{colour}"{turn}/>'


def _bar(top: float, name: str, value: float, scale: Axis, colour: str) -> list[str]:
    length = max(1.0, (WIDTH - LABEL - VALUE) * scale.share(value))
    return [
        _text(LABEL - 10, top + BAR - 6, fitted(name, LABEL - 10), anchor="end"),
        f'<rect x="{LABEL}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{colour}"/>',
        _text(LABEL + length + 8, top + BAR - 6, f"{number(value)} {scale.label}".strip(), anchor="start"),
    ]


def _document(width: int, height: int, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' font-family="sans-serif" font-size="{FONT}">'
    )
    return "\n".join([head, '<rect width="100%" height="100%" fill="#ffffff"/>', *parts, "</svg>", ""])


def _text(x: float, y: float, text: str, *, anchor: str, bold: bool = False, colour: str = "#333333") -> str:
    weight = ' font-weight="bold"' if bold else ""
    shown = escape("".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text), quote=False)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{weight}>{shown}</text>'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="#dddddd"/>'
