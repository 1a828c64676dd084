"""``python -m benchmarks packing``: rows of fine-tuning data into packs, beside TRL's ``pack_dataset``.

Rows are as long as examples of instructions are: log-normal with a median of 300 tokens. TRL packs a table of rows,
each 1,000 of them by themselves, as its trainers do; tokd plans over all rows (``plan_packs``), and builds the packs
with labels and positions (``Packs``).
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import peers, process, report
from tokenizer_core import Packs, TokenRows, plan_packs

LENGTHS = (4096, 8192)
MEDIAN, SPREAD = 300, 1.0
GOAL_SECONDS, GOAL_FULL = 1.0, 0.999
"""Of the plan of all rows."""


def rows_of(count: int, length: int) -> npt.NDArray[np.int64]:
    """Make the lengths of rows, none longer than a pack."""
    drawn = np.random.default_rng(1).lognormal(np.log(MEDIAN), SPREAD, count)
    return np.clip(drawn.astype(np.int64), 1, length)


def ours(sizes: npt.NDArray[np.int64], length: int, rounds: int) -> list[dict[str, Any]]:
    """Plan, and build all packs."""
    planned = []
    for _ in range(rounds):
        start = time.perf_counter()
        plan = plan_packs(sizes, length)
        planned.append(time.perf_counter() - start)
    require_whole(plan.rows, plan.ends - plan.starts, plan.offsets, sizes, length)
    offsets = np.concatenate([np.zeros(1, np.int64), sizes.cumsum()])
    rows = TokenRows(np.zeros(offsets[-1], np.uint32), np.ones(offsets[-1], bool), offsets)
    start = time.perf_counter()
    built = sum(len(block.input_ids) for block in Packs(rows, plan).blocks())
    seconds = time.perf_counter() - start
    if built != offsets[-1]:
        raise SystemExit("tokens are missing: no speed is shown")
    facts = {"length": length, "rows": len(sizes), "packs": len(plan), "full": plan.full}
    return [
        {"program": "tokd, the plan", "seconds": min(planned), **facts},
        {"program": "tokd, plan and packs", "seconds": min(planned) + seconds, **facts},
    ]


def require_whole(
    rows: npt.NDArray[np.int64],
    members: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    length: int,
) -> None:
    """Stop unless every row is there once and whole, and no pack is too long."""
    is_whole = np.array_equal(np.sort(rows), np.arange(len(sizes))) and np.array_equal(members, sizes[rows])
    if not is_whole or int(np.add.reduceat(members, offsets[:-1]).max()) > length:
        raise SystemExit("the plan is wrong: no speed is shown")


def theirs(sizes: npt.NDArray[np.int64], length: int, folder: Path) -> dict[str, Any]:
    """Let TRL pack the same rows in its own environment."""
    lengths = folder / f"{length}.npy"
    np.save(lengths, sizes)
    told = process.require("packing_peer", lengths, length, python=peers.writer("trl"))
    full = told["tokens"] / (told["packs"] * length)
    facts = {"length": length, "rows": len(sizes), "packs": told["packs"], "full": full}
    return {"program": f"TRL {told['version']}, `pack_dataset`", "seconds": told["seconds"], **facts}


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    heading = (
        f"Rows of log-normal length (median {MEDIAN} tokens) into packs, best-fit decreasing; the best of"
        f" {document['rounds']}, of TRL one; {report.on(document)}."
    )
    shown = {"length": ",", "rows": ",", "program": "", "seconds": ".3f", "packs": ",", "full": ".3%"}
    rows = ([format(one[name], how) for name, how in shown.items()] for one in document["results"])
    return report.page(heading, report.table(list(shown), rows))


def main(*, short: bool) -> int:
    """Measure, write ``results/packing.json`` and ``.md``, print the table; fail where a goal is missed."""
    peers.prepare_writers("trl")
    rounds, count = (1, 50_000) if short else (5, 1_000_000)
    results = []
    with tempfile.TemporaryDirectory() as name:
        for length in LENGTHS:
            sizes = rows_of(count, length)
            print(f"{count} rows, packs of {length}", file=sys.stderr)
            results += [*ours(sizes, length, rounds), theirs(sizes, length, Path(name))]
    report.tell("packing", table, short=short, rounds=rounds, results=results)
    plans = [one for one in results if one["program"] == "tokd, the plan"]
    return int(not short and any(one["seconds"] > GOAL_SECONDS or one["full"] < GOAL_FULL for one in plans))
