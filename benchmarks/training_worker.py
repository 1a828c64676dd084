"""Training of tokd in a process of its own, for ``counting`` and ``cluster``."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import Any

from benchmarks import machine, process
from tokenizer_core import RayEngine, Recipe, TrainingRun


def run(corpus: Path, **order: Any) -> dict[str, Any]:
    """Train in a fresh process."""
    with tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
        found: dict[str, Any] = process.require("training_worker", json.dumps(order | {"corpus": str(corpus)}), folder)
    return found


def work(told: str, folder: str) -> dict[str, Any]:
    """Train as ordered: over a cluster if its address is given, and in threads of this process if not."""
    order: dict[str, Any] = json.loads(told)
    wanted: dict[str, Any] = {name: order[name] for name in ("vocab_size", "min_count") if name in order}
    recipe = Recipe.from_dict({"corpus": {"paths": [order["corpus"]]}, **wanted})
    settings = {name: order[name] for name in ("threads", "memory") if name in order}
    steps: dict[str, Callable[[], object]]
    phases = {}
    with ExitStack() as open_:
        open_.enter_context(redirect_stdout(sys.stderr))
        started = time.monotonic()
        engine = open_.enter_context(RayEngine(order["address"])) if "address" in order else None
        run = TrainingRun(Path(folder) / "run", recipe, engine=engine, **settings)
        steps = {"connecting": lambda: None, "counting": run.count, "merging": run.merge}
        for name, step in steps.items():
            step()
            phases[name] = time.monotonic() - started, machine.memory()
            started = time.monotonic()
        made, counts = run.report(), None
        if order.get("has_counts"):
            run.save_counts(Path(folder) / "counts")
            # The first line names what they were made from.
            counts = hashlib.sha256((Path(folder) / "counts").read_bytes().partition(b"\n")[2]).hexdigest()
    kept = {"kept": made.corpus["distinct_pieces"], "merges": made.merges}
    return {"phases": phases, "counts": counts, "hash": made.hash, **kept}
