"""Medians, rows, and where results are kept and shown."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks import machine
from benchmarks.process import ROOT

KIND = machine.kind()
RESULTS = ROOT / "benchmarks" / "results" / KIND
"""Machines with other instructions have results of their own."""
README = ROOT / "README.md"
OURS = "tokd"


def summary(seconds: list[float], size: int, calls: int) -> dict[str, Any]:
    """Return the median speed in MB/s and that of each round in turn; of many calls also what one takes."""
    speeds = [size / one / 1e6 for one in seconds]
    found = {"mb_per_second": statistics.median(speeds), "rounds": speeds}
    return found if calls == 1 else {**found, "microseconds": statistics.median(seconds) / calls * 1e6}


def row(cells: Iterable[str]) -> str:
    """Write one row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Write a Markdown table."""
    return [row(head), row(["---"] * len(head)), *map(row, rows)]


def page(*blocks: str | list[str]) -> str:
    """Write paragraphs, and tables as their lines."""
    return "\n\n".join(block if isinstance(block, str) else "\n".join(block) for block in blocks)


def on(document: dict[str, Any]) -> str:
    """Name the machine of a result."""
    return "{cores} cores of {cpu}, Python {python}".format(**document["machine"])


Draw = Callable[[dict[str, Any]], str]


def tell(name: str, table: Draw, *, short: bool, draw: Draw | None = None, **measured: Any) -> dict[str, Any]:
    """Print a result of this machine, and keep it if it is of the whole benchmark; return it."""
    document = {"machine": machine.describe(), **measured}
    text = table(document)
    if not short:
        write(name, document, text, draw and draw(document))
    print(text)
    return document


def write(name: str, document: dict[str, Any], text: str, drawn: str | None = None) -> None:
    """Keep a result as JSON and as Markdown, and its chart if there is one."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")
    if drawn is not None:
        (RESULTS / f"{name}.svg").write_text(drawn, encoding="utf-8")


def show(name: str, text: str) -> None:
    """Put a table into README, between the marks of its name and this kind of machine, if README has them."""
    mark = f"{name} {KIND}"
    before, found, rest = README.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    if not found:
        return
    _, ended, after = rest.partition(f"<!-- end of {mark} -->\n")
    if not ended:
        raise SystemExit(f"README has no end of {mark}")
    README.write_text(f"{before}{found}{text}\n{ended}{after}", encoding="utf-8")
