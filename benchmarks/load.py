"""The load generator, in a process of its own: requests in a loop or at a pace, over raw sockets or by ``wrk``.

The raw sockets are Python and top out at ten thousand requests a second or so; ``wrk`` does not, so results name the
generator of loops.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

from benchmarks import process, report

CONNECTIONS = 16
GIVE_UP_SECONDS = 60.0
MAX_CONNECTIONS = 900
"""What is due while all wait is sent later."""

STEADY_PER_SECOND, STEADY_CONNECTIONS = 400, 4
"""Of ``steady``."""

PERCENTS = {f"p{percent:g}": percent for percent in (50, 90, 99, 99.9)}

# Every connection walks through all bodies, so that no server can live from one remembered answer.
WRK_SCRIPT = """
local bodies, at = {}, 0
function init(args)
  for line in io.lines(args[1]) do bodies[#bodies + 1] = line end
  wrk.method = "POST"
  wrk.headers["content-type"] = "application/json"
end
function request()
  at = at % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
"""


class Load(TypedDict):
    """What a server did under load."""

    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    errors: int


class Caller:
    """Sends requests on connections that are used again, and notes what comes back: milliseconds by status."""

    def __init__(self, port: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self.times: defaultdict[int, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()
        self._port, self._clock = port, clock
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, sent: bytes, began: float | None = None) -> None:
        """Send one request, whose time begins now or began before; the answer may come while the body is under way."""
        try:
            async with asyncio.timeout(GIVE_UP_SECONDS):
                await self._ask(sent, self._clock() if began is None else began)
        except (OSError, EOFError, TimeoutError) as error:
            self.errors[type(error).__name__] += 1

    def close(self) -> None:
        """Close the connections, of which none waits for an answer."""
        for _, writer in self._free:
            writer.close()

    async def _ask(self, sent: bytes, began: float) -> None:
        reader, writer = (
            self._free.pop() if self._free else await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        )
        keep = False
        try:
            writer.write(sent)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)
            took = self._clock() - began
            self.times[int(head.split(b" ", 2)[1])].append(took * 1e3)
            keep = b"connection: close" not in head
        finally:
            if keep:
                self._free.append((reader, writer))
            else:
                writer.close()


def request(path: str, body: bytes, accept: str = "*/*") -> bytes:
    """Write one request."""
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: {accept}\r\ncontent-type: application/json\r\n"
    return b"%bcontent-length: %d\r\n\r\n" % (head.encode("ascii"), len(body)) + body


def write_bodies(path: Path, bodies: Iterable[object]) -> Path:
    """Write a file of bodies, a line each."""
    path.write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")
    return path


async def at_pace(
    port: int,
    requests: Iterable[bytes],
    per_second: float,
    is_over: Callable[[], bool],
    connections: int = MAX_CONNECTIONS,
    from_due: bool = False,
) -> Caller:
    """Send requests at a steady pace, whether or not those before are answered.

    With ``from_due`` the time of a request begins when it is due: a slow answer is not hidden by fewer questions.
    """
    caller, began, room = Caller(port), time.perf_counter(), asyncio.Semaphore(connections)
    async with asyncio.TaskGroup() as group:
        for number, sent in enumerate(itertools.cycle(requests)):
            due = began + number / per_second
            # Each begins before the next is due, so that no time of one is counted for another.
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await room.acquire()
            if is_over():
                break
            task = group.create_task(caller.ask(sent, due if from_due else None))
            task.add_done_callback(lambda _: room.release())
    caller.close()
    return caller


async def looped(
    port: int,
    requests: Iterator[bytes],
    connections: int,
    is_over: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.perf_counter,
) -> Caller:
    """Send requests one after the other on each connection; with one of them ``clock`` may be the server's own."""
    caller = Caller(port, clock)

    async def one_after_the_other() -> None:
        for sent in requests:
            if is_over():
                break
            await caller.ask(sent)

    await asyncio.gather(*(one_after_the_other() for _ in range(connections)))
    caller.close()
    return caller


async def _generate(
    port: int, requests: list[bytes], seconds: float, connections: int, per_second: float, from_due: bool
) -> dict[str, Any]:
    until, stop = time.perf_counter() + seconds, asyncio.Event()
    if not seconds:
        asyncio.get_running_loop().add_reader(sys.stdin, stop.set)

    def is_over() -> bool:
        return stop.is_set() or (seconds > 0 and time.perf_counter() >= until)

    if per_second:
        caller = await at_pace(port, requests, per_second, is_over, connections, from_due)
    else:
        caller = await looped(port, itertools.cycle(requests), connections, is_over)
    return {"times": caller.times, "errors": caller.errors}


def work(path: str, bodies: str, order: str) -> dict[str, Any]:
    """Generate load, for some seconds or until the standard input ends."""
    requests = [request(path, line) for line in Path(bodies).read_bytes().splitlines()]
    return asyncio.run(_generate(requests=requests, **json.loads(order)))


class Client:
    """A generator in a process of its own, so that its times are none of another's."""

    def __init__(
        self,
        port: int,
        path: str,
        bodies: Path,
        seconds: float = 0,
        connections: int = CONNECTIONS,
        per_second: float = 0,
        from_due: bool = False,
        pin: tuple[str, ...] = (),
    ) -> None:
        order = {"port": port, "seconds": seconds, "connections": connections, "per_second": per_second}
        command = process.command("load", path, bodies, json.dumps(order | {"from_due": from_due}))
        # A pipe would be full before it is read.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [*pin, *command], stdin=subprocess.PIPE, stdout=self._said, env=process.environment()
        )

    def result(self) -> dict[str, Any]:
        """Return what it says at its end, which comes now if it has no other."""
        self.process.communicate()
        if self.process.returncode:
            raise SystemExit("a client failed: nothing is shown")
        with self._said as said:
            said.seek(0)
            found: dict[str, Any] = json.load(said)
            return found

    def load(self, seconds: float) -> Load:
        """Return the result of a loop in figures."""
        found = self.result()
        times = found["times"].pop("200", [])
        return {
            "requests": len(times),
            "per_second": len(times) / seconds,
            "p50_ms": percentile(times, 50),
            "p99_ms": percentile(times, 99),
            "errors": failures(found),
        }


