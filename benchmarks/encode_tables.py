"""The tables, the one sentence and the chart of ``benchmarks.encode``."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks import report
from benchmarks.openers import CONTENDERS, OPENINGS
from benchmarks.report import OURS
from service.reports import chart

SMALL = ("small 200", "small 1,000", "small 8,000")
GROUPS = (("cold", "warm"), SMALL, ("batch", "count"), ("decode", "decode to bytes", "offsets"))
REGIMES = tuple(regime for group in GROUPS for regime in group)
OPENING = ("start-up", "memory opened", "memory after 2 MB")
"""The figures of opening that are cells; start-up ends with the first ids, to which some put off what others do."""
GOAL = 1.5
PORTABLE = f"{OURS}, portable"
PLAIN, PLAIN_GOAL = ("tiktoken", "tokenizers"), 10
"""What most callers use today, and how many times as fast the portable path means to be."""
ENCODING = ("cold", "warm", *SMALL, "batch", "count")
README_VOCABULARY = "cl100k_base"
README_ROWS = ("cold", "small 1,000", "batch", "count", "decode")
CHARTED = ("cold", "warm", "small 1,000")

ByName = dict[str, dict[str, Any]]
Timed = tuple[str, str]
"""A contender and a regime."""


class Ratio(NamedTuple):
    """One cell: tokd over the best peer, which is 2 where tokd is twice as fast or takes half of the memory."""

    regime: str
    place: str
    value: float
    peer: str


def shown(cell: dict[str, Any] | None) -> str:
    """Write one cell."""
    if cell is None:
        return "-"
    return "unequal" if cell.get("unequal") else figure(cell["mb_per_second"])


def figure(value: float) -> str:
    """Write a number with two or three digits that count."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def times(by_name: ByName, ours: Timed, theirs: Timed) -> float | None:
    """Return how many times as fast one is as the other: the median over the rounds that both took part in.

    A machine that changes its speed between rounds changes both.
    """
    rounds = [by_name.get(name, {}).get(regime, {}).get("rounds", ()) for name, regime in (ours, theirs)]
    return statistics.median(one / other for one, other in zip(*rounds, strict=False)) if all(rounds) else None


def ratio(by_name: ByName, regime: str, place: str = "") -> Ratio | None:
    """Return how many times as fast tokd is as its best peer, where both have a speed."""
    peers = (name for name in by_name if not name.startswith(OURS))
    found = ((times(by_name, (OURS, regime), (name, regime)), name) for name in peers)
    least = min(((value, name) for value, name in found if value is not None), default=None)
    return None if least is None else Ratio(regime, place, *least)


def opening_ratio(figures: dict[str, dict[str, float]], regime: str, place: str = "") -> Ratio | None:
    """Return the best peer's time or memory over tokd's, which opens the same file."""
    peers = [(one[regime], name) for name, one in figures.items() if not name.startswith(OURS)]
    if OURS not in figures or not peers:
        return None
    least, name = min(peers)
    return Ratio(regime, place, least / figures[OURS][regime], name)


def ratios(document: dict[str, Any]) -> Iterator[Ratio]:
    """List the cells of all vocabularies, texts and regimes."""
    for vocabulary, by_text in document["results"].items():
        for text, by_name in by_text.items():
            found = (ratio(by_name, regime, f"{vocabulary}, {text}") for regime in REGIMES)
            yield from (one for one in found if one is not None)
        found = (opening_ratio(document["opening"][vocabulary], regime, vocabulary) for regime in OPENING)
        yield from (one for one in found if one is not None)


def sentence(cells: list[Ratio]) -> str:
    """Say at one glance how tokd stands."""
    if not cells:
        return "No peer gave an answer that could be compared."
    least = min(cells, key=lambda one: one.value)
    ahead, clear = sum(one.value > 1 for one in cells), sum(one.value >= GOAL for one in cells)
    return (
        f"tokd is ahead of the best peer in {ahead} of {len(cells)} cells, {GOAL} times or more in {clear}; the"
        f" smallest ratio is {least.value:.2f} ({least.regime}, {least.place}, beside {least.peer})."
    )


