"""Medians, ratios and tables."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable
from typing import Any

from benchmarks.contenders import CONTENDERS
from benchmarks.corpora import ROOT

RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"
OURS = "tokd"


def summary(seconds: list[float], size: int) -> dict[str, float]:
    """Return the median speed in MB/s and the spread of the rounds around it."""
    speeds = sorted(size / one / 1e6 for one in seconds)
    return {"mb_per_second": statistics.median(speeds), "lowest": speeds[0], "highest": speeds[-1]}


def speed(cell: dict[str, Any] | None) -> float | None:
    """Return a cell's speed, or nothing where there is none to show."""
    return None if cell is None else cell.get("mb_per_second")


def shown(cell: dict[str, Any] | None) -> str:
    """Write one cell."""
    if cell is None:
        return "-"
    if cell.get("unequal"):
        return "unequal"
    value = cell["mb_per_second"]
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def row(cells: Iterable[str]) -> str:
    """Write one row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def ratio(by_name: dict[str, dict[str, Any]], regime: str) -> str:
    """Write tokd's speed over the best peer's."""
    ours = speed(by_name[OURS].get(regime))
    peers = [
        value for name, cells in by_name.items() if name != OURS and (value := speed(cells.get(regime))) is not None
    ]
    return f"{ours / max(peers):.2f}" if ours is not None and peers else "-"


def table(by_language: dict[str, Any], regimes: tuple[str, ...], versions: dict[str, str]) -> list[str]:
    """Write one table: a row a contender, a column a language, the regimes in each cell."""
    languages = list(by_language)
    names = [name for name in CONTENDERS if any(name in by_language[language] for language in languages)]
    head = ["", *(f"{language}: {' / '.join(regimes)}" for language in languages), "returns"]
    lines = [row(head), row(["---"] * len(head))]
    for name in names:
        cells = [
            " / ".join(shown(by_language[language][name].get(regime)) for regime in regimes) for language in languages
        ]
        version = versions.get(name, "failed")
        lines.append(row([name if version == "this" else f"{name} {version}", *cells, CONTENDERS[name].returns]))
    ratios = [" / ".join(ratio(by_language[language], regime) for regime in regimes) for language in languages]
    return [*lines, row(["**tokd / best peer**", *ratios, ""])]


def encode_tables(document: dict[str, Any]) -> str:
    """Write the whole result as Markdown."""
    on = document["machine"]
    lines = [
        f"MB/s of UTF-8, medians of {document['rounds']} rounds in turn, each in a fresh process; {on['cores']} cores"
        f" of {on['cpu']} ({', '.join(on['vectors'])}), Python {on['python']}. Processor time on one core;"
        " for batch, wall time on all.",
        "A contender whose ids are not those of tiktoken has no speed.",
    ]
    for vocabulary, by_language in document["results"].items():
        for regimes in (("cold", "warm", "small"), ("batch", "decode", "count", "offsets")):
            lines += [
                "",
                f"### {vocabulary}: {', '.join(regimes)}",
                "",
                *table(by_language, regimes, document["versions"]),
            ]
    failures = [
        f"- {name} failed on {vocabulary}, {language}: {cells['failure']}"
        for vocabulary, by_language in document["results"].items()
        for language, by_name in by_language.items()
        for name, cells in by_name.items()
        if "failure" in cells
    ]
    return "\n".join([*lines, "", *failures] if failures else lines)


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
    rows = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    has_chart = (RESULTS / f"{name}.svg").exists()
    chart = f"\n![{name}](benchmarks/results/{name}.svg)\n" if has_chart else ""
    README.write_text(f"{before}{found}{rows}\n{chart}{ended}{after}", encoding="utf-8")


def exit_code(results: dict[str, Any]) -> int:
    """Fail when tokd failed or gave an answer that is not the truth's."""
    ours = [by_name[OURS] for by_language in results.values() for by_name in by_language.values()]
    return int(any("failure" in cells or any(cell.get("unequal") for cell in cells.values()) for cells in ours))
