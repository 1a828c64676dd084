"""Measure one contender on one vocabulary in this fresh process.

Run by ``benchmarks.encode`` in the peers' own environment. Every timed call's own answer is hashed after the clock has
stopped, so a speed can never stand beside an answer that nobody looked at.
"""

from __future__ import annotations

import hashlib
import itertools
import mmap
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import Cuts, cuts
from benchmarks.openers import CONTENDERS, Encoder, Files

Result = dict[str, Any]
Clock = Callable[[], float]

REPEATS = 5
ENOUGH_SECONDS = 0.1
"""What is done again and again is done until this has passed, five times at most; the median counts."""

ROUNDS = 6
"""What is compared with each other is done so often at most: three works can be done in six orders."""


BACKED = 64 << 20
"""In bytes: most libraries need less for their first text."""


def back_free_memory() -> None:
    """Touch free memory and free it again.

    With free page reporting the host of a virtual machine takes large pages that have been free for two seconds, and
    who next touches one waits until all of it is there again: 4 ms where that was measured, and 0.1 without. This comes
    before a vocabulary is opened: it leaves the caches cold, which slowed other libraries' first texts when it was next
    to them.
    """
    with mmap.mmap(-1, BACKED, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as free:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            free.madvise(mmap.MADV_HUGEPAGE)
        free[:: mmap.PAGESIZE] = bytes(BACKED // mmap.PAGESIZE)


def digest(ids: Any) -> str:
    """Hash ids as little-endian 32 bit words."""
    return hashlib.sha256(np.asarray(ids, dtype="<u4").tobytes()).hexdigest()


def digest_bytes(text: bytes) -> str:
    """Hash what decoding gave back."""
    return hashlib.sha256(text).hexdigest()


def timed(work: Callable[[], Any], clock: Clock = time.process_time) -> tuple[float, Any]:
    """Run once; return seconds and the answer.

    On one core the clock is the processor time of all threads, which other work on the machine does not change.
    """
    start = clock()
    answer = work()
    return clock() - start, answer


def again(work: Callable[[], Any], size: int, proof: Callable[[Any], str], clock: Clock = time.process_time) -> Result:
    """Time the same work several times; all answers must have one proof."""
    taken: list[float] = []
    proofs: set[str] = set()
    while len(taken) < REPEATS and (not taken or sum(taken) < ENOUGH_SECONDS):
        seconds, answer = timed(work, clock)
        taken.append(seconds)
        proofs.add(proof(answer))
    return result(statistics.median(taken), size, " and ".join(sorted(proofs)))


def in_turn(works: dict[str, tuple[Callable[[], Any], Callable[[Any], str]]], size: int) -> dict[str, Result]:
    """Time several works and prove their answers as :func:`again`, one after the other, each round in another order.

    Hashing the spans of a text leaves less in the caches than hashing its ids, so each work comes after each other one.
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    proofs: dict[str, set[str]] = {name: set() for name in works}
    for order in itertools.islice(itertools.cycle(itertools.permutations(works)), ROUNDS):
        for name in order:
            work, proof = works[name]
            seconds, answer = timed(work)
            taken[name].append(seconds)
            proofs[name].add(proof(answer))
            del answer
        if sum(map(sum, taken.values())) >= ENOUGH_SECONDS:
            break
    return {name: result(statistics.median(taken[name]), size, " and ".join(sorted(proofs[name]))) for name in works}


def result(seconds: float, size: int, proof: str, calls: int = 1) -> Result:
    """Describe timed calls: seconds, bytes of UTF-8, how many calls, and the hash of what they gave."""
    return {"seconds": seconds, "bytes": size, "calls": calls, "proof": proof}


def covering(spans: Any, text: str) -> Any:
    """Turn spans of bytes into the smallest spans of code points that cover them."""
    units = np.frombuffer(text.encode(), dtype=np.uint8)
    begun = np.concatenate([[0], np.cumsum((units & 0xC0) != 0x80)])
    begins = np.concatenate([(units & 0xC0) != 0x80, [True]])
    starts, ends = np.asarray(spans, dtype=np.int64).T
    return np.stack([begun[starts] - ~begins[starts], begun[ends]], axis=1)


def spans_proof(encoder: Encoder, text: str, answer: Any) -> str:
    """Hash spans as code points."""
    spans = encoder.spans_of(answer)
    return digest(covering(spans, text) if encoder.in_bytes else spans)


def small(encoder: Encoder, texts: list[str]) -> Result:
    """Measure distinct texts, one call each."""
    seconds, answers = timed(lambda: [encoder.encode(text) for text in texts])
    ids = [np.asarray(encoder.ids_of(one), dtype="<u4") for one in answers]
    size = sum(len(text.encode()) for text in texts)
    return result(seconds, size, digest(np.concatenate(ids)), len(texts))


def single(encoder: Encoder, text: Cuts) -> dict[str, Result]:
    """Measure what one core does."""
    whole, size = text.whole, len(text.whole.encode())
    seconds, answer = timed(lambda: encoder.encode(whole))
    results = {"cold": result(seconds, size, digest(encoder.ids_of(answer)))}
    results["warm"] = again(lambda: encoder.encode(whole), size, lambda ids: digest(encoder.ids_of(ids)))
    for length, texts in text.small.items():
        if texts:
            results[f"small {length:,}"] = small(encoder, texts)
    given = encoder.given(answer)
    if (decode := encoder.decode) is not None:
        results["decode"] = again(lambda: decode(given), size, lambda back: digest_bytes(back.encode()))
    if (decode_bytes := encoder.decode_bytes) is not None:
        results["decode to bytes"] = again(lambda: decode_bytes(given), size, digest_bytes)
    # Counts and offsets are held against encoding by caches that know as much.
    compared: dict[str, tuple[Callable[[], Any], Callable[[Any], str]]] = {}
    if (count := encoder.count) is not None:
        compared["count"] = lambda: count(whole), str
    compared["again"] = lambda: encoder.encode(whole), lambda ids: digest(encoder.ids_of(ids))
    if (offsets := encoder.offsets) is not None:
        compared["offsets"] = (lambda: offsets(whole), lambda spans: spans_proof(encoder, whole, spans))
    return results | in_turn(compared, size) | batch(encoder, text, "batch on one core")


def batch(encoder: Encoder, text: Cuts, regime: str = "batch") -> dict[str, Result]:
    """Measure many texts in one call, by the time on the wall."""
    if (encode_batch := encoder.batch) is None:
        return {}
    encode_batch(["a"])  # Some peers import half of themselves and start their threads at the first call.
    size = sum(len(part.encode()) for part in text.documents)
    flat = encoder.flat
    return {
        regime: again(lambda: encode_batch(text.documents), size, lambda rows: digest(flat(rows)), time.perf_counter)
    }


def work(name: str, vocabulary: str, vocabs: str, converted: str, mode: str, *paths: str) -> Result:
    """Measure by ``single`` or by ``batch``."""
    if mode == "single":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    texts = {path: cuts(Path(path)) for path in paths}
    contender = CONTENDERS[name]
    if contender.kernel:
        os.environ["TOKD_KERNEL"] = contender.kernel
    back_free_memory()
    encoder = contender.open(vocabulary, Files(Path(vocabs), Path(converted)))
    measure = single if mode == "single" else batch
    opened = time.process_time()
    results = {path: measure(encoder, text) for path, text in texts.items()}
    return {"results": results, "cpu_seconds": time.process_time() - opened}