def glance(cells: list[Ratio]) -> list[str]:
    """Write a row a regime: how many cells, in how many tokd is ahead, and the ratios."""
    head = ["tokd / best peer", "cells", "ahead", f"{GOAL} times or more", "smallest", "median", "largest"]
    rows = []
    for regime in (*REGIMES, *OPENING):
        values = [one.value for one in cells if one.regime == regime]
        if not values:
            continue
        counts = len(values), sum(value > 1 for value in values), sum(value >= GOAL for value in values)
        middle = min(values), statistics.median(values), max(values)
        rows.append([regime, *map(str, counts), *(f"{value:.2f}" for value in middle)])
    return report.table(head, rows)


def label(document: dict[str, Any], name: str) -> str:
    """Name a contender with its version."""
    return name if name.startswith(OURS) else f"{name} {document['versions'].get(name, 'failed')}"


def beside_best(document: dict[str, Any], vocabulary: str) -> list[str]:
    """Write a row a regime, a column a text: tokd's MB/s, and how many times the best peer's."""
    by_text = document["results"][vocabulary]
    rows = []
    for regime in REGIMES:
        cells = []
        for by_name in by_text.values():
            found = ratio(by_name, regime)
            beside = "" if found is None else f" ({found.value:.1f} × {found.peer})"
            cells.append(shown(by_name[OURS].get(regime)) + beside)
        rows.append([regime, *cells])
    return report.table([f"{vocabulary}: MB/s", *by_text], rows)


def portable(document: dict[str, Any]) -> list[str]:
    """Write how the portable path stands beside what most callers use today: a sentence, then a row a regime."""
    found: dict[str, dict[str, list[float]]] = {regime: {name: [] for name in PLAIN} for regime in ENCODING}
    for by_text in document["results"].values():
        for by_name in by_text.values():
            for regime, name in itertools.product(ENCODING, PLAIN):
                if (value := times(by_name, (PORTABLE, regime), (name, regime))) is not None:
                    found[regime][name].append(value)
    every = [value for by_name in found.values() for values in by_name.values() for value in values]
    if not every:
        return []
    clear = sum(value >= PLAIN_GOAL for value in every)
    said = f"On its portable path tokd is {PLAIN_GOAL} times as fast or more in {clear} of {len(every)} cells."
    rows = []
    for regime, by_name in found.items():
        values = [(min(one), statistics.median(one), max(one)) if one else () for one in by_name.values()]
        rows.append([regime, *(", ".join(f"{value:.1f}" for value in one) or "-" for one in values)])
    head = ["portable", *(f"/ {name}: smallest, median, largest" for name in PLAIN)]
    return [said, "", *report.table(head, rows)]


def table(document: dict[str, Any], vocabulary: str, regimes: tuple[str, ...]) -> list[str]:
    """Write one table: a row a contender, a column a text, the regimes in each cell."""
    by_text = document["results"][vocabulary]
    names = [name for name in CONTENDERS if any(by_name.get(name) for by_name in by_text.values())]
    head = ["", *(f"{text}: {' / '.join(regimes)}" for text in by_text), "returns"]
    rows = []
    for name in names:
        cells = [" / ".join(shown(by_name[name].get(one)) for one in regimes) for by_name in by_text.values()]
        rows.append([label(document, name), *cells, CONTENDERS[name].returns])
    found = ([ratio(by_name, one) for one in regimes] for by_name in by_text.values())
    last = [" / ".join(short(one and one.value) for one in cells) for cells in found]
    return report.table(head, [*rows, ["**tokd / best peer**", *last, ""]])


def short(value: float | None) -> str:
    """Write a ratio."""
    return "-" if value is None else f"{value:.2f}"


def calls(document: dict[str, Any], vocabulary: str) -> list[str]:
    """Write the microseconds that tokd takes for a small text."""
    by_text = document["results"][vocabulary]
    rows = []
    for regime in SMALL:
        cells = [by_name[OURS].get(regime, {}).get("microseconds") for by_name in by_text.values()]
        rows.append([regime, *("-" if value is None else f"{value:.1f}" for value in cells)])
    return report.table([f"{OURS}: µs a call", *by_text], rows)


