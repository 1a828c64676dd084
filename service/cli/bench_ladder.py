"""``tokd bench ladder``: measure the gain of each reference trainer on a corpus of the user's.

Every rung runs in a fresh process on the same documents, and must make the same merges.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from service.cli.options import Parser, whole_number
from service.cli.streams import CommandError, note, printable, usage, write_report, write_result
from service.reports import chart
from tokenizer_core import InvalidCorpus, TieBreak, sample_corpus

CLIMB = "tokenizer_core.reference.trainers.climb"

RUNGS = (
    "naive_recount",
    "incremental_counts",
    "parallel_pretokenization",
    "inverted_index",
    "lazy_heap",
    "linked_positions",
    "multiset_heap",
    "whole_text",
    "kernel",
)

BYTES = 400_000
VOCAB_SIZE = 1_256
LIMIT = 300


def add(benchmarks: argparse._SubParsersAction[Parser]) -> None:
    """Add the benchmark."""
    parser = benchmarks.add_parser(
        "ladder",
        help="the eight trainers of the reference and the kernel, on a corpus",
        description="Train with each of the eight trainers of tokenizer_core/reference/trainers and with the kernel, "
        "each in a fresh process, on the first bytes of a corpus; print a table of times, speed-ups and memory.",
    )
    parser.add_argument("corpus", metavar="CORPUS", help="a file, directory, glob pattern or URL, as for train")
    parser.add_argument("--bytes", metavar="N", type=whole_number, default=BYTES, help="of text (default: %(default)s)")
    parser.add_argument(
        "--vocab-size", metavar="N", type=whole_number, default=VOCAB_SIZE, help="tokens (default: %(default)s)"
    )
    rules = get_args(TieBreak)
    parser.add_argument("--tie-break", choices=rules, default=rules[0], help="default: %(default)s")
    parser.add_argument(
        "--limit", metavar="SECONDS", type=whole_number, default=LIMIT, help="for each rung (default: %(default)s)"
    )
    parser.add_argument("--report", metavar="DIR", help="write ladder.json, ladder.md and ladder.svg there")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Climb, compare, print."""
    if args.vocab_size < 256:
        raise usage(f"--vocab-size is at least 256, the bytes, not {args.vocab_size}")
    documents = [line for text in sample_corpus(args.corpus, args.bytes) for line in text.splitlines(keepends=True)]
    if not documents:
        raise InvalidCorpus("the corpus has no text to measure on; name another one", field="corpus")
    document = {
        "corpus": printable(Path(args.corpus).name),
        "bytes": sum(len(one.encode()) for one in documents),
        "documents": len(documents),
        "vocab_size": args.vocab_size,
        "tie_break": args.tie_break,
        "rungs": climb(documents, args.vocab_size, args.tie_break, args.limit),
    }
    require_equal(document["rungs"])
    text = table(document)
    if args.report is not None:
        found = {
            "ladder.json": json.dumps(document, indent=1) + "\n",
            "ladder.md": text + "\n",
            "ladder.svg": draw(document),
        }
        write_report(Path(args.report), found)
    write_result(document, text, as_json=args.json)
    return 0


def climb(documents: list[str], vocab_size: int, tie_break: str, limit: float) -> dict[str, dict[str, Any]]:
    """Run every rung in a process of its own."""
    rungs: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in documents), encoding="utf-8")
        for name in RUNGS:
            note(f"climbing {name}")
            command = [sys.executable, "-m", CLIMB, name, str(path), str(vocab_size), tie_break]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
            except subprocess.TimeoutExpired:
                rungs[name] = {"over": limit}
                continue
            if done.returncode != 0:
                why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
                raise CommandError("rung_failed", f"{name}: {why}")
            rungs[name] = json.loads(done.stdout)
    return rungs


def require_equal(rungs: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse to show a speed of merges that are not those of the other rungs, or where the kernel did not end."""
    proofs = {name: line["proof"] for name, line in rungs.items() if "proof" in line}
    if "kernel" not in proofs:
        message = (
            f"the kernel, which the rungs are held against, took over {rungs['kernel']['over']} s; give more with "
            "--limit, or less text with --bytes"
        )
        raise CommandError("over_limit", message)
    others = [name for name, proof in proofs.items() if proof != proofs["kernel"]]
    if others:
        names = ", ".join(others)
        raise CommandError(
            "unequal_merges", f"{names}: other merges than the kernel's, so no speed is shown; report it"
        )


def table(document: Mapping[str, Any]) -> str:
    """Write the result as Markdown."""
    rungs = document["rungs"]
    shown = (
        f"{rungs['kernel']['merges']:,} merges on {document['bytes']:,} bytes of {document['corpus']}: wall seconds of"
        " counting, processor seconds of merging, how many times as fast as the first rung that ended, and the peak of"
        " memory that it added."
    )
    rows = [["rung", "counting", "merging", "both", "merging, times as fast", "both, times as fast", "MB"], ["---"] * 7]
    first = next(line for line in rungs.values() if "over" not in line)
    for name, line in rungs.items():
        if "over" in line:
            rows.append([name, "", "", f"over {line['over']}", "", "", ""])
            continue
        merging, both = first["merging"] / line["merging"], total(first) / total(line)
        seconds = [f"{value:.3f}" for value in (line["counting"], line["merging"], total(line))]
        rows.append([name, *seconds, f"{merging:,.1f}", f"{both:,.1f}", f"{line['megabytes']:.0f}"])
    return "\n".join([shown, "", *(f"| {' | '.join(row)} |" for row in rows)])


def draw(document: Mapping[str, Any]) -> str:
    """Draw the speed-ups of merging."""
    rungs = {name: line for name, line in document["rungs"].items() if "over" not in line}
    first = next(iter(rungs.values()))["merging"]
    values = {name: round(first / line["merging"], 1) for name, line in rungs.items()}
    return chart.bars("Merging, times as fast as the first rung (logarithmic)", values, "times", logarithmic=True)


def total(line: Mapping[str, Any]) -> float:
    """Return the seconds of counting and merging."""
    seconds: float = line["counting"] + line["merging"]
    return max(seconds, math.ulp(1.0))
