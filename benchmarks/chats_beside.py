"""The latency of small chats beside bombs, beside very large chats, beside a job that trains, and alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from benchmarks import beside, chat_worker, load, servers
from benchmarks.corpora import data_dir
from benchmarks.servers import Server
from benchmarks.train import write_mixed

GOAL = 10.0
"""Milliseconds that the p99 may have."""

CLIENTS = 4
LARGE_CLIENTS = 2
LARGE_CHARACTERS = 10_000_000
LARGE_MESSAGES = 1_000

BOMBS = {
    "nested": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "calls": "{% macro m(x) %}{% if x %}{{ m(x - 1) }}{{ m(x - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "hashes": "{% set ns = namespace(t=(0,)) %}{% for i in range(60) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}"
    "{{ {ns.t: 1} }}",
    "joins": "{{ ('x' * 100000).join(range(90000) | map('string')) }}",
}
"""Templates that take all the steps they may; no real template is one."""


def _loops(server: Server, bodies: Path, clients: int, seconds: int) -> Callable[[], None]:
    """Begin to send bodies over and over; the result ends when the time is over."""
    client = load.Client(server.port, "/encode", bodies, seconds, clients)

    def end() -> None:
        if not client.result()["times"]:
            raise SystemExit("nothing was answered beside the small chats: no latency is shown")

    return end


def _job(server: Server, corpus: Path, number: int) -> Callable[[], None]:
    client = httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60)
    name = beside.job(client, corpus, number)
    return lambda: beside.succeed(client, name)


def measure(directory: Path, small: Path, rounds: int, seconds: int, megabytes: int) -> dict[str, Any]:
    """Measure small chats beside each of the loads, in turn, on all cores."""
    artifact = directory / "chats"
    bombs = [directory / f"bomb-{name}" for name in BOMBS]
    opened = chat_worker.build(data_dir(), chat_worker.TEMPLATE)
    opened.save(artifact, name=artifact.name)
    for path, template in zip(bombs, BOMBS.values(), strict=True):
        opened.with_template(template).save(path, name=path.name)
    content = [{"role": "user", "content": "abc"}]
    exploding = directory / "bombs.jsonl"
    load.write_bodies(exploding, ({"messages": content, "tokenizer": path.name} for path in bombs))
    corpus = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    text = corpus * (LARGE_CHARACTERS // len(corpus) + 1)
    chat = chat_worker.chat(text, LARGE_MESSAGES, LARGE_CHARACTERS)
    large = load.write_bodies(directory / "large.jsonl", [{"messages": chat}])
    (trained := directory / "corpus").mkdir()
    write_mixed(trained / "mixed.txt", megabytes * 1_000_000)
    more = ["--corpus-root", str(trained), *(flag for path in bombs for flag in ("--artifact", str(path)))]
    found: dict[str, list[float]] = {}
    with servers.running("tokd", artifact, None, tuple(more)) as server:
        loads: dict[str, Callable[[int], Callable[[], None]]] = {
            "alone": lambda _: lambda: time.sleep(seconds),
            f"{CLIENTS} clients with bombs": lambda _: _loops(server, exploding, CLIENTS, seconds),
            f"{LARGE_CLIENTS} clients with chats of 10 MB": lambda _: _loops(server, large, LARGE_CLIENTS, seconds),
            "a job that trains": lambda number: _job(server, trained / "mixed.txt", number),
        }
        for number in range(rounds):
            for name, begin in loads.items():
                print(f"small chats beside: {name}, round {number + 1} of {rounds}", file=sys.stderr)
                end = begin(number)
                with load.steady(server.port, "/encode", small, found.setdefault(name, [])):
                    end()
    return {name: load.percentiles(times) for name, times in found.items()}


def table(results: dict[str, Any]) -> list[str]:
    """Write the result as lines of Markdown."""
    return [
        f"Latency in ms of `/encode` with a chat of seven messages, {load.STEADY_PER_SECOND} a second over"
        f" {load.STEADY_CONNECTIONS} connections from a process of its own, beside other work; server and load on all"
        " cores:",
        "",
        *load.table("beside", results),
    ]


def reaches_goal(results: dict[str, Any]) -> bool:
    """Tell whether no p99 is over the goal."""
    return all(one["p99"] <= GOAL for one in results.values())
