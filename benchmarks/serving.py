"""``python -m benchmarks http``: this service against a plain one, each a single worker on one core, in turn.

The load generator sits on the other core. The answers of both are proven equal on every body before anything is timed.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx

from benchmarks import load, machine, report
from benchmarks.contenders import SPECIAL_TOKENS
from benchmarks.corpora import ROOT, data_dir

SIZES = (200, 4_000, 100_000)
BODIES = 64
VOCABULARY = "cl100k_base"
SERVERS = ("tokd", "plain")


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def make_artifact(directory: Path) -> Path:
    """Import the public vocabulary that both servers use."""
    from tokenizer_core import Tokenizer

    source = data_dir() / "vocabs" / f"{VOCABULARY}.tiktoken"
    path = directory / VOCABULARY
    Tokenizer.from_tiktoken(source, pattern=VOCABULARY, special_tokens=SPECIAL_TOKENS[VOCABULARY]).save(path)
    return path


def command(server: str, port: int, artifact: Path, more: tuple[str, ...] = ()) -> list[str]:
    """Return how a server is started; ``more`` are flags of tokd."""
    if server == "plain":
        options = ["--port", str(port), "--log-level", "warning", "--no-access-log"]
        return [sys.executable, "-m", "uvicorn", "benchmarks.plain_service:app", *options]
    tokd = "from service.cli import main; raise SystemExit(main())"
    options = ["--artifact", str(artifact), "--port", str(port), "--access-log", "false"]
    return [sys.executable, "-c", tokd, "serve", *options, *more]


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    port: int
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """Return the processor time that the server has taken by now: what load on the machine does not change."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(server: str, artifact: Path, core: int | None, more: tuple[str, ...] = ()) -> Iterator[Server]:
    """Run a server on one core, or on all, until it is no longer needed."""
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pin = [] if core is None else ["taskset", "--cpu-list", str(core)]
    pinned = [*pin, *command(server, port, artifact, more)]
    with (artifact.parent / f"{server}.log").open("wb") as log:
        process = subprocess.Popen(pinned, env=environment, cwd=ROOT, stdout=log, stderr=log)
    try:
        if not is_ready(port, process):
            raise SystemExit(f"{server} did not become ready: {Path(log.name).read_text(encoding='utf-8')[-2000:]}")
        yield Server(port, process)
    finally:
        process.terminate()
        process.wait()


