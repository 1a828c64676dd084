"""Load a server from one core: ``wrk`` if it is installed, else raw sockets.

The raw-socket client (``python -m benchmarks.load PORT BODIES SECONDS CONNECTIONS PATH``) is Python and tops out at ten
thousand requests a second or so; ``wrk`` does not, so results name the generator.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TypedDict

CONNECTIONS = 16

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


def generator() -> str:
    """Return the name of the load generator in use."""
    return "wrk" if shutil.which("wrk") else "raw sockets"


def raw(port: int, bodies: Path, seconds: int, connections: int, path: str) -> list[str]:
    """Return the command of the raw-socket client."""
    arguments = [str(port), str(bodies), str(seconds), str(connections), path]
    return [sys.executable, "-m", "benchmarks.load", *arguments]


def run(port: int, bodies: Path, seconds: int, core: int, path: str) -> Load:
    """Load ``POST path`` from ``core``; ``bodies`` holds one JSON body a line."""
    pinned = ["taskset", "--cpu-list", str(core)]
    if generator() == "raw sockets":
        command = [*pinned, *raw(port, bodies, seconds, CONNECTIONS, path)]
        answer: Load = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return answer
    script = bodies.with_suffix(".lua")
    script.write_text(WRK_SCRIPT, encoding="utf-8")
    # By default wrk waits for two seconds: too few for the slowest server and 1 MB on every connection.
    options = ["--threads", "1", "--connections", str(CONNECTIONS), "--timeout", "60s"]
    options += ["--duration", f"{seconds}s", "--latency"]
    url = f"http://127.0.0.1:{port}{path}"
    command = [*pinned, "wrk", *options, "--script", str(script), url, "--", str(bodies)]
    return read_wrk(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def read_wrk(text: str) -> Load:
    """Read wrk's summary."""

    def milliseconds(percent: int) -> float:
        found = re.search(rf"{percent}%\s+([\d.]+)(us|ms|s|m)\b", text)
        assert found is not None, text
        return float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}[found[2]]

    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    assert rate is not None, text
    failed = sum(int(number) for number in re.findall(r"Non-2xx or 3xx responses: (\d+)", text))
    failed += sum(int(number) for number in re.findall(r"(?:connect|read|write|timeout) (\d+)", text))
    total = re.search(r"(\d+) requests in", text)
    assert total is not None, text
    return {
        "requests": int(total[1]),
        "per_second": float(rate[1]),
        "p50_ms": milliseconds(50),
        "p99_ms": milliseconds(99),
        "errors": failed,
    }


def request(path: str, body: bytes) -> bytes:
    """Write one request."""
    head = b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % (path.encode("ascii"), len(body)) + body


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes) -> bool:
    """Send a request, read the answer, and tell whether it is a 200."""
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    await reader.readexactly(int(length[1]) if length else 0)
    return b" 200 " in head[:16]


async def one_connection(port: int, requests: list[bytes], until: float, latencies: list[float]) -> int:
    """Send one request after the other until the time is up; return how many were not answered 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    at = errors = 0
    while time.perf_counter() < until:
        start = time.perf_counter()
        errors += not await ask(reader, writer, requests[at % len(requests)])
        latencies.append(time.perf_counter() - start)
        at += 1
    writer.close()
    return errors


async def main(port: int, bodies: list[bytes], seconds: int, connections: int, path: str) -> Load:
    """Load the server over raw sockets."""
    requests = [request(path, body) for body in bodies]
    latencies: list[float] = []
    until = time.perf_counter() + seconds
    errors = await asyncio.gather(*(one_connection(port, requests, until, latencies) for _ in range(connections)))
    latencies.sort()
    return {
        "requests": len(latencies),
        "per_second": len(latencies) / seconds,
        "p50_ms": latencies[len(latencies) // 2] * 1e3,
        "p99_ms": latencies[len(latencies) * 99 // 100] * 1e3,
        "errors": sum(errors),
    }


if __name__ == "__main__":
    port, file, seconds, connections, path = sys.argv[1:]
    lines = Path(file).read_bytes().splitlines()
    print(json.dumps(asyncio.run(main(int(port), lines, int(seconds), int(connections), path))))
