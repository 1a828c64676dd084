"""Measure ``LIBRARY FILE TEXT`` in this fresh process, on one core; print one JSON line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.family_openers import LIBRARIES
from benchmarks.worker import digest

BYTES = 1_500_000
"""Of the lines that are encoded."""
REPEATS = 3


def lines_of(path: Path) -> list[str]:
    """Return the first lines of a text, without their ends."""
    return path.read_bytes()[:BYTES].decode("utf-8", errors="ignore").splitlines()[:-1]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Run once; return the processor's seconds and the answer."""
    start = time.process_time()
    answer = work()
    return time.process_time() - start, answer


def main() -> None:
    """Encode a call a line, twice or more, then all lines in one call; all answers must be the same."""
    name, file, text = sys.argv[1:]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    lines = lines_of(Path(text))
    encoder = LIBRARIES[name].open(Path(file))
    seconds: dict[str, list[float]] = {}
    proofs: set[str] = set()

    def take(regime: str, work: Callable[[], Any], ids_of: Callable[[Any], Any]) -> None:
        taken, answer = timed(work)
        seconds.setdefault(regime, []).append(taken)
        proofs.add(digest(np.fromiter(ids_of(answer), dtype="<u4")))

    def each_line(rows: Any) -> Any:
        return (id for row in rows for id in encoder.ids_of(row))

    take("cold", lambda: [encoder.encode(line) for line in lines], each_line)
    for _ in range(REPEATS):
        take("warm", lambda: [encoder.encode(line) for line in lines], each_line)
        if (encode_all := encoder.encode_all) is not None:
            take("one call", lambda: encode_all(lines), encoder.rows_of)
    best = {regime: min(taken) for regime, taken in seconds.items()}
    size = sum(len(line.encode()) for line in lines)
    print(json.dumps({"seconds": best, "bytes": size, "proof": " and ".join(sorted(proofs))}))


if __name__ == "__main__":
    main()
