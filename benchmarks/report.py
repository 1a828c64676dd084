"""Medians, rows, and where results are kept and shown."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from typing import Any

from benchmarks.corpora import ROOT

RESULTS = ROOT / "benchmarks" / "results"
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


def write(name: str, document: dict[str, Any], text: str) -> None:
    """Keep a result as JSON and as Markdown."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")


def show(name: str, text: str) -> None:
    """Put the tables of a result into README, between the two marks of its name, and a chart if there is one."""
    before, found, rest = README.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, ended, after = rest.partition(f"<!-- end of {name} -->\n")
    if not (found and ended):
        raise SystemExit(f"README has no place for {name}")
    has_chart = (RESULTS / f"{name}.svg").exists()
    chart = f"\n![{name}](benchmarks/results/{name}.svg)\n" if has_chart else ""
    README.write_text(f"{before}{found}{text}\n{chart}{ended}{after}", encoding="utf-8")


def rows(text: str) -> str:
    """Return the rows of the tables in a text."""
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))
