"""The report of a training run: a summary, a page of Markdown, JSON and plots."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.cli import chart
from service.cli.options import place
from service.cli.streams import aligned, decode_utf8, printable, read_file, usage
from tokenizer_core import Tokenizer, TrainingReport, fertility_by_language

SHOWN_TOKENS = 10
POINTS = 400
"""The most points of a plot."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The texts that the new tokenizer is measured on, and the artifact to compare with.

    Attributes:
        against: another tokenizer.
        texts: by name; without any, the same two sentences in twenty languages.
    """

    against: Tokenizer | None = None
    texts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, args: argparse.Namespace) -> Evaluation:
        """Read what the flags name, before any work."""
        texts: dict[str, str] = {}
        for given in args.fertility:
            name, sign, file = given.partition("=")
            if not (name and sign and file):
                raise usage(f"--fertility is NAME=FILE, not {given!r}")
            name = printable(name)
            texts[name] = decode_utf8(read_file(file), file)
            if not texts[name]:
                raise usage(f"--fertility: {file} is empty")
        return cls(None if args.against is None else Tokenizer.open(args.against), texts)

    def measure(self, tokenizer: Tokenizer) -> dict[str, dict[str, float]]:
        """Return the fertility by language."""
        found = fertility_by_language(tokenizer, self.texts) if self.texts else fertility_by_language(tokenizer)
        return {name: one.to_dict() for name, one in found.items()}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add what the report is about and where it goes."""
    parser.add_argument("--report", type=place, metavar="DIR", help="where the report goes (default: OUTPUT.report)")
    parser.add_argument("--against", metavar="ARTIFACT", help="compare fertility with this artifact")
    parser.add_argument(
        "--fertility",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="measure tokens a word on this text, such as ja=ja.txt (default: two sentences in twenty languages)",
    )


def document(
    tokenizer: Tokenizer, report: TrainingReport, seconds: Mapping[str, float], evaluation: Evaluation
) -> dict[str, Any]:
    """Return everything that is reported, as plain JSON values."""
    against = evaluation.against
    return {
        "hash": tokenizer.hash,
        "vocab_size": tokenizer.vocab_size,
        "asked_for": report.wanted,
        "learned": {"tokens": report.tokens, "merges": report.merges},
        "special_tokens": tokenizer.special_tokens,
        "provenance": dict(tokenizer.provenance),
        "longest_piece": report.longest_piece,
        "skipped": {"lines": report.skipped, "first": list(report.first_skipped)},
        "longest_tokens": list(report.longest_tokens),
        "seconds": {phase: round(value, 3) for phase, value in seconds.items()},
        "fertility": evaluation.measure(tokenizer),
        "against": None
        if against is None
        else {"name": against.name, "hash": against.hash, "fertility": evaluation.measure(against)},
        "frequencies": [list(point) for point in thinned(list(enumerate(report.frequencies, 1)))],
        "timeline": [list(point) for point in thinned(report.timeline)],
    }


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep so many points that a plot is not seen to miss any, closer together at the beginning; the last is kept."""
    if len(points) <= POINTS:
        return list(points)
    factor = len(points) ** (1 / (POINTS - 1))
    indexes = sorted({min(len(points), round(factor**step)) - 1 for step in range(POINTS)} | {len(points) - 1})
    return [points[index] for index in indexes]


def files(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the report."""
    found = {"report.md": markdown(document), "report.json": json.dumps(document, ensure_ascii=False, indent=1) + "\n"}
    frequencies = [(merge, count) for merge, count in document["frequencies"]]
    if frequencies:
        counts = chart.Axis.over("occurrences of the pair", [count for _, count in frequencies], logarithmic=True)
        merges = chart.Axis.over("merge", [merge for merge, _ in frequencies], logarithmic=True)
        found["frequencies.svg"] = chart.lines("How often each merged pair occurred", merges, counts, {"": frequencies})
    timeline = [(0.0, 0.0), *((seconds, merges) for seconds, merges in document["timeline"])]
    across = chart.Axis.over("seconds", [seconds for seconds, _ in timeline])
    up = chart.Axis.over("merges", [merges for _, merges in timeline])
    found["merges.svg"] = chart.lines("Merges over time", across, up, {"": timeline})
    return found