def is_ready(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Ask until the server says that it is ready, or has given up."""
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                return True
        except httpx.TransportError:
            time.sleep(0.05)
    return False


def texts(size: int) -> list[str]:
    """Cut distinct English texts of ``size`` characters; long ones begin at different places of the corpus."""
    corpus = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    step = (len(corpus) - size) // BODIES
    return [corpus[at * step : at * step + size] for at in range(BODIES)]


def ids_of(server: Server, body: bytes) -> tuple[list[int], int]:
    """Ask a server for the ids of one body."""
    url = f"http://127.0.0.1:{server.port}/encode"
    answer = httpx.post(url, content=body, headers={"content-type": "application/json"}).json()
    return answer["ids"], answer["count"]


def prove_equal(servers: dict[str, Server], bodies: list[bytes]) -> None:
    """Refuse to go on if the two servers give different ids for any body."""
    for number, body in enumerate(bodies):
        answers = [ids_of(server, body) for server in servers.values()]
        if any(one != answers[0] for one in answers):
            raise SystemExit(f"{' and '.join(servers)} give different ids for body {number}: no speed is shown")


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    on = document["machine"]
    results = document["results"]
    lines = [
        f"Requests per second (p50 / p99 in ms; processor time of a request), {VOCABULARY},"
        f" {BODIES} distinct English texts in turn, {load.CONNECTIONS} connections from {document['generator']};"
        f" one worker on one core of {on['cpu']}, the load on another; medians of {document['rounds']} rounds in turn;"
        f" Python {on['python']}.",
        "",
        report.row(["", *(f"{size:,} characters" for size in SIZES)]),
        report.row(["---"] * (len(SIZES) + 1)),
    ]
    for server in SERVERS:
        cells = [results[str(size)][server] for size in SIZES]
        shown = [
            f"{one['per_second']:,.0f} ({one['p50_ms']:.1f} / {one['p99_ms']:.1f}; {one['cpu_us']:,.0f} µs)"
            for one in cells
        ]
        name = "tokd" if server == "tokd" else f"FastAPI + pydantic + tiktoken {document['versions']['tiktoken']}"
        lines.append(report.row([name, *shown]))
    by_rate = [results[str(size)]["tokd"]["per_second"] / results[str(size)]["plain"]["per_second"] for size in SIZES]
    by_cpu = [results[str(size)]["plain"]["cpu_us"] / results[str(size)]["tokd"]["cpu_us"] for size in SIZES]
    shown = [f"{rate:.1f} ({cpu:.1f} by processor time)" for rate, cpu in zip(by_rate, by_cpu, strict=True)]
    return "\n".join([*lines, report.row(["**tokd / plain**", *shown])])


@dataclass(frozen=True)
class Taken:
    """One round: what the load generator saw, and what the server's processor did for each request."""

    load: load.Load
    cpu_microseconds: float


def load_once(server: Server, bodies: Path, seconds: int, core: int) -> Taken:
    """Load one server for some seconds."""
    before = server.cpu_seconds()
    seen = load.run(server.port, bodies, seconds, core)
    return Taken(seen, (server.cpu_seconds() - before) * 1e6 / max(1, seen["requests"]))


def medians(rounds: list[Taken]) -> dict[str, float]:
    """Return the median of every figure."""
    return {
        "per_second": statistics.median(one.load["per_second"] for one in rounds),
        "p50_ms": statistics.median(one.load["p50_ms"] for one in rounds),
        "p99_ms": statistics.median(one.load["p99_ms"] for one in rounds),
        "cpu_us": statistics.median(one.cpu_microseconds for one in rounds),
    }


def measure(directory: Path, size: int, rounds: int, seconds: int) -> dict[str, dict[str, float]]:
    """Measure both servers on texts of one size."""
    cores = sorted(os.sched_getaffinity(0))
    # "text", so that both do the same: tiktoken's encode_ordinary looks for no special token.
    ours = [json.dumps({"text": text, "special_tokens": "text"}).encode() for text in texts(size)]
    theirs = [json.dumps({"text": text}).encode() for text in texts(size)]
    files = {}
    for name, bodies in (("tokd", ours), ("plain", theirs)):
        files[name] = directory / f"{name}-{size}.jsonl"
        files[name].write_bytes(b"\n".join(bodies) + b"\n")
    taken: dict[str, list[Taken]] = {name: [] for name in SERVERS}
    artifact = directory / VOCABULARY
    with running("tokd", artifact, cores[0]) as tokd, running("plain", artifact, cores[0]) as plain:
        servers = {"tokd": tokd, "plain": plain}
        prove_equal(servers, theirs)
        for _ in range(rounds):
            for name, server in servers.items():
                taken[name].append(load_once(server, files[name], seconds, cores[-1]))
    if any(one.load["errors"] for loads in taken.values() for one in loads):
        raise SystemExit("a server answered with errors under load: no speed is shown")
    return {name: medians(loads) for name, loads in taken.items()}


def main(*, short: bool) -> int:
    """Measure, write ``results/http.json`` and ``.md``, print the table."""
    rounds, seconds = (1, 2) if short else (3, 5)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        make_artifact(directory)
        results = {str(size): measure(directory, size, rounds, seconds) for size in SIZES}
    versions = {package: metadata.version(package) for package in ("fastapi", "pydantic", "tiktoken", "uvicorn")}
    document = {
        "machine": machine.describe(),
        "versions": versions,
        "generator": load.generator(),
        "rounds": rounds,
        "results": results,
    }
    text = table(document)
    if not short:
        report.write("http", document, text)
    print(text)
    return 0
