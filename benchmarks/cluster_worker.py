"""One run of ``benchmarks/cluster.py``, in a process of its own; prints JSON."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from contextlib import ExitStack, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import machine
from tokenizer_core import RayEngine, Recipe, TrainingRun


def main() -> None:
    """Do what the first argument says: over a cluster if it names one, and in threads of this process if not."""
    order: dict[str, Any] = json.loads(sys.argv[1])
    work = Path(order["work"])
    wanted = Recipe.from_dict({"corpus": {"paths": [order["corpus"]]}, "vocab_size": order["vocab_size"]})
    laps = [time.monotonic()]
    with ExitStack() as open_:
        open_.enter_context(redirect_stdout(sys.stderr))
        engine = open_.enter_context(RayEngine(order["address"])) if "address" in order else None
        run = TrainingRun(work / "run", wanted, threads=order.get("threads", 0), engine=engine)
        laps.append(time.monotonic())
        run.count()
        laps.append(time.monotonic())
        run.merge()
        laps.append(time.monotonic())
        run.publish(work / "artifact")
        run.save_counts(work / "counts")
    connecting, counting, merging = (after - before for before, after in pairwise(laps))
    # The first line of counts names what they were made from.
    counts = hashlib.sha256((work / "counts").read_bytes().partition(b"\n")[2]).hexdigest()
    told = {"connecting": connecting, "counting": counting, "merging": merging, "peak": machine.memory()}
    print(json.dumps(told | {"counts": counts, "hash": run.report().hash}))


if __name__ == "__main__":
    main()