def failures(found: dict[str, Any]) -> int:
    """Count what was not answered 200."""
    refused = sum(len(times) for status, times in found["times"].items() if status != "200")
    return int(refused + sum(found["errors"].values()))


def percentile(times: list[float], percent: float) -> float:
    """Return a time that this share does not exceed; infinite if there are none."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("inf")


def percentiles(times: list[float]) -> dict[str, float]:
    """Return how many there are, and the percentiles that are shown."""
    return {"requests": len(times), **{name: percentile(times, percent) for name, percent in PERCENTS.items()}}


def table(head: str, results: dict[str, dict[str, float]]) -> list[str]:
    """Write percentiles, a row a result."""
    rows = ([name, f"{one['requests']:,}", *(f"{one[key]:.2f}" for key in PERCENTS)] for name, one in results.items())
    return report.table([head, "requests", *PERCENTS], rows)


@contextmanager
def steady(port: int, path: str, bodies: Path, into: list[float]) -> Iterator[None]:
    """Ask at a steady pace meanwhile; every answer must be 200."""
    client = Client(port, path, bodies, 0, STEADY_CONNECTIONS, STEADY_PER_SECOND, from_due=True)
    try:
        yield
    finally:
        found = client.result()
    if failures(found):
        raise SystemExit("the server answered with errors: no latency is shown")
    into += found["times"].get("200", [])


def generator() -> str:
    """Return the name of the generator of loops."""
    return "wrk" if shutil.which("wrk") else "raw sockets"


def run(port: int, bodies: Path, seconds: int, core: int, path: str) -> Load:
    """Load ``POST path`` from ``core``; ``bodies`` holds one JSON body a line."""
    pin = ("taskset", "--cpu-list", str(core))
    if generator() == "raw sockets":
        return Client(port, path, bodies, seconds, pin=pin).load(seconds)
    script = bodies.with_suffix(".lua")
    script.write_text(WRK_SCRIPT, encoding="utf-8")
    # By default wrk waits for two seconds: too few for the slowest server and 1 MB on every connection.
    options = ["--threads", "1", "--connections", str(CONNECTIONS), "--timeout", "60s"]
    options += ["--duration", f"{seconds}s", "--latency", "--script", str(script), f"http://127.0.0.1:{port}{path}"]
    command = [*pin, "wrk", *options, "--", str(bodies)]
    return read_wrk(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def read_wrk(text: str) -> Load:
    """Read wrk's summary."""

    def found(pattern: str) -> re.Match[str]:
        match = re.search(pattern, text)
        assert match is not None, text
        return match

    def milliseconds(percent: int) -> float:
        value, unit = found(rf"{percent}%\s+([\d.]+)(us|ms|s|m)\b").groups()
        return float(value) * {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}[unit]

    failed = re.findall(r"(?:Non-2xx or 3xx responses:|connect|read|write|timeout) (\d+)", text)
    return {
        "requests": int(found(r"(\d+) requests in")[1]),
        "per_second": float(found(r"Requests/sec:\s+([\d.]+)")[1]),
        "p50_ms": milliseconds(50),
        "p99_ms": milliseconds(99),
        "errors": sum(map(int, failed)),
    }
