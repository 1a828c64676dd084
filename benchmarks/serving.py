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


def command(server: str, port: int, artifact: Path) -> list[str]:
    """Return how a server is started."""
    if server == "plain":
        options = ["--port", str(port), "--log-level", "warning", "--no-access-log"]
        return [sys.executable, "-m", "uvicorn", "benchmarks.plain_service:app", *options]
    tokd = "from service.cli import main; raise SystemExit(main())"
    options = ["--artifact", str(artifact), "--port", str(port), "--access-log", "false"]
    return [sys.executable, "-c", tokd, "serve", *options]


@contextmanager
def running(server: str, artifact: Path, core: int) -> Iterator[int]:
    """Run a server on one core until it is no longer needed; give its port."""
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pinned = ["taskset", "--cpu-list", str(core), *command(server, port, artifact)]
    process = subprocess.Popen(pinned, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        wait_until_ready(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def wait_until_ready(port: int, process: subprocess.Popen[bytes]) -> None:
    """Ask until the server says that it is ready."""
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise SystemExit("a server did not become ready")


def texts(size: int) -> list[str]:
    """Cut distinct English texts of ``size`` characters; long ones begin at different places of the corpus."""
    corpus = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    step = (len(corpus) - size) // BODIES
    return [corpus[at * step : at * step + size] for at in range(BODIES)]


def prove_equal(ports: dict[str, int], bodies: list[bytes]) -> None:
    """Refuse to go on if the two servers give different ids for any body."""
    for number, body in enumerate(bodies):
        answers = [
            httpx.post(
                f"http://127.0.0.1:{port}/encode", content=body, headers={"content-type": "application/json"}
            ).json()
            for port in ports.values()
        ]
        if any((one["ids"], one["count"]) != (answers[0]["ids"], answers[0]["count"]) for one in answers):
            raise SystemExit(f"{' and '.join(ports)} give different ids for body {number}: no speed is shown")


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    on = document["machine"]
    results = document["results"]
    lines = [
        f"Requests per second (p50 / p99 in ms), {VOCABULARY}, {BODIES} distinct English texts in turn,"
        f" {load.CONNECTIONS} connections from {document['generator']}; one worker on one core of {on['cpu']},"
        f" the load on another; medians of {document['rounds']} rounds in turn; Python {on['python']}.",
        "",
        report.row(["", *(f"{size:,} characters" for size in SIZES)]),
        report.row(["---"] * (len(SIZES) + 1)),
    ]
    for server in SERVERS:
        cells = [results[str(size)][server] for size in SIZES]
        shown = [f"{one['per_second']:,.0f} ({one['p50_ms']:.1f} / {one['p99_ms']:.1f})" for one in cells]
        name = "tokd" if server == "tokd" else f"FastAPI + pydantic + tiktoken {document['versions']['tiktoken']}"
        lines.append(report.row([name, *shown]))
    ratios = [results[str(size)]["tokd"]["per_second"] / results[str(size)]["plain"]["per_second"] for size in SIZES]
    return "\n".join([*lines, report.row(["**tokd / plain**", *(f"{ratio:.1f}" for ratio in ratios)])])


def median_load(loads: list[load.Load]) -> dict[str, float]:
    """Return the median of every figure."""
    return {
        "per_second": statistics.median(one["per_second"] for one in loads),
        "p50_ms": statistics.median(one["p50_ms"] for one in loads),
        "p99_ms": statistics.median(one["p99_ms"] for one in loads),
    }


def measure(directory: Path, size: int, rounds: int, seconds: int) -> dict[str, dict[str, float]]:
    """Measure both servers on texts of one size."""
    cores = sorted(os.sched_getaffinity(0))
    # "text", so that both do the same: tiktoken's encode_ordinary looks for no special token.
    ours = [json.dumps({"text": text, "special_tokens": "text"}).encode() for text in texts(size)]
    theirs = [json.dumps({"text": text}).encode() for text in texts(size)]
    files = {}
    for server, bodies in (("tokd", ours), ("plain", theirs)):
        files[server] = directory / f"{server}-{size}.jsonl"
        files[server].write_bytes(b"\n".join(bodies) + b"\n")
    taken: dict[str, list[load.Load]] = {server: [] for server in SERVERS}
    artifact = directory / VOCABULARY
    with running("tokd", artifact, cores[0]) as ours_port, running("plain", artifact, cores[0]) as plain_port:
        ports = {"tokd": ours_port, "plain": plain_port}
        prove_equal(ports, theirs)
        for _ in range(rounds):
            for server, port in ports.items():
                taken[server].append(load.run(port, files[server], seconds, cores[-1]))
    if any(one["errors"] for loads in taken.values() for one in loads):
        raise SystemExit("a server answered with errors under load: no speed is shown")
    return {server: median_load(loads) for server, loads in taken.items()}


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
