"""``tokd compare``: measure tokenizers on the same texts."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from service.cli.options import Parser, place, whole_number
from service.cli.streams import create, excerpt, printable, require_absent, usage, write_result
from service.cli.table import folded, terminal_room
from service.reports import chart
from service.reports.fertility import MARK, MARK_MEANS, MARKED, TOKENS_A_WORD
from tokenizer_core import MAX_COMPARED, Comparison, Files, TextCost, Tokenizer, compare, sample_corpus

SAMPLE = 4 << 20
"""Bytes of each corpus that are measured."""

SHOWN = 3
"""Tokens of a list that the text shows; ``--json`` has all of them."""

NOTHING = "-"

NAME = 24
"""The most characters of a name."""


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "compare",
        help="compare tokenizers",
        description="Measure tokenizers on the same texts: two sentences in twenty languages, or the beginning "
        "(4 MB) of each corpus that is named. The others are compared with the first.",
    )
    parser.add_argument(
        "tokenizers", nargs="+", metavar="TOKENIZER", help="artifacts, or whatever tokenizer files a model ships"
    )
    parser.add_argument(
        "--corpus",
        action="append",
        default=[],
        metavar="[NAME=]CORPUS",
        help="measure on this text, JSON lines or Parquet; may be given several times",
    )
    parser.add_argument("--field", default="text", help="field of a line, column of Parquet (default: %(default)s)")
    parser.add_argument(
        "--context",
        type=whole_number,
        default=8192,
        metavar="N",
        help="tokens of the first tokenizer that fill a context (default: %(default)s)",
    )
    parser.add_argument("--chart", type=place, metavar="FILE", help="also draw tokens a word as SVG into a new file")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    if len(args.tokenizers) > MAX_COMPARED:
        raise usage(f"at most {MAX_COMPARED} tokenizers are compared, not {len(args.tokenizers)}")
    if args.chart is not None:
        require_absent(Path(args.chart))
    texts = {name: sample_corpus(files, SAMPLE) for name, files in _corpora(args.corpus, args.field).items()}
    tokenizers = [Tokenizer.load(path) for path in args.tokenizers]
    found = compare(tokenizers, texts or None, context=args.context)
    names = _distinct([each.name for each in found.tokenizers])
    if args.chart is not None:
        create(Path(args.chart), svg(found, names).encode())
    text = as_text(found, names, has_corpus=bool(texts), room=terminal_room())
    write_result(found.to_dict(), text, as_json=args.json)
    return 0


def _corpora(given: Sequence[str], field: str) -> dict[str, Files]:
    found: dict[str, Files] = {}
    for each in given:
        name, sign, path = each.partition("=")
        if not (name and path if sign else each):
            raise usage(f"--corpus is NAME=CORPUS, not {each!r}")
        name, path = (name, path) if sign else (Path(each).name or each, each)
        if name in found:
            raise usage(f"two corpora are called {name!r}; name one of them as NAME=CORPUS")
        found[printable(name)] = Files(paths=(path,), field=field, column=field)
    return found


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names that fit and differ: of equal ones the later ones have their number behind them."""
    short = [excerpt(printable(name), NAME) for name in names]
    return [
        name if short.index(name) == at else f"{excerpt(name, NAME - 4)} ({short[:at].count(name) + 1})"
        for at, name in enumerate(short)
    ]


def svg(found: Comparison, names: Sequence[str]) -> str:
    """Draw tokens a word by text."""
    values = {
        text: {name: _dot(cost) for name, cost in zip(names, costs, strict=True)} for text, costs in found.costs.items()
    }
    return chart.dots("Tokens a word", values, TOKENS_A_WORD)


def _dot(cost: TextCost | None) -> float | None:
    return None if cost is None or cost.unknown >= MARKED else cost.per_word


def as_text(found: Comparison, names: Sequence[str], *, has_corpus: bool, room: int | None = None) -> str:
    """Write the tables, in so many columns; unused entries only of corpora, since a few sentences use few."""
    costs = found.costs
    parts = [folded(_facts(found, names, has_corpus=has_corpus), room)]
    for title, show in _COLUMNS.items():
        parts.append(folded([[title, *names], *([text, *_cells(row, show)] for text, row in costs.items())], room))
    if len(names) > 1:
        head = [f"tokens for {found.context:,} of the first", *names[1:]]
        parts.append(folded([head, *([text, *_cells(row[1:], _needed)] for text, row in costs.items())], room))
        shares = [[f"{share:.1%}" for share in each.shared] for each in found.tokenizers]
        shared = [[name, *row] for name, row in zip(names, shares, strict=True)]
        parts.append(folded([["of its entries, shared with", *names], *shared], room))
    for name, each in zip(names, found.tokenizers, strict=True):
        lists = {"longest": each.longest_tokens, "longest unused": each.longest_unused if has_corpus else ()}
        parts.append([f"{name}, {kind}: {_quoted(tokens)}" for kind, tokens in lists.items() if tokens])
    if any(cost is not None and cost.unknown >= MARKED for row in costs.values() for cost in row):
        parts.append([MARK_MEANS])
    return "\n\n".join("\n".join(part) for part in parts)


def _needed(cost: TextCost) -> str:
    return NOTHING if cost.context_needed is None else f"{cost.context_needed:,}"


def _facts(found: Comparison, names: Sequence[str], *, has_corpus: bool) -> list[list[str]]:
    rows = [["tokenizer", "ids", "entries", "Rényi", *(["unused"] * has_corpus)]]
    for name, each in zip(names, found.tokenizers, strict=True):
        efficiency = NOTHING if each.renyi_efficiency is None else f"{each.renyi_efficiency:.3f}"
        unused = [f"{each.unused / max(1, each.tokens):.1%}"] * has_corpus
        rows.append([name, f"{each.vocab_size:,}", f"{each.tokens:,}", efficiency, *unused])
    return rows


_COLUMNS: dict[str, Callable[[TextCost], str]] = {
    "tokens a word": lambda cost: f"{cost.per_word:.2f}",
    "tokens a character": lambda cost: f"{cost.per_character:.3f}",
    "bytes a token": lambda cost: f"{1 / cost.per_byte:.2f}" if cost.per_byte else NOTHING,
    "words within one token": lambda cost: f"{cost.whole_words:.1%}",
}
"""The measures of each text, by the heading of their table."""


def _cells(costs: Sequence[TextCost | None], show: Callable[[TextCost], str]) -> list[str]:
    return [NOTHING if cost is None else show(cost) + MARK * (cost.unknown >= MARKED) for cost in costs]


def _quoted(tokens: Sequence[str]) -> str:
    return ", ".join(repr(excerpt(token, NAME)) for token in tokens[:SHOWN])
