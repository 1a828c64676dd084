"""``python -m benchmarks counting``: count, add up and merge more distinct pieces than memory holds.

First a smaller number of pieces under several bounds on memory: nothing is shown unless the bytes are equal.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import report, training_worker
from benchmarks.made_counts import write_counts

EQUAL = (200_000, (1 << 20, 4 << 20, 64 << 20))
"""Pieces, and the bounds under which their results are held against each other."""


@dataclass(frozen=True)
class Size:
    """What is measured."""

    pieces: int
    files: int
    memory: int
    min_count: int
    vocab_size: int


WHOLE = Size(100_000_000, 16, 1 << 30, 2, 100_000)
SHORT = Size(1_000_000, 4, 16 << 20, 2, 10_000)


def run(size: Size, corpus: Path) -> dict[str, Any]:
    """Measure in a process of its own, whose peak of memory is told apart by what it did last."""
    told = training_worker.run(corpus, **asdict(size))
    names = {"counting": "counting", "merging": "adding up and merging"}
    phases = [[shown, *told["phases"][name]] for name, shown in names.items()]
    return {"phases": phases, **{name: told[name] for name in ("hash", "kept", "merges")}}


def require_equal(directory: Path) -> None:
    """Stop unless every bound on memory makes the same tokenizer."""
    pieces, bounds = EQUAL
    corpus = directory / "equal"
    corpus.mkdir()
    write_counts(corpus, pieces, 4)
    results = {memory: run(Size(pieces, 4, memory, 1, 2000), corpus)["hash"] for memory in bounds}
    if len(set(results.values())) != 1:
        raise SystemExit(f"memory changes the result: {results}")


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    size, on = document["size"], document["machine"]
    heading = (
        f"{size['pieces']:,} distinct pieces in {size['files']} files of counts, counted within"
        f" {size['memory'] >> 20:,} MiB, `min_count` {size['min_count']}, {size['vocab_size']:,} tokens;"
        f" {on['cpu']}, {on['cores']} cores, Python {on['python']}. Peak is the process's, from its begin."
    )
    rows = ([name, f"{seconds:.0f}", f"{peak:,.0f}"] for name, seconds, peak in document["phases"])
    told = f"{document['kept']:,} pieces were kept, and {document['merges']:,} merges made."
    return report.page(heading, report.table(["phase", "seconds", "peak MB"], rows), told)


def main(*, short: bool) -> int:
    """Measure, write ``results/counting.json`` and ``.md``, and print the table."""
    size = SHORT if short else WHOLE
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        require_equal(directory)
        corpus = directory / "corpus"
        corpus.mkdir()
        write_counts(corpus, size.pieces, size.files)
        report.tell("counting", table, short=short, size=asdict(size), **run(size, corpus))
    return 0
