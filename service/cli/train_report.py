"""The report of a training run: a summary, a page of Markdown, JSON and plots."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from service.cli import chart
from service.cli.compare import MARK, MARK_MEANS, MARKED, TOKENS_A_WORD
from service.cli.options import place
from service.cli.streams import counted, decode_utf8, printable, read_file, usage
from service.cli.table import folded, terminal_room
from service.cli.train_advice import RARE, advice, learned_by
from tokenizer_core import TextCost, TextSize, Tokenizer, TrainingReport, compare

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

    def measure(self, tokenizer: Tokenizer) -> list[dict[str, dict[str, Any] | None]]:
        """Return the fertility by text, and that of the tokenizer to compare with; ``None`` where it has no tokens."""
        tokenizers = [tokenizer, *([self.against] if self.against is not None else [])]
        found = compare(tokenizers, {name: [text] for name, text in self.texts.items()} or None)
        return [
            {name: _fertility(found.sizes[name], costs[at]) for name, costs in found.costs.items()}
            for at in range(len(tokenizers))
        ]


def _fertility(size: TextSize, cost: TextCost | None) -> dict[str, Any] | None:
    ratios = ("tokens", "per_byte", "per_character", "per_word", "whole_words", "unknown")
    return None if cost is None else asdict(size) | {name: getattr(cost, name) for name in ratios}


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
    against, (fertility, *others) = evaluation.against, evaluation.measure(tokenizer)
    found: dict[str, Any] = {
        "hash": tokenizer.hash,
        "vocab_size": tokenizer.vocab_size,
        "asked_for": report.wanted,
        "learned": {
            "tokens": report.tokens,
            "merges": report.merges,
            "rare": sum(count < RARE for count in report.frequencies),
        },
        "special_tokens": tokenizer.special_tokens,
        "provenance": dict(tokenizer.provenance),
        "longest_piece": report.longest_piece,
        "skipped": {"lines": report.skipped, "first": list(report.first_skipped)},
        "longest_tokens": list(report.longest_tokens),
        "seconds": {phase: round(value, 3) for phase, value in seconds.items()},
        "fertility": fertility,
        "against": None if against is None else {"name": against.name, "hash": against.hash, "fertility": others[0]},
        "frequencies": [list(point) for point in thinned(list(enumerate(report.frequencies, 1)))],
        "timeline": [list(point) for point in thinned(report.timeline)],
        "curve": [list(point) for point in thinned(report.curve)],
    }
    return found | {"advice": advice(found)}


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
    sizes = [(merges, 1 / per_byte) for merges, per_byte in document["curve"] if merges and per_byte]
    if sizes:
        merges = chart.Axis.over("merges", [merges for merges, _ in sizes], logarithmic=True)
        size = chart.Axis.over("bytes a token of the corpus; more cost less", [size for _, size in sizes])
        found["compression.svg"] = chart.lines("What more merges are worth", merges, size, {"": sizes})
    found["fertility.svg"] = chart.dots("Tokens a word", _dots(document), TOKENS_A_WORD)
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
    is_short = size < wanted
    short = f" of {wanted:,} asked for: no {learned_by(document['provenance']['settings'])} is left" if is_short else ""
    merges = f" by {counted(learned['merges'], 'merge')}" if learned["merges"] else ""
    seconds = ", ".join(f"{phase} {value:.1f} s" for phase, value in document["seconds"].items())
    left_out = f", {corpus['left_out']:,} left out" if corpus["left_out"] else ""
    lines, first = document["skipped"]["lines"], document["skipped"]["first"]
    skipped = [("skipped", f"{lines:,} lines that cannot be read, first {first[0]}")] if lines else []
    return [
        ("hash", document["hash"]),
        ("vocabulary", f"{size:,} tokens{short}"),
        ("learned", f"{counted(learned['tokens'], 'token')}{merges}"),
        ("corpus", f"{corpus['bytes']:,} bytes in {counted(corpus['documents'], 'document')}, {corpus['hash']}"),
        ("pieces", f"{corpus['pieces']:,}, {corpus['distinct_pieces']:,} distinct{left_out}"),
        *skipped,
        ("time", seconds or "nothing was left to do"),
    ]


def fertility_table(document: Mapping[str, Any]) -> list[list[str]]:
    """Return tokens a word, bytes a token and words in one token by text, beside those of the other tokenizer."""
    against = document["against"]
    head = ["text", "tokens a word", "bytes a token", "words within one token"]
    table = [head if against is None else [*head, f"tokens a word of {against['name']}", "tokens, times theirs"]]
    for name, one in document["fertility"].items():
        cells = ["-"] * 3
        if one is not None:
            size = one["bytes"] / max(1, one["tokens"])
            shown = f"{one['per_word']:.2f}", f"{size:.2f}", f"{one['whole_words']:.0%}"
            cells = [cell + _mark(one) for cell in shown]
        if against is not None:
            other = against["fertility"][name]
            times = None if one is None or other is None else one["tokens"] / max(1, other["tokens"])
            cells += [
                "-" if other is None else f"{other['per_word']:.2f}{_mark(other)}",
                "-" if times is None else f"{times:.2f}",
            ]
        table.append([name, *cells])
    return table


def _dots(document: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """Return tokens a word by text and tokenizer."""
    against = document["against"]
    by_tokenizer = {"this tokenizer": document["fertility"]}
    if against is not None:
        by_tokenizer[f"against: {printable(against['name'])}"] = against["fertility"]
    return {text: {name: _dot(one[text]) for name, one in by_tokenizer.items()} for text in document["fertility"]}


def _dot(one: Mapping[str, Any] | None) -> float | None:
    return None if one is None or _mark(one) else one["per_word"]


def _mark(one: Mapping[str, Any]) -> str:
    return MARK if one["unknown"] >= MARKED else ""


def _meaning(document: Mapping[str, Any]) -> list[str]:
    """Explain the mark, where there is one."""
    others = [] if document["against"] is None else document["against"]["fertility"].values()
    return (
        [MARK_MEANS]
        if any(one is not None and _mark(one) for one in (*document["fertility"].values(), *others))
        else []
    )


def markdown(document: Mapping[str, Any]) -> str:
    """Write the page."""
    tokens = [f"- `{_code(token)}`" for token in document["longest_tokens"]]
    head, *table = fertility_table(document)
    settings = json.dumps(document["provenance"]["settings"], ensure_ascii=False, indent=1)
    plots = [f"![{name}]({name})" for name in files_of_plots(document)]
    parts = [
        ["# Training report"],
        [f"- {label}: {value}" for label, value in rows(document)],
        ["## What to do"],
        [f"- {printable(sentence)}" for sentence in document["advice"]] or ["nothing that this report could tell"],
        ["## Fertility"],
        ["![fertility.svg](fertility.svg)"],
        [_row(head), _row(["---"] * len(head)), *map(_row, table)],
        *([f"\\{line}"] for line in _meaning(document)),
        *([["## Merges"], plots] if plots else []),
        ["## Longest tokens"],
        tokens or ["none was learned"],
        ["## Settings"],
        ["```json", settings, "```"],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def files_of_plots(document: Mapping[str, Any]) -> list[str]:
    """Return the names of the plots that there are."""
    charts = (("frequencies", "frequencies.svg"), ("curve", "compression.svg"), ("frequencies", "merges.svg"))
    return [name for key, name in charts if document[key]]


def summary(document: Mapping[str, Any], output: Path, folder: Path) -> str:
    """Write the short report for the terminal."""
    longest = ", ".join(json.dumps(token, ensure_ascii=False) for token in document["longest_tokens"][:SHOWN_TOKENS])
    lines = [("artifact", str(output)), *rows(document), ("longest", longest), ("report", str(folder / "report.md"))]
    shown = [f"{label:<11} {printable(value)}" for label, value in lines]
    told = [f"- {printable(sentence)}" for sentence in document["advice"]]
    table = [
        *folded(fertility_table(document), terminal_room()),
        *([""] * bool(meaning := _meaning(document))),
        *meaning,
    ]
    return "\n".join([*shown, "", *table, *([""] if told else []), *told])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _code(token: str) -> str:
    return json.dumps(token, ensure_ascii=False).replace("`", "\\u0060")
