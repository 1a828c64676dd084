"""One run of ``benchmarks/counting.py``, in a process of its own; prints JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import machine
from tokenizer_core import Recipe, TrainingRun


def main() -> None:
    """Do what the first argument says."""
    order: dict[str, Any] = json.loads(sys.argv[1])
    wanted = {
        "corpus": {"paths": [order["corpus"]]},
        "vocab_size": order["vocab_size"],
        "min_count": order["min_count"],
    }
    run = TrainingRun(Path(order["work"]) / "run", Recipe.from_dict(wanted), memory=order["memory"])
    phases = []
    for name, work in (("counting", run.count), ("adding up and merging", run.merge)):
        started = time.monotonic()
        work()
        phases.append((name, time.monotonic() - started, machine.memory()))
    told = run.report()
    print(
        json.dumps({"phases": phases, "hash": told.hash, "kept": told.corpus["distinct_pieces"], "merges": told.merges})
    )


if __name__ == "__main__":
    main()
