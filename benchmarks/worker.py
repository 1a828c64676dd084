"""Measure one contender on one vocabulary and one language in this fresh process; print one JSON line.

Run by ``benchmarks.encode`` in the peers' own environment. Every timed call's own answer is hashed after the clock has
stopped, so a speed can never stand beside an answer that nobody looked at.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from typing import Any

import numpy as np

from benchmarks.contenders import CONTENDERS, Encoder
from benchmarks.corpora import Cuts, cuts, data_dir

Result = dict[str, Any]


def digest(ids: Iterable[int]) -> str:
    """Hash ids as little-endian 32 bit words."""
    return hashlib.sha256(np.asarray(ids, dtype="<u4").tobytes()).hexdigest()


def timed(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """Run once; return seconds and the answer.

    On one core the clock is the processor time of all threads, which other work on the machine does not change.
    """
    start = clock()
    answer = work()
    return clock() - start, answer


def result(seconds: float, size: int, proof: str) -> Result:
    """Describe one timed call: seconds, bytes of UTF-8, and the hash of what it gave."""
    return {"seconds": seconds, "bytes": size, "proof": proof}


def single(encoder: Encoder, text: Cuts) -> dict[str, Result]:
    """Measure what one core does."""
    size = len(text.whole.encode())
    small_size = sum(len(part.encode()) for part in text.small)
    results: dict[str, Result] = {}

    seconds, answer = timed(lambda: encoder.encode(text.whole))
    results["cold"] = result(seconds, size, digest(encoder.ids_of(answer)))
    seconds, answer = timed(lambda: encoder.encode(text.whole))
    results["warm"] = result(seconds, size, digest(encoder.ids_of(answer)))
    seconds, answers = timed(lambda: [encoder.encode(part) for part in text.small])
    ids = np.concatenate([np.asarray(encoder.ids_of(one), dtype="<u4") for one in answers])
    results["small"] = result(seconds, small_size, digest(ids))

    if encoder.decode is not None:
        decode = encoder.decode
        seconds, back = timed(lambda: decode(answer))
        results["decode"] = result(seconds, size, hashlib.sha256(back.encode()).hexdigest())
    if encoder.count is not None:
        count = encoder.count
        seconds, number = timed(lambda: count(text.whole))
        results["count"] = result(seconds, size, str(number))
    if encoder.offsets is not None and encoder.spans_of is not None:
        offsets = encoder.offsets
        seconds, spans = timed(lambda: offsets(text.whole))
        results["offsets"] = result(seconds, size, digest(encoder.spans_of(spans)))
    return results


def batch(encoder: Encoder, text: Cuts) -> dict[str, Result]:
    """Measure what all cores do with many texts."""
    if encoder.batch is None or encoder.rows_of is None:
        return {}
    encode_batch = encoder.batch
    encode_batch(["a"])  # Some peers import half of themselves and start their threads at the first call.
    seconds, answer = timed(lambda: encode_batch(text.small), time.perf_counter)
    ids = np.concatenate([np.asarray(row, dtype="<u4") for row in encoder.rows_of(answer)])
    return {"batch": result(seconds, sum(len(part.encode()) for part in text.small), digest(ids))}


def main() -> None:
    """Measure ``CONTENDER VOCABULARY LANGUAGE single|batch``."""
    name, vocabulary, language, mode = sys.argv[1:]
    if mode == "single":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    contender = CONTENDERS[name]
    text = cuts(language)
    seconds, encoder = timed(lambda: contender.open(vocabulary, data_dir() / "vocabs"))
    measure = single if mode == "single" else batch
    version = metadata.version(contender.package) if contender.package else None
    line = {"open_seconds": seconds, "version": version, "results": measure(encoder, text)}
    print(json.dumps(line))


if __name__ == "__main__":
    main()
