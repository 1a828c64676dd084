"""``python -m benchmarks ladder``: how much each rung of the ladder of trainers is worth, on one corpus.

Every rung runs in a fresh process on the same counted words and must make the same merges. Rung 3 counts words, so it
is measured on that.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import machine, report
from benchmarks.corpora import ROOT, data_dir

VOCAB_SIZE = 1_256
SIZE = 400_000
SHORT_SIZE = 100_000
BAR = 6
"""Signs for each factor of ten."""

RUNGS = (
    "naive_recount",
    "incremental_counts",
    "inverted_index",
    "lazy_heap",
    "linked_positions",
    "multiset_heap",
    "whole_text",
    "kernel",
)


def rung(name: str) -> Callable[[Mapping[bytes, int], int], list[tuple[bytes, bytes]]]:
    """Return a rung's function of words and vocabulary size, everything it needs imported."""
    if name == "kernel":
        return kernel()
    from tokenizer_core.reference.trainers.order import learn

    trainer = getattr(import_module(f"tokenizer_core.reference.trainers.{name}"), name)
    return lambda words, vocab_size: learn(trainer, words, vocab_size)


def kernel() -> Callable[[Mapping[bytes, int], int], list[tuple[bytes, bytes]]]:
    """Return the kernel's trainer, in the shape of a rung."""
    from tokenizer_core._kernel import Counter, learn_merges

    def learn(words: Mapping[bytes, int], vocab_size: int) -> list[tuple[bytes, bytes]]:
        counter = Counter("{}")
        lines = (f"{times}\t{json.dumps(word.decode())}\n" for word, times in words.items())
        counter.add_counts("".join(lines).encode(), 1)
        tokens, _, merges = learn_merges(counter.finish(), vocab_size)
        return [(tokens[left], tokens[right]) for left, right, _, _ in merges]

    return learn


def child(name: str, path: str, vocab_size: int) -> None:
    """Measure one rung in this process; print one JSON line."""
    words = {word.encode(): times for word, times in json.loads(Path(path).read_text(encoding="utf-8"))}
    learn = rung(name)
    before = machine.memory("VmRSS")
    start = time.process_time()
    merges = learn(words, vocab_size)
    seconds = time.process_time() - start
    proof = [[left.hex(), right.hex()] for left, right in merges]
    print(json.dumps({"seconds": seconds, "megabytes": machine.memory() - before, "merges": proof}))


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown, with bars."""
    first = document["results"][RUNGS[0]]["seconds"]
    lines = [
        f"{document['merges']:,} merges on {document['bytes']:,} bytes of text ({document['words']:,} distinct words);"
        f" processor seconds on {document['machine']['cpu']}, and the memory that training added.",
        "",
        report.row(["rung", "seconds", "times as fast", "MB", ""]),
        report.row(["---"] * 5),
    ]
    for name, line in document["results"].items():
        speed_up = first / line["seconds"]
        bar = "█" * round(1 + BAR * math.log10(max(1.0, speed_up)))
        cells = [name, f"{line['seconds']:.3f}", f"{speed_up:,.1f}", f"{line['megabytes']:.0f}", bar]
        lines.append(report.row(cells))
    return "\n".join(lines)


def main(*, short: bool) -> int:
    """Measure all rungs, write ``results/ladder.json`` and ``.md``, print the table; fail if merges differ."""
    from tokenizer_core.reference.trainers.parallel_pretokenization import count_words

    size = SHORT_SIZE if short else SIZE
    text = (data_dir() / "corpora" / "english.txt").read_bytes()[:size].decode(errors="ignore")
    words = count_words(text.splitlines(keepends=True), "gpt2")
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.json"
        path.write_text(json.dumps([[word.decode(), times] for word, times in words.items()]), encoding="utf-8")
        for name in RUNGS:
            print(f"climbing {name}", file=sys.stderr)
            command = [sys.executable, "-m", "benchmarks.ladder", name, str(path), str(VOCAB_SIZE)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            results[name] = json.loads(done.stdout)
    merges = [line.pop("merges") for line in results.values()]
    equal = all(one == merges[0] for one in merges)
    document = {
        "machine": machine.describe(),
        "bytes": len(text.encode()),
        "words": len(words),
        "merges": len(merges[0]),
        "results": results,
    }
    if not equal:
        print("the rungs do not make the same merges: no speed is shown", file=sys.stderr)
        return 1
    shown = table(document)
    if not short:
        report.write("ladder", document, shown)
    print(shown)
    return 0


if __name__ == "__main__":
    child(sys.argv[1], sys.argv[2], int(sys.argv[3]))
