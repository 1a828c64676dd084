"""The report of a training run: a summary, a page of Markdown, JSON and plots."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from service.cli.options import place
from service.cli.streams import counted, decode_utf8, printable, read_file, usage
from service.cli.table import folded, terminal_room
from service.reports import parity
from service.reports.advice import learned_by
from service.reports.fertility import MARK_MEANS, Fertility, fertility, mark
from service.reports.training import charts, plots_of
from tokenizer_core import Tokenizer

SHOWN_TOKENS = 10


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

    def measure(self, tokenizer: Tokenizer) -> list[Fertility]:
        """Return the fertility by text, and that of the tokenizer to compare with."""
        return fertility([tokenizer, *([] if self.against is None else [self.against])], self.texts)


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


def files(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the report."""
    found = {"report.md": markdown(document), "report.json": json.dumps(document, ensure_ascii=False, indent=1) + "\n"}
    return found | charts(document)


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
    size, wanted, characters = document["vocab_size"], document["asked_for"], document["characters"]
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
        ("alphabet", f"{characters:,} single characters or bytes, {characters / size:.0%} of the vocabulary"),
        ("learned", f"{counted(learned['tokens'], 'token')}{merges}"),
        ("corpus", f"{corpus['bytes']:,} bytes in {counted(corpus['documents'], 'document')}, {corpus['hash']}"),
        ("pieces", f"{corpus['pieces']:,}, {corpus['distinct_pieces']:,} distinct{left_out}"),
        *_sample(document["sample"]),
        *skipped,
        ("time", seconds or "nothing was left to do"),
    ]


def _sample(sample: Mapping[str, int] | None) -> list[tuple[str, str]]:
    """Return what the lines of the corpus show, if there are any."""
    if sample is None:
        return []
    spaces, characters = (sample[name] / max(1, sample["tokens"]) for name in ("spaces", "characters"))
    tokens, lines = counted(sample["tokens"], "token"), counted(sample["lines"], "line")
    shares = f"{spaces:.0%} of {tokens} are lone spaces, {characters:.0%} other single characters"
    return [("sample", f"{shares}; {sample['back']:,} of {lines} come back")]


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
            cells = [cell + mark(one) for cell in shown]
        if against is not None:
            other = against["fertility"][name]
            times = None if one is None or other is None else one["tokens"] / max(1, other["tokens"])
            cells += [
                "-" if other is None else f"{other['per_word']:.2f}{mark(other)}",
                "-" if times is None else f"{times:.2f}",
            ]
        table.append([name, *cells])
    return table


def _parity(document: Mapping[str, Any]) -> list[list[str]]:
    """Write the costs of the languages of a run with parity."""
    if document["parity"] is None:
        return []
    head, *rest = parity.table(document["parity"])
    table = [_row(head), _row(["---"] * len(head)), *map(_row, rest)]
    return [["## Parity"], table, [printable(parity.summary(document["parity"]))]]


def _meaning(document: Mapping[str, Any]) -> list[str]:
    """Explain the mark, where there is one."""
    others = [] if document["against"] is None else document["against"]["fertility"].values()
    return (
        [MARK_MEANS] if any(one is not None and mark(one) for one in (*document["fertility"].values(), *others)) else []
    )


def markdown(document: Mapping[str, Any]) -> str:
    """Write the page."""
    tokens = [f"- `{_code(token)}`" for token in document["longest_tokens"]]
    head, *table = fertility_table(document)
    settings = json.dumps(document["provenance"]["settings"], ensure_ascii=False, indent=1)
    plots = [f"![{name}]({name})" for name in plots_of(document)]
    parts = [
        ["# Training report"],
        [f"- {label}: {value}" for label, value in rows(document)],
        ["## What to do"],
        [f"- {printable(sentence)}" for sentence in document["advice"]] or ["nothing that this report could tell"],
        ["## Fertility"],
        ["![fertility.svg](fertility.svg)"],
        [_row(head), _row(["---"] * len(head)), *map(_row, table)],
        *([f"\\{line}"] for line in _meaning(document)),
        *_parity(document),
        *([["## Merges"], plots] if plots else []),
        ["## Longest tokens"],
        tokens or ["none was learned"],
        ["## Settings"],
        ["```json", settings, "```"],
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def summary(document: Mapping[str, Any], output: Path, folder: Path) -> str:
    """Write the short report for the terminal."""
    longest = ", ".join(json.dumps(token, ensure_ascii=False) for token in document["longest_tokens"][:SHOWN_TOKENS])
    lines = [("artifact", str(output)), *rows(document), ("longest", longest), ("report", str(folder / "report.md"))]
    lines.append(("next", f"tokd encode -t {output} --table TEXT, or tokd serve --artifact {output}"))
    shown = [f"{label:<11} {printable(value)}" for label, value in lines]
    told = [f"- {printable(sentence)}" for sentence in document["advice"]]
    table = [
        *folded(fertility_table(document), terminal_room()),
        *([""] * bool(meaning := _meaning(document))),
        *meaning,
    ]
    if document["parity"] is not None:
        table += ["", *folded(parity.table(document["parity"]), terminal_room())]
        table += ["", printable(parity.summary(document["parity"]))]
    return "\n".join([*shown, "", *table, *([""] if told else []), *told])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _code(token: str) -> str:
    return json.dumps(token, ensure_ascii=False).replace("`", "\\u0060")
