"""Point 10: speed on this machine."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from tokenizer_core.checking.report import Finding, failed, passed
from tokenizer_core.checking.texts import prose
from tokenizer_core.tokenizer import Tokenizer

FLOOR_MB_S = 1.0
"""Under this something is broken (a pattern that backtracks, a debug build), however slow the machine."""

_SAMPLE_BYTES = 1_000_000
_LEAST_ROUNDS, _MOST_ROUNDS, _ENOUGH_SECONDS = 3, 25, 0.15


def throughput(tokenizer: Tokenizer, clock: Callable[[], float] = perf_counter) -> Finding:
    """Encode, count and decode about a megabyte of mixed text on one thread.

    The best of several rounds counts: on a busy machine most of them are interrupted."""
    mixed = "\n".join(prose(tokenizer).values())
    text = mixed * (_SAMPLE_BYTES // len(mixed.encode()) + 1)
    size = len(text.encode())
    ids = tokenizer.encode(text, special_tokens="text")
    calls: dict[str, Callable[[], object]] = {
        "encode": lambda: tokenizer.encode(text, special_tokens="text"),
        "count": lambda: tokenizer.count(text, special_tokens="text"),
        "decode": lambda: tokenizer.decode_bytes(ids),
    }
    speeds = {name: round(size / _best(call, clock) / 1e6, 2) for name, call in calls.items()}
    evidence = {"bytes": size, "tokens": len(ids), "mb_per_s": speeds, "floor_mb_per_s": FLOOR_MB_S}
    slow = [name for name, speed in speeds.items() if speed < FLOOR_MB_S]
    if slow:
        return failed(f"{slow[0]} runs at {speeds[slow[0]]} MB/s, under {FLOOR_MB_S:g} MB/s", **evidence)
    return passed(", ".join(f"{name} {speed:.0f} MB/s" for name, speed in speeds.items()), **evidence)


def _best(call: Callable[[], object], clock: Callable[[], float]) -> float:
    times: list[float] = []
    while len(times) < _LEAST_ROUNDS or (len(times) < _MOST_ROUNDS and sum(times) < _ENOUGH_SECONDS):
        start = clock()
        call()
        times.append(clock() - start)
    return max(min(times), 1e-9)
