"""``python -m benchmarks http``: this service and others, each a single worker on one core, in turn.

The load generator sits on the other core. The answers of all are proven equal on every text before anything is timed.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import load, peers, report, servers
from benchmarks.corpora import data_dir
from benchmarks.servers import VOCABULARY, Server
from service.reports import chart

SIZES = {
    "64 B": 64,
    "200 characters": 200,
    "2 KB": 2 << 10,
    "4,000 characters": 4_000,
    "64 KB": 64 << 10,
    "100,000 characters": 100_000,
    "1 MB": 1 << 20,
}
SHORT = ("200 characters", "4,000 characters", "100,000 characters")
BODIES = 64
LARGE_BODIES = 8
"""Of texts over 100,000 characters."""

LOOPED_CHARACTERS = 10_000_000
LOOPERS = 4

SETTLE_SECONDS = 0.3
"""So long all servers are idle before one is measured."""

SETTLE_LOOKS = 200

IDLE_SHARE = 0.1
"""Of a core: what an idle server may take."""


def texts(size: int) -> list[str]:
    """Cut distinct English texts of ``size`` characters; long ones begin at different places of the corpus."""
    corpus = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    count = BODIES if size <= 100_000 else LARGE_BODIES
    step = (len(corpus) - size) // count
    return [corpus[at * step : at * step + size] for at in range(count)]


def prove_equal(running: dict[str, Server], some: list[str]) -> None:
    """Refuse to go on if two servers give different ids for any text."""
    for number, text in enumerate(some):
        answers = [server.ids(text) for server in running.values()]
        if any(one != answers[0] for one in answers):
            raise SystemExit(f"{', '.join(running)} give different ids for text {number}: no speed is shown")


@dataclass(frozen=True)
class Taken:
    """One round: what the load generator saw, and what the server's processor did for each request."""

    load: load.Load
    cpu_microseconds: float


def settle(running: dict[str, Server]) -> None:
    """Wait until no server works on what the load generator left when its time was over; give up if one never stops."""
    for _ in range(SETTLE_LOOKS):
        before = [server.cpu_seconds() for server in running.values()]
        time.sleep(SETTLE_SECONDS)
        if all(
            server.cpu_seconds() - was < IDLE_SHARE * SETTLE_SECONDS
            for server, was in zip(running.values(), before, strict=True)
        ):
            return
    raise SystemExit(f"a server of {', '.join(running)} works though nobody asks it: no speed is shown")


def load_once(server: Server, bodies: Path, seconds: int, core: int) -> Taken:
    """Load one server for some seconds."""
    before = server.cpu_seconds()
    seen = load.run(server.port, bodies, seconds, core, server.kind.path)
    return Taken(seen, (server.cpu_seconds() - before) * 1e6 / max(1, seen["requests"]))


def medians(rounds: list[Taken]) -> dict[str, float]:
    """Return the median of every figure; refuse to show the speed of errors."""
    if any(one.load["errors"] for one in rounds):
        raise SystemExit("a server answered with errors under load: no speed is shown")
    return {
        "per_second": statistics.median(one.load["per_second"] for one in rounds),
        "p50_ms": statistics.median(one.load["p50_ms"] for one in rounds),
        "p99_ms": statistics.median(one.load["p99_ms"] for one in rounds),
        "cpu_us": statistics.median(one.cpu_microseconds for one in rounds),
    }


def measure(running: dict[str, Server], directory: Path, size: int, rounds: int, seconds: int) -> dict[str, Any]:
    """Measure all servers on texts of one size, in turn."""
    cores = sorted(os.sched_getaffinity(0))
    some = texts(size)
    prove_equal(running, some)
    taken: dict[str, list[Taken]] = {name: [] for name in running}
    for name, server in running.items():
        load.write_bodies(directory / f"{name}.jsonl", map(server.kind.body, some))
    for _ in range(rounds):
        for name, server in running.items():
            settle(running)
            taken[name].append(load_once(server, directory / f"{name}.jsonl", seconds, cores[-1]))
    return {name: medians(loads) for name, loads in taken.items()}


