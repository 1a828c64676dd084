"""``python -m benchmarks cluster``: train over a Ray cluster of this machine beside threads of one process.

Nothing is shown unless all counts and tokenizers have the same bytes.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import report, training_worker
from benchmarks.train import mixed

SIZE = 32_000
WORKERS = (1, 2, 4)
COPIES = 10
"""Of 200 MB; a copy adds no distinct piece."""

CORES = 2
"""Of the runs on all copies, in threads and in workers."""


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """Start a cluster of a head and nodes with one processor each; return its address."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0"}
    made = import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    try:
        for _ in range(workers):
            made.add_node(num_cpus=1)
        made.wait_for_nodes()
        yield made.address
    finally:
        made.shutdown()


def write(corpus: Path, copy: int, lines: list[str]) -> None:
    """Write the documents in another order for each copy: nothing is counted twice that is the same."""
    ordered = random.Random(copy).sample(lines, len(lines))
    (corpus / f"{copy}.jsonl").write_text("".join(ordered), encoding="utf-8")


def run(corpus: Path, **more: Any) -> dict[str, Any]:
    """Train in a fresh process."""
    told = training_worker.run(corpus, vocab_size=SIZE, has_counts=True, **more)
    taken = {name: took for name, (took, _) in told["phases"].items()}
    return taken | {"peak": told["phases"]["merging"][1], "counts": told["counts"], "hash": told["hash"]}


def seconds(line: dict[str, Any]) -> float:
    """Return what a run took, with connecting to a cluster that is there."""
    return float(line["connecting"] + line["counting"] + line["merging"])


def measure(corpus: Path, workers: tuple[int, ...], rounds: int) -> dict[str, dict[str, Any]]:
    """Measure in turn, and keep the fastest run of each."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        for count in workers:
            lines = {f"{count} threads" if count > 1 else "1 thread": run(corpus, threads=count)}
            with cluster(count) as address:
                lines[f"Ray, {count} workers" if count > 1 else "Ray, 1 worker"] = run(corpus, address=address)
            for name, line in lines.items():
                if name not in best or seconds(line) < seconds(best[name]):
                    best[name] = line
    made = {(line["counts"], line["hash"]) for line in best.values()}
    if len(made) != 1:
        raise SystemExit(f"workers change the result: {best}")
    return best


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    heading = (
        f"Byte-level BPE of {SIZE:,} tokens; Ray {document['ray']}, whose cluster is there; "
        f"{report.on(document)}. Seconds: the fastest of {document['rounds']} runs in turn, each in a"
        " fresh process; all counts and tokenizers have the same bytes. Peak MB is the driver's."
        " 2 GB are the documents of 200 MB in ten orders."
    )
    phases = ("connecting", "counting", "merging")
    rows = [
        [corpus, name, *(f"{line[phase]:.1f}" for phase in phases), f"{seconds(line):.1f}", f"{line['peak']:.0f}"]
        for corpus, cells in document["results"].items()
        for name, line in cells.items()
    ]
    return report.page(heading, report.table(["corpus", "run", *phases, "whole", "peak MB"], rows))


def main(*, short: bool) -> int:
    """Measure, write ``results/cluster.json`` and ``.md``, and print the table."""
    if find_spec("ray") is None:
        raise SystemExit("Ray is not installed; pip install 'tokd[ray]'")
    results = {}
    with tempfile.TemporaryDirectory() as name:
        corpus = Path(name) / "corpus"
        corpus.mkdir()
        lines = [json.dumps({"text": text}) + "\n" for text in mixed(20_000_000 if short else 1 << 40)]
        write(corpus, 0, lines)
        results["20 MB" if short else "200 MB"] = measure(corpus, WORKERS, 1 if short else 2)
        if not short:
            for copy in range(1, COPIES):
                write(corpus, copy, lines)
            results["2 GB"] = measure(corpus, (CORES,), 2)
    rounds = 1 if short else 2
    report.tell("cluster", table, short=short, ray=metadata.version("ray"), rounds=rounds, results=results)
    return 0