def beside_encoding(document: dict[str, Any], vocabulary: str) -> list[str]:
    """Write of what time tokd's encoding of the same text takes, counting takes and giving offsets."""
    by_text = document["results"][vocabulary]
    rows = (
        [regime, *(short(times(by_name, (OURS, "again"), (OURS, regime))) for by_name in by_text.values())]
        for regime in ("count", "offsets")
    )
    return report.table([f"{OURS}: of the time of encoding", *by_text], rows)


def gains(document: dict[str, Any], vocabulary: str) -> list[str]:
    """Write what a batch gains by all cores."""
    by_text = document["results"][vocabulary]
    rows = []
    for name in CONTENDERS:
        gained = [times(by_name, (name, "batch"), (name, "batch on one core")) for by_name in by_text.values()]
        if any(gained):
            rows.append([label(document, name), *map(short, gained)])
    return report.table(["batch / batch on one core", *by_text], rows)


def opening(document: dict[str, Any], vocabulary: str) -> list[str]:
    """Write start-up and memory."""
    figures = document["opening"][vocabulary]
    steps = ("import", "open", "first ids")
    heads = (*(f"{step}, ms" for step in steps), "start-up, ms", "MB when opened", "MB after 2 MB of text")
    rows = [
        [label(document, name), *(figure(figures[name][key]) for key in (*steps, *OPENING))]
        for name in OPENINGS
        if name in figures
    ]
    last = [short(one and one.value) for one in (opening_ratio(figures, key) for key in OPENING)]
    return report.table([vocabulary, *heads], [*rows, ["**best peer / tokd**", *("" for _ in steps), *last]])


def compact(document: dict[str, Any]) -> str:
    """Write the one table of README: a few rows of one that stands in ``markdown``."""
    head, rule, *rows = beside_best(document, README_VOCABULARY)
    return "\n".join([head, rule, *(row for row in rows if row.split("|")[1].strip() in README_ROWS)])


def markdown(document: dict[str, Any]) -> str:
    """Write the whole result."""
    on, cells = document["machine"], list(ratios(document))
    blocks = [
        f"Medians of {document['rounds']} rounds in turn, each in a fresh process, of speeds and of the ratios within a"
        f" round; {on['cores']} cores of {on['cpu']}"
        f" ({', '.join(on['vectors'])}), Python {on['python']}. Processor time on one core; wall time for batches and"
        " for opening. What is unequal to tiktoken's answer has no speed; offsets are held against tokd's.",
        sentence(cells),
        "\n".join(glance(cells)),
        "\n".join(portable(document)),
    ]
    for vocabulary in document["results"]:
        blocks += [f"## {vocabulary}", "\n".join(beside_best(document, vocabulary))]
        for lines in (calls, beside_encoding, opening):
            blocks.append("\n".join(lines(document, vocabulary)))
        blocks += [f"### {', '.join(group)}\n\n" + "\n".join(table(document, vocabulary, group)) for group in GROUPS]
        blocks.append("\n".join(gains(document, vocabulary)))
        failures = document["failures"].get(vocabulary, {})
        if failures:
            blocks.append("\n".join(f"- {name} is left out: {why}" for name, why in failures.items()))
    return "\n\n".join(blocks)


def draw(document: dict[str, Any]) -> str:
    """Draw the mean speed over all texts, a bar a contender and regime."""
    by_text = document["results"][README_VOCABULARY]
    groups: dict[str, dict[str, float]] = {}
    for name in CONTENDERS:
        for regime in CHARTED:
            cells = [by_name.get(name, {}).get(regime, {}).get("mb_per_second") for by_name in by_text.values()]
            if all(cells):
                groups.setdefault(regime, {})[label(document, name)] = round(statistics.geometric_mean(cells))
    title = f"Encoding, {README_VOCABULARY}, one core: MB/s, geometric mean over {len(by_text)} texts"
    return chart.groups(title, groups, "MB/s")