def measure_beside_large(server: Server, directory: Path, seconds: int) -> dict[str, float]:
    """Measure small requests, one after the other, while others loop very large ones."""
    small = load.write_bodies(directory / "small.jsonl", map(server.kind.body, texts(200)))
    corpus = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    document = (corpus * (LOOPED_CHARACTERS // len(corpus) + 1))[:LOOPED_CHARACTERS]
    large = load.write_bodies(directory / "large.jsonl", [server.kind.body(document)])
    port, path = server.port, server.kind.path
    loopers = load.Client(port, path, large, seconds + 2, LOOPERS)
    seen = load.Client(port, path, small, seconds, 1).load(seconds)
    looped = loopers.load(seconds + 2)
    if seen["errors"] or looped["errors"]:
        raise SystemExit("a server answered with errors under load: no latency is shown")
    return {"p50_ms": seen["p50_ms"], "p99_ms": seen["p99_ms"], "documents": looped["requests"]}


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    on, results, names = document["machine"], document["results"], document["names"]
    heading = (
        f"Requests per second (p50 / p99 in ms; processor time of a request), {VOCABULARY},"
        f" {BODIES} distinct English texts in turn ({LARGE_BODIES} of 1 MB), {load.CONNECTIONS} connections from"
        f" {document['generator']}; one worker on one core of {on['cpu']}, the load on another; medians of"
        f" {document['rounds']} rounds in turn; Python {on['python']}. Resident MB after all of it."
    )
    rows = [
        [name, *(shown(cells[server]) for cells in results.values()), f"{document['resident'][server]:.0f}"]
        for server, name in names.items()
    ]
    rows += [
        [f"**tokd / {name}**", *(_ratio(cells, server) for cells in results.values()), ""]
        for server, name in names.items()
        if server != "tokd"
    ]
    beside = document["beside_large"]
    return report.page(
        heading,
        report.table(["", *results, "MB"], rows),
        (
            f"`/encode` of 200 characters while {LOOPERS} clients loop documents of 10 MB ({beside['documents']} were"
            f" answered), server and clients on {on['cores']} cores: p50 {beside['p50_ms']:.1f} ms,"
            f" p99 {beside['p99_ms']:.1f} ms."
        ),
    )


def shown(cell: dict[str, float]) -> str:
    """Write the figures of one server and size."""
    return f"{cell['per_second']:,.0f} ({cell['p50_ms']:.1f} / {cell['p99_ms']:.1f}; {cell['cpu_us']:,.0f} µs)"


def _ratio(cells: dict[str, dict[str, float]], server: str) -> str:
    rate = cells["tokd"]["per_second"] / cells[server]["per_second"]
    by_cpu = cells[server]["cpu_us"] / cells["tokd"]["cpu_us"]
    return f"{rate:.2f} ({by_cpu:.2f} by processor time)"


def draw(document: dict[str, Any]) -> str:
    """Draw requests per second over the size of the text, a line a server."""
    series = {
        name: [(float(SIZES[size]), cells[server]["per_second"]) for size, cells in document["results"].items()]
        for server, name in document["names"].items()
    }
    across = chart.Axis.over("bytes of text", [x for points in series.values() for x, _ in points], logarithmic=True)
    up = chart.Axis.over("requests/s", [y for points in series.values() for _, y in points], logarithmic=True)
    return chart.lines("Requests per second, one worker on one core", across, up, series)


def main(*, short: bool) -> int:
    """Measure, write ``results/http.json``, ``.md`` and ``.svg``, print the table."""
    peers.prepare()
    rounds, seconds = (1, 2) if short else (3, 4)
    core = sorted(os.sched_getaffinity(0))[0]
    kinds = servers.available()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        artifact = servers.make_artifact(directory)
        with ExitStack() as stack:
            # No other server has a worker for jobs, whose processor time would be counted.
            more = {"tokd": ("--worker", "false")}
            running = {
                name: stack.enter_context(servers.running(name, artifact, core, more.get(name, ()))) for name in kinds
            }
            results = {}
            for size in SHORT if short else SIZES:
                print(f"measuring {size}", file=sys.stderr)
                results[size] = measure(running, directory, SIZES[size], rounds, seconds)
            resident = {name: server.resident() for name, server in running.items()}
        with servers.running("tokd", artifact, None) as server:
            beside_large = measure_beside_large(server, directory, 5 if short else 20)
    report.tell(
        "http",
        table,
        short=short,
        draw=draw,
        versions={package: metadata.version(package) for package in ("fastapi", "pydantic", "tiktoken", "uvicorn")},
        names={name: one.shown() for name, one in kinds.items()},
        generator=load.generator(),
        rounds=rounds,
        results=results,
        resident=resident,
        beside_large=beside_large,
    )
    return 0
