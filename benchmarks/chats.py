"""``python -m benchmarks chats``: chats to ids, in the library beside transformers and over HTTP on one core.

Ids are proven equal first: with transformers for every template, and between the library and all routes.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from benchmarks import beside, chat_worker, load, peers, report, servers, serving
from benchmarks.corpora import data_dir
from benchmarks.process import require
from benchmarks.servers import Server
from benchmarks.train import write_mixed

ROUTES = {"/encode": "ids", "/tokenize": "tokens", "/v1/chat/completions/render": "token_ids"}
"""What is asked, and the field of the answer with the ids."""

SIZES = {"7 messages": (7, 2_400), "100 messages": (100, 290_000)}
"""Messages and characters of a chat: some 570 and 65,000 ids."""

CHATS = 64
LARGE_CHATS = 8


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


def library(rounds: int) -> dict[str, Any]:
    """Measure the library and transformers on every template, in one process of the peers' environment."""
    found: dict[str, Any] = require("chat_worker", data_dir(), rounds, python=peers.PYTHON)
    return found


def chats(size: str) -> list[list[dict[str, str]]]:
    """Return distinct chats of one size."""
    messages, characters = SIZES[size]
    corpus = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    count = CHATS if messages < 50 else LARGE_CHATS
    step = (len(corpus) - characters) // count
    return [chat_worker.chat(corpus[at * step :], messages, characters) for at in range(count)]


def prove_equal(server: Server, artifact: Path, some: list[list[dict[str, str]]]) -> int:
    """Refuse to go on if a route gives other ids than the library; return how many ids a chat has in the middle."""
    from tokenizer_core import Tokenizer

    tokenizer = Tokenizer.open(artifact)
    counts = []
    for messages in some:
        for path, field in ROUTES.items():
            expected = tokenizer.encode_chat(messages, add_generation_prompt=path != "/encode").ids.tolist()
            answer = httpx.post(f"http://127.0.0.1:{server.port}{path}", json={"messages": messages}, timeout=60)
            if answer.json().get(field) != expected:
                raise SystemExit(f"{path} gives other ids than the library: no speed is shown")
        counts.append(len(expected))
    return int(statistics.median(counts))


def over_http(directory: Path, rounds: int, seconds: int) -> dict[str, Any]:
    """Measure all routes of one server on one core."""
    first, *_, last = sorted(os.sched_getaffinity(0))
    artifact = directory / "chats"
    chat_worker.build(data_dir(), chat_worker.TEMPLATE).save(artifact, name="chats")
    found: dict[str, Any] = {}
    with servers.running("tokd", artifact, first, ("--worker", "false")) as server:
        for size in SIZES:
            some = chats(size)
            ids = prove_equal(server, artifact, some)
            bodies = load.write_bodies(directory / "chats.jsonl", ({"messages": each} for each in some))
            routes = {path: replace(server, kind=replace(server.kind, path=path)) for path in ROUTES}
            taken: dict[str, list[serving.Taken]] = {path: [] for path in ROUTES}
            for _ in range(rounds):
                for path, one in routes.items():
                    serving.settle({path: one})
                    taken[path].append(serving.load_once(one, bodies, seconds, last))
            found[size] = {"ids": ids, **{path: serving.medians(loads) for path, loads in taken.items()}}
    return found


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


def measure_beside(directory: Path, small: Path, rounds: int, seconds: int, megabytes: int) -> dict[str, Any]:
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


def beside_table(results: dict[str, Any]) -> list[str]:
    """Write the result as lines of Markdown."""
    heading = (
        f"Latency in ms of `/encode` with a chat of seven messages, {load.STEADY_PER_SECOND} a second over"
        f" {load.STEADY_CONNECTIONS} connections from a process of its own, beside other work; server and load on all"
        " cores:"
    )
    return [heading, "", *load.table("beside", results)]


def reaches_goal(results: dict[str, Any]) -> bool:
    """Tell whether no p99 is over the goal."""
    return all(one["p99"] <= GOAL for one in results.values())


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    on, by_template, http = document["machine"], document["library"]["templates"], document["http"]
    equal = [one for one in by_template.values() if one["equal"]]
    ours, theirs = (statistics.median(one[name] for one in equal) for name in ("tokd", "transformers"))
    ratio = statistics.median(one["transformers"] / one["tokd"] for one in equal)
    lines = [
        f"A chat of seven messages to ids, one core of {on['cpu']}, processor time, median of the {len(equal)} of"
        f" {len(by_template)} real templates that take the chat and have equal ids: tokd {ours:,.0f} µs,"
        f" transformers {document['library']['version']} {theirs:,.0f} µs; {ratio:.1f} times.",
        "",
    ]
    rows = []
    for name, one in by_template.items():
        figures = ["", "", ""]
        if one["equal"]:
            figures = [f"{one['tokd']:,.0f}", f"{one['transformers']:,.0f}", f"{one['transformers'] / one['tokd']:.1f}"]
        rows.append([name, str(one["ids"]) if one["equal"] else one["why"], *figures])
    lines += [
        *report.table(["template", "ids", "tokd, µs", "transformers, µs", "times"], rows),
        "",
        f"Requests per second (p50 / p99 in ms; processor time of a request), the template {chat_worker.TEMPLATE},"
        f" distinct chats in turn, {document['generator']}; one worker on one core, the load on another; medians of"
        f" {document['rounds']} rounds in turn.",
        "",
        *report.table(
            ["", *(f"{size}, {cells['ids']:,} ids" for size, cells in http.items())],
            ([f"`{path}`", *(serving.shown(cells[path]) for cells in http.values())] for path in ROUTES),
        ),
    ]
    lines += ["", *growing_table(document["library"]["growing"])]
    return "\n".join([*lines, "", *beside_table(document["beside"])])


def growing_table(growing: dict[str, dict[str, float]]) -> list[str]:
    """Write what a cache of prefixes would save."""
    rows = []
    for name, sums in growing.items():
        times = (f"{sums[part]:,.0f}" for part in ("chat", "whole", "added"))
        saved = (sums["whole"] - sums["added"]) / sums["chat"]
        rows.append([name, *times, f"{saved:.0%}"])
    head = ["conversation", "encode_chat, µs", "encoding of it", "encoding of what is new", "saved at most"]
    return [
        f"Conversations that grow turn by turn, `encode_chat` at each turn, {chat_worker.TEMPLATE},"
        " one core, sums over all turns; the share that a cache of prefixes would save at most, if it cost nothing:",
        "",
        *report.table(head, rows),
    ]


def main(*, short: bool) -> int:
    """Measure, write ``results/chats.json`` and ``.md``, print the table; fail without equal ids or in time."""
    peers.prepare()
    print("measuring the library", file=sys.stderr)
    found = library(5 if short else 25)
    with tempfile.TemporaryDirectory() as name:
        print("measuring the service", file=sys.stderr)
        http = over_http(Path(name), 1 if short else 3, 2 if short else 4)
    with tempfile.TemporaryDirectory() as name:
        small = load.write_bodies(Path(name) / "small.jsonl", ({"messages": each} for each in chats("7 messages")))
        late = measure_beside(Path(name), small, 1 if short else 2, 5 if short else 20, 20 if short else 200)
    report.tell(
        "chats",
        table,
        short=short,
        library=found,
        http=http,
        beside=late,
        rounds=1 if short else 3,
        generator=f"{load.CONNECTIONS} connections from {load.generator()}",
    )
    return int(not (any(one["equal"] for one in found["templates"].values()) and reaches_goal(late)))
