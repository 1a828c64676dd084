"""Measure one rung in this fresh process, as ``python -m tokenizer_core.reference.trainers.climb``.

The arguments are the rung, a file of documents with one JSON string a line, the vocabulary size and the rule of ties.
Prints one line of JSON: wall seconds of counting, processor seconds of merging, the peak of memory above what the
imports took, and a hash of the merges. ``kernel`` is a rung too: what ``train`` does.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tokenizer_core.reference.trainers.order import Pair, Trainer, learn
from tokenizer_core.reference.trainers.parallel_pretokenization import count_words, count_words_in_parallel

PATTERN = "gpt2"

SERIAL = ("naive_recount", "incremental_counts")
"""The rungs before words are counted in parallel."""


def rung(name: str, documents: Sequence[str], vocab_size: int, tie_break: str) -> tuple[list[Pair], float, float]:
    """Train with one rung; return its merges and the seconds of counting and of merging."""
    if name == "kernel":
        return kernel(documents, vocab_size, tie_break)
    # Rung 3 is the one before it, with its words counted in parallel.
    module = "incremental_counts" if name == "parallel_pretokenization" else name
    trainer: Trainer = getattr(import_module(f"tokenizer_core.reference.trainers.{module}"), module)
    if name in SERIAL:
        # In a process of its own: compiling the pattern takes more memory than most rungs.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            words, counting = pool.submit(timed, documents).result()
    else:
        start = time.perf_counter()
        words = count_words_in_parallel(documents, PATTERN)
        counting = time.perf_counter() - start
    start = time.process_time()
    merges = learn(trainer, words, vocab_size, tie_break)
    return merges, counting, time.process_time() - start


def timed(documents: Sequence[str]) -> tuple[Counter[bytes], float]:
    """Count words one after the other."""
    start = time.perf_counter()
    words = count_words(documents, PATTERN)
    return words, time.perf_counter() - start


def kernel(documents: Sequence[str], vocab_size: int, tie_break: str) -> tuple[list[Pair], float, float]:
    """Train as the package does."""
    from tokenizer_core.training.settings import TrainSettings
    from tokenizer_core.training.train import counted, train

    rule: Any = tie_break  # A name of the command line, which train itself checks.
    start = time.perf_counter()
    counts = counted(iter(documents), TrainSettings(vocab_size=vocab_size, pattern=PATTERN))
    counting, start = time.perf_counter() - start, time.process_time()
    tokenizer = train(counts, vocab_size, pattern=PATTERN, tie_break=rule)
    return tokenizer.merges, counting, time.process_time() - start


def peak() -> float:
    """Return this process's peak memory in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        # ``getrusage`` counts what the parent had before this program was started.
        (line,) = (line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main() -> None:
    """Climb one rung."""
    name, path, vocab_size, tie_break = sys.argv[1:]
    import tokenizer_core  # noqa: F401 - what it takes is no rung's memory

    documents = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    before = peak()
    merges, counting, merging = rung(name, documents, int(vocab_size), tie_break)
    proof = hashlib.sha256(json.dumps([[left.hex(), right.hex()] for left, right in merges]).encode()).hexdigest()
    line = {"counting": counting, "merging": merging, "megabytes": peak() - before}
    print(json.dumps(line | {"merges": len(merges), "proof": proof}))  # noqa: T201 - read by who started it


if __name__ == "__main__":
    main()
