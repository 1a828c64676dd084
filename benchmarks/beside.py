"""``python -m benchmarks beside``: the latency of small requests while a job trains beside them, and without one.

One server with its worker, all on the same cores. Quiet and busy stretches take turns.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from benchmarks import load, report, servers
from benchmarks.corpora import data_dir
from benchmarks.train import write_mixed

CHARACTERS = 200
POLL = 0.5
"""Seconds between two looks at the job."""

VOCAB_SIZE = 100_000
GOAL = 2.0


def job(client: httpx.Client, corpus: Path, number: int) -> str:
    """Submit a job and wait until it runs."""
    settings = {"vocab_size": VOCAB_SIZE + number, "pattern": "gpt2"}
    wanted = {"corpus": {"files": [str(corpus)]}, "settings": settings}
    answer = client.post("/train-job", json=wanted)
    if answer.status_code != 202:
        raise SystemExit(f"the job was not taken: {answer.text}")
    name: str = answer.json()["id"]
    wait(client, name, {"queued"})
    return name


def wait(client: httpx.Client, name: str, states: set[str]) -> dict[str, Any]:
    """Wait while a job is in one of some states."""
    while True:
        found: dict[str, Any] = client.get(f"/train-job/{name}").json()
        if found["state"] not in states:
            return found
        time.sleep(POLL)


def pause(client: httpx.Client, seconds: float) -> None:
    """Wait as long, asking as often: the question costs the same in both stretches."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        client.get("/train-job")
        time.sleep(POLL)


def stretch(port: int, bodies: Path, seconds: float, corpus: Path | None, number: int, into: list[float]) -> float:
    """Ask for some seconds, or while a job runs; return how long it was."""
    # One client: to make one takes longer than many requests, and would hold up those that are measured.
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
    name = None if corpus is None else job(client, corpus, number)
    start = time.perf_counter()
    with load.steady(port, "/encode", bodies, into):
        if name is None:
            pause(client, seconds)
        else:
            succeed(client, name)
    return time.perf_counter() - start


def succeed(client: httpx.Client, name: str) -> None:
    """Wait until a job has succeeded."""
    ended = wait(client, name, {"running"})
    if ended["state"] != "succeeded":
        raise SystemExit(f"the job {ended['state']}: {ended['error']}")


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    results = document["results"]
    heading = (
        f"Latency in ms of `/encode` with {CHARACTERS} characters at {load.STEADY_PER_SECOND} requests a second over"
        f" {load.STEADY_CONNECTIONS} connections, beside a job that trains {VOCAB_SIZE:,} tokens on"
        f" {document['megabytes']} MB, and without one;"
        f" server, job and load on {report.on(document)}."
    )
    ratios = [f"{results['beside a job'][key] / results['without'][key]:.2f}" for key in load.PERCENTS]
    return report.page(heading, [*load.table("", results), report.row(["**times as long**", "", *ratios])])


def main(*, short: bool) -> int:
    """Measure, write ``results/beside.json`` and ``.md``, print the table; fail when the p99 is over twice as long."""
    rounds, megabytes = (1, 20) if short else (4, 200)
    text = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    cuts = [text[at : at + CHARACTERS] for at in range(0, 1000 * CHARACTERS, CHARACTERS)]
    found: dict[str, list[float]] = {"without": [], "beside a job": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        artifact = servers.make_artifact(folder)
        bodies = load.write_bodies(folder / "bodies.jsonl", ({"text": cut} for cut in cuts))
        (corpus := folder / "corpus").mkdir()
        write_mixed(corpus / "mixed.txt", megabytes * 1_000_000)
        with servers.running("tokd", artifact, None, ("--corpus-root", str(corpus))) as server:
            stretch(server.port, bodies, 1, None, 0, [])
            for number in range(rounds):
                print(f"round {number + 1} of {rounds}", file=sys.stderr)
                busy = stretch(server.port, bodies, 0, corpus / "mixed.txt", number, found["beside a job"])
                stretch(server.port, bodies, min(busy, 30), None, number, found["without"])
    results = {name: load.percentiles(times) for name, times in found.items()}
    report.tell("beside", table, short=short, megabytes=megabytes, rounds=rounds, results=results)
    return int(results["beside a job"]["p99"] > GOAL * results["without"]["p99"])