def hash_in(folder: Path) -> str | None:
    """Return the hash of the tokenizer that a report in a folder is about; ``None`` if there is no report."""
    try:
        found = json.loads((folder / "report.json").read_bytes())
    except (OSError, ValueError):
        return None
    return found.get("hash") if isinstance(found, dict) else None


def rows(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the facts, a line each."""
    corpus, learned = document["provenance"]["corpus"], document["learned"]
    size, wanted = document["vocab_size"], document["asked_for"]
    short = "" if size >= wanted else f" of {wanted:,} asked for: no pair is left"
    seconds = ", ".join(f"{phase} {value:.1f} s" for phase, value in document["seconds"].items())
    left_out = f", {corpus['left_out']:,} left out" if corpus["left_out"] else ""
    lines, first = document["skipped"]["lines"], document["skipped"]["first"]
    skipped = [("skipped", f"{lines:,} lines that cannot be read, first {first[0]}")] if lines else []
    return [
        ("hash", document["hash"]),
        ("vocabulary", f"{size:,} tokens{short}"),
        ("learned", f"{learned['tokens']:,} tokens by {learned['merges']:,} merges"),
        ("corpus", f"{corpus['bytes']:,} bytes in {corpus['documents']:,} documents, {corpus['hash']}"),
        ("pieces", f"{corpus['pieces']:,}, {corpus['distinct_pieces']:,} distinct{left_out}"),
        *skipped,
        ("time", seconds or "nothing was left to do"),
    ]


def fertility_table(document: Mapping[str, Any]) -> list[list[str]]:
    """Return tokens a word and bytes a token by language, beside those of the other tokenizer."""
    against = document["against"]
    head = ["text", "tokens a word", "bytes a token"]
    table = [head if against is None else [*head, f"tokens a word of {against['name']}", "tokens, times theirs"]]
    for name, one in document["fertility"].items():
        cells = [name, f"{one['per_word']:.2f}", f"{one['bytes'] / max(1, one['tokens']):.2f}"]
        if against is not None:
            other = against["fertility"][name]
            cells += [f"{other['per_word']:.2f}", f"{one['tokens'] / max(1, other['tokens']):.2f}"]
        table.append(cells)
    return table


def markdown(document: Mapping[str, Any]) -> str:
    """Write the page."""
    tokens = [f"- `{_code(token)}`" for token in document["longest_tokens"]]
    head, *table = fertility_table(document)
    settings = json.dumps(document["provenance"]["settings"], ensure_ascii=False, indent=1)
    plots = [f"![{name}]({name})" for name in files_of_plots(document)]
    parts = [
        ["# Training report"],
        [f"- {label}: {value}" for label, value in rows(document)],
        ["## Fertility"],
        [_row(head), _row(["---"] * len(head)), *map(_row, table)],
        ["## Merges"],
        plots,
        ["## Longest tokens"],
        tokens or ["none was learned"],
        ["## Settings"],
        ["```json", settings, "```"],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def files_of_plots(document: Mapping[str, Any]) -> list[str]:
    """Return the names of the plots that there are."""
    return (["frequencies.svg"] if document["frequencies"] else []) + ["merges.svg"]


def summary(document: Mapping[str, Any], output: Path, folder: Path) -> str:
    """Write the short report for the terminal."""
    longest = ", ".join(json.dumps(token, ensure_ascii=False) for token in document["longest_tokens"][:SHOWN_TOKENS])
    lines = [("artifact", str(output)), *rows(document), ("longest", longest), ("report", str(folder / "report.md"))]
    shown = [f"{label:<11} {printable(value)}" for label, value in lines]
    return "\n".join([*shown, "", *aligned(fertility_table(document))])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _code(token: str) -> str:
    return json.dumps(token, ensure_ascii=False).replace("`", "\\u0060")
