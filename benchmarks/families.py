"""``python -m benchmarks families``: tokenizers that are not byte-level BPE, line by line on one core.

Every library opens the same file and encodes the same lines, a call a line, and all lines in one call where it has one.
Ids are proven equal first; a library with other ids gets no speed.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

from benchmarks import peers, process, report
from benchmarks.corpora import LANGUAGES, data_dir
from benchmarks.family_worker import FAMILIES

TEXTS = ("english", "ja", "ru")
ROUNDS, SHORT_ROUNDS = 5, 2
REGIMES = {"cold": "first pass", "warm": "again", "one call": "one call"}
"""What is measured, and its name in the table."""

Rounds = dict[str, list[dict[str, Any]]]
"""By library: the answers of its processes."""


def judge(truth: str, rounds: Rounds) -> dict[str, dict[str, Any]]:
    """Turn rounds into medians; a library whose ids are not those of ``truth`` gets no speed."""
    expected = {one["proof"] for one in rounds[truth]}
    judged: dict[str, dict[str, Any]] = {}
    for name, answers in rounds.items():
        if {one["proof"] for one in answers} != expected or len(expected) != 1:
            judged[name] = {"unequal": True}
            continue
        regimes = {regime for one in answers for regime in one["seconds"]}
        judged[name] = {
            regime: statistics.median(one["bytes"] / one["seconds"][regime] / 1e6 for one in answers)
            for regime in REGIMES
            if regime in regimes
        }
    return judged


def measure(family: str, text: str, count: int, failures: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Measure all libraries that open a family on one text, in turn."""
    rounds: Rounds = {}
    for _ in range(count):
        for name in FAMILIES[family].libraries:
            key = f"{name}, {family}"
            if key in failures:
                continue
            path, lines = data_dir() / FAMILIES[family].file, data_dir() / "corpora" / f"{text}.txt"
            try:
                answer = process.ask("family_worker", name, path, lines, python=peers.PYTHON)
                rounds.setdefault(name, []).append(answer)
            except process.Failed as why:
                failures[key] = str(why)
    truth = FAMILIES[family].truth
    if truth not in rounds:
        raise SystemExit(f"{truth} failed, and without it nothing is proven: {failures[f'{truth}, {family}']}")
    return judge(truth, rounds)


def ratio(cells: dict[str, dict[str, Any]], regime: str) -> float | None:
    """Divide our speed by that of the best peer in the same regime; a peer without the regime counts by its calls."""
    ours = cells.get(report.OURS, {}).get(regime)
    peers_of = [cell for name, cell in cells.items() if name != report.OURS and not cell.get("unequal")]
    others: list[float] = [cell[regime] if regime in cell else cell["warm"] for cell in peers_of]
    return ours / max(others) if ours and others else None


def table(family: str, by_text: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Write the table of one family: MB/s, and how many times the best peer we are."""
    heads = [f"{LANGUAGES[text]}, {name}" for text in by_text for name in REGIMES.values()]
    rows = []
    for name in FAMILIES[family].libraries:
        cells = [by_text[text].get(name, {}) for text in by_text]
        shown = [
            "other ids" if cell.get("unequal") else f"{cell[regime]:.1f}" if regime in cell else ""
            for cell in cells
            for regime in REGIMES
        ]
        rows.append([name, *shown])
    ratios = [ratio(cells, regime) for cells in by_text.values() for regime in REGIMES]
    rows.append(["tokd / best peer", *("" if one is None else f"{one:.1f}" for one in ratios)])
    return report.page(f"## {family}", report.table(["MB/s", *heads], rows))


def tables(document: dict[str, Any]) -> str:
    """Write the tables of all families, and who is left out."""
    written = [table(family, by_text) for family, by_text in document["results"].items()]
    return "\n\n".join(written) + "".join(f"\n{name} is left out: {why}" for name, why in document["failures"].items())


def main(*, short: bool) -> int:
    """Measure, write results and print the tables; fail if tokd itself is unequal."""
    peers.prepare()
    texts = TEXTS[:1] if short else TEXTS
    failures: dict[str, str] = {}
    results: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for family in FAMILIES:
        results[family] = {}
        for text in texts:
            print(f"measuring {family} on {LANGUAGES[text]}", file=sys.stderr)
            results[family][text] = measure(family, text, SHORT_ROUNDS if short else ROUNDS, failures)
    report.tell("families", tables, short=short, results=results, failures=failures)
    ours = [by_text.get(report.OURS, {}) for texts in results.values() for by_text in texts.values()]
    return int(any(not cell or cell.get("unequal") for cell in ours))
