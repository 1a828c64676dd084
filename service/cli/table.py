"""Tables of text: columns that stay in line in every script, and that fold where a terminal is narrow."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from service.reports.chart import is_mark, is_wide

GAP = "  "


def columns(text: str) -> int:
    """Return the columns of a terminal that a text takes: two for an ideograph, none for a combining mark."""
    return sum(_columns_of(character) for character in text)


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: the first column to the left, the others to the right."""
    widths = _widths(table)
    lines = []
    for name, *cells in table:
        padded = [" " * (width - columns(cell)) + cell for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append(GAP.join([name + " " * (widths[0] - columns(name)), *padded]).rstrip())
    return lines


def folded(table: Sequence[Sequence[str]], room: int | None) -> list[str]:
    """Return the lines of a table; one wider than ``room`` becomes several, each with the first column."""
    widths = _widths(table)
    groups: list[list[int]] = [[]]
    for at, width in enumerate(widths[1:], 1):
        taken = widths[0] + sum(len(GAP) + widths[one] for one in groups[-1])
        if groups[-1] and room is not None and taken + len(GAP) + width > room:
            groups.append([])
        groups[-1].append(at)
    lines: list[str] = []
    for group in groups:
        lines += [*([""] if lines else []), *aligned([[row[0], *(row[at] for at in group)] for row in table])]
    return lines


def terminal_room() -> int | None:
    """Return the columns of the terminal that standard output is; ``None`` if it is none."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(columns, column)) for column in zip(*table, strict=True)]


def _columns_of(character: str) -> int:
    return 0 if is_mark(character) else 2 if is_wide(character) else 1
