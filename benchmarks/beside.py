"""``python -m benchmarks beside``: the latency of small requests while a job trains beside them, and without one.

One server with its worker, all on the same cores. The requests come at a steady pace, so that a slow answer is not
hidden by fewer questions; quiet and busy stretches take turns.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks import load, machine, report, servers
from benchmarks.corpora import data_dir
from benchmarks.train import mixed
from benchmarks.trainers import SEPARATOR

PER_SECOND = 400
CONNECTIONS = 4
CHARACTERS = 200
POLL = 0.5
"""Seconds between two looks at the job."""

VOCAB_SIZE = 100_000
GOAL = 2.0


@dataclass
class Latencies:
    """Seconds of every request, and how many were not answered 200."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0

    def percentile(self, percent: float) -> float:
        """Return a latency in milliseconds that this share of the requests does not exceed."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] * 1e3


async def one_connection(port: int, bodies: list[bytes], stop: threading.Event, into: Latencies) -> None:
    """Ask at a steady pace; a request that is late counts from when it was due."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    pace = CONNECTIONS / PER_SECOND
    due = time.perf_counter() + random.random() * pace
    requests = itertools.cycle([load.request("/encode", body) for body in bodies])
    while not stop.is_set():
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        is_answered = await load.ask(reader, writer, next(requests))
        into.seconds.append(time.perf_counter() - due)
        into.errors += not is_answered
        due += pace
    writer.close()


async def ask(port: int, bodies: list[bytes], stop: threading.Event, into: Latencies) -> None:
    """Ask over several connections until told to stop."""
    await asyncio.gather(*(one_connection(port, bodies, stop, into) for _ in range(CONNECTIONS)))


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


def stretch(port: int, bodies: list[bytes], seconds: float, corpus: Path | None, number: int, into: Latencies) -> float:
    """Ask for some seconds, or while a job runs; return how long it was."""
    stop = threading.Event()
    # One client: to make one takes longer than many requests, and would hold up those that are measured.
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
    name = None if corpus is None else job(client, corpus, number)
    start = time.perf_counter()
    thread = threading.Thread(target=lambda: asyncio.run(ask(port, bodies, stop, into)))
    thread.start()
    if name is None:
        pause(client, seconds)
    else:
        ended = wait(client, name, {"running"})
        if ended["state"] != "succeeded":
            raise SystemExit(f"the job {ended['state']}: {ended['error']}")
    stop.set()
    thread.join()
    return time.perf_counter() - start


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    on, results = document["machine"], document["results"]
    lines = [
        f"Latency in ms of `/encode` with {CHARACTERS} characters at {PER_SECOND} requests a second over {CONNECTIONS}"
        f" connections, beside a job that trains {VOCAB_SIZE:,} tokens on {document['megabytes']} MB, and without one;"
        f" server, job and load on {on['cores']} cores of {on['cpu']}, Python {on['python']}.",
        "",
        report.row(["", "requests", "p50", "p90", "p99", "p99.9"]),
        report.row(["---"] * 6),
    ]
    for name, one in results.items():
        figures = [f"{one[key]:.2f}" for key in ("p50", "p90", "p99", "p99.9")]
        lines.append(report.row([name, f"{one['requests']:,}", *figures]))
    ratios = [f"{results['beside a job'][key] / results['without'][key]:.2f}" for key in ("p50", "p90", "p99", "p99.9")]
    return "\n".join([*lines, report.row(["**times as long**", "", *ratios])])


def main(*, short: bool) -> int:
    """Measure, write ``results/beside.json`` and ``.md``, print the table; fail when the p99 is over twice as long."""
    rounds, megabytes = (1, 20) if short else (4, 200)
    text = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    cuts = [text[at : at + CHARACTERS] for at in range(0, 1000 * CHARACTERS, CHARACTERS)]
    bodies = [json.dumps({"text": cut}).encode() for cut in cuts]
    found = {"without": Latencies(), "beside a job": Latencies()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        artifact = servers.make_artifact(folder)
        corpus = folder / "corpus"
        corpus.mkdir()
        (corpus / "mixed.txt").write_text(SEPARATOR.join(mixed(megabytes * 1_000_000)), encoding="utf-8", newline="")
        with servers.running("tokd", artifact, None, ("--corpus-root", str(corpus))) as server:
            stretch(server.port, bodies, 1, None, 0, Latencies())
            for number in range(rounds):
                print(f"round {number + 1} of {rounds}", file=sys.stderr)
                busy = stretch(server.port, bodies, 0, corpus / "mixed.txt", number, found["beside a job"])
                stretch(server.port, bodies, min(busy, 30), None, number, found["without"])
    if any(one.errors for one in found.values()):
        raise SystemExit("the server answered with errors: no latency is shown")
    results = {
        name: {"requests": len(one.seconds), **{f"p{p:g}": one.percentile(p) for p in (50, 90, 99, 99.9)}}
        for name, one in found.items()
    }
    document = {"machine": machine.describe(), "megabytes": megabytes, "rounds": rounds, "results": results}
    shown = table(document)
    if not short:
        report.write("beside", document, shown)
    print(shown)
    return int(results["beside a job"]["p99"] > GOAL * results["without"]["p99"])
