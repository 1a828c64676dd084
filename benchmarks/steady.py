"""Small requests at a steady pace, from a process of their own: ``python -m benchmarks.steady PORT PATH BODIES``.

A slow answer is not hidden by fewer questions, since a request that is late counts from when it was due. The process
asks until its standard input ends, and prints the latencies as JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import load
from benchmarks.peers import environment

PER_SECOND = 400
CONNECTIONS = 4


@dataclass
class Latencies:
    """Seconds of every request, and how many were not answered 200."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0

    def percentile(self, percent: float) -> float:
        """Return a latency in milliseconds that this share of the requests does not exceed."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] * 1e3

    def percentiles(self) -> dict[str, float]:
        """Return how many there were, and the percentiles that are shown."""
        return {"requests": len(self.seconds), **{f"p{p:g}": self.percentile(p) for p in (50, 90, 99, 99.9)}}


async def _one_connection(port: int, requests: list[bytes], stop: asyncio.Event, into: Latencies) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    pace = CONNECTIONS / PER_SECOND
    due = time.perf_counter() + random.random() * pace
    for request in itertools.cycle(requests):
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        if stop.is_set():
            break
        is_answered = await load.ask(reader, writer, request)
        into.seconds.append(time.perf_counter() - due)
        into.errors += not is_answered
        due += pace
    writer.close()


async def _ask(port: int, requests: list[bytes]) -> Latencies:
    stop, into = asyncio.Event(), Latencies()
    asyncio.get_running_loop().add_reader(sys.stdin, stop.set)
    await asyncio.gather(*(_one_connection(port, requests, stop, into) for _ in range(CONNECTIONS)))
    return into


@contextmanager
def asking(port: int, path: str, bodies: Path, into: Latencies) -> Iterator[None]:
    """Ask ``POST path`` meanwhile; ``bodies`` holds one JSON body a line."""
    command = [sys.executable, "-m", "benchmarks.steady", str(port), path, str(bodies)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    try:
        yield
    finally:
        found, _ = process.communicate()
    answer = json.loads(found)
    into.seconds += answer["seconds"]
    into.errors += answer["errors"]


def main() -> None:
    """Ask until the standard input ends."""
    port, path, bodies = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    requests = [load.request(path, line) for line in bodies.read_bytes().splitlines()]
    found = asyncio.run(_ask(port, requests))
    print(json.dumps({"seconds": found.seconds, "errors": found.errors}))


if __name__ == "__main__":
    main()
