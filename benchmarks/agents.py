"""``python -m benchmarks agents``: conversations of agents with tools, the whole of which is sent at each turn.

Ids are proven equal first: with transformers in the library, and of every route with the library. Several conversations
take turns, each of which only adds to what was sent before.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks import agents_worker, chat_worker, engines, load, peers, report, servers
from benchmarks.corpora import data_dir
from benchmarks.process import require
from benchmarks.worker import digest
from service.reports import chart
from tokenizer_core import Tokenizer, prefix_hash

TEMPLATES = ("Qwen-Qwen3-0.6B", "meta-llama-Llama-3.1-8B-Instruct", "openai-gpt-oss-120b", "GLM-4.6")
TURNS = (0, 4, 9, 19, 39, 79, 139, 199)
"""The turns that are shown."""

BEFORE = 2
"""Turns that tokd's server is sent before each of these."""

CONVERSATIONS = 4
RENDER = "/v1/chat/completions/render"
BYTES = "application/octet-stream"
VLLM = "vLLM's renderer"
SMG = "smg's prefix cache, text"


@dataclass(frozen=True)
class Part:
    """One way to ask for the ids of a chat: the path, the type of the answer, the flags of the server, and if the ids
    of the turn before are known to the caller.
    """

    path: str
    accept: str = "application/json"
    flags: tuple[str, ...] = ()
    since: bool = False

    def body(self, trace: agents_worker.Trace, turn: int) -> dict[str, Any]:
        """Return the request of a turn."""
        messages = trace.messages(turn, as_text=self.path == RENDER)
        since = {"since": {"count": 0}} if self.since else {}
        return {"messages": messages, "tools": trace.tools, "add_generation_prompt": True, **since}

    def proof(self, answer: httpx.Response) -> str:
        """Hash the ids of an answer, or return how many they are."""
        answer.raise_for_status()
        if self.accept == BYTES:
            return digest(np.frombuffer(answer.content, "<u4"))
        said = answer.json()
        fields = ("ids", "new_ids", "token_ids")
        return (
            str(said["count"]) if self.path == "/count" else digest(next(said[name] for name in fields if name in said))
        )


Engine = tuple[httpx.Client, Callable[[], float]]
ENGINE = ("--literal", "*=engine")
PARTS = {
    "`/encode`, JSON": Part("/encode"),
    "`/encode`, bytes": Part("/encode", BYTES),
    "`/count`": Part("/count"),
    "render": Part(RENDER),
    "render, since": Part(RENDER, since=True),
    "render, engine literals": Part(RENDER, flags=ENGINE),
}


class Known:
    """The ids of a conversation that its caller has kept."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self._ids = tokenizer, np.zeros(0, np.uint32)

    def since(self, trace: agents_worker.Trace, turn: int) -> dict[str, Any]:
        """Return what a turn says of those that its own begin with, and keep its own."""
        options: Any = {"tools": trace.tools, "add_generation_prompt": True}
        before, self._ids = self._ids, self._tokenizer.encode_chat(trace.messages(turn), **options).ids
        size = min(len(before), len(self._ids))
        differ = np.flatnonzero(before[:size] != self._ids[:size])
        count = int(differ[0]) if len(differ) else size
        return {"since": {"count": count, "hash": prefix_hash(before[:count])}}


def prove_equal(name: str, part: Part, port: int, template: str, library: list[dict[str, Any]]) -> None:
    """Refuse to go on if an answer has other ids than the library."""
    trace = agents_worker.Trace(data_dir(), template)
    for known in library:
        url, headers = f"http://127.0.0.1:{port}{part.path}", {**servers.JSON, "accept": part.accept}
        # As load writes it: escapes cost time to read.
        sent = json.dumps(part.body(trace, known["turn"]))
        if part.proof(httpx.post(url, content=sent, headers=headers, timeout=60)) not in {
            known["proof"],
            str(known["ids"]),
        }:
            raise SystemExit(f"{template}, turn {known['turn']}: {name} gives other ids: no speed is shown")


def play(part: Part, server: servers.Server, seed: str, turns: tuple[int, ...], tokenizer: Tokenizer) -> list[float]:
    """Send conversations that nobody has sent, turn by turn; return milliseconds for each of the turns that are shown.

    A median over the conversations and the turn before.
    """
    traces = [agents_worker.Trace(data_dir(), f"{seed} {number}") for number in range(CONVERSATIONS)]
    known = [Known(tokenizer) for _ in traces]

    sent = [[turn for turn in range(shown - BEFORE, shown + 1) if turn >= 0] for shown in turns]

    def requests() -> Iterator[bytes]:
        for turn in chain.from_iterable(sent):
            for trace, one in zip(traces, known, strict=True):
                body = part.body(trace, turn) | (one.since(trace, turn) if part.since else {})
                yield load.request(part.path, json.dumps(body).encode(), accept=part.accept)

    caller = asyncio.run(load.looped(server.port, requests(), 1, clock=server.cpu_seconds))
    if caller.times.keys() != {200} or caller.errors:
        raise SystemExit(f"{part.path} was answered with errors: no speed is shown")
    by_turn = iter(np.reshape(caller.times[200], (-1, CONVERSATIONS)))
    # The first of each group has more that is new.
    return [float(np.median([next(by_turn) for _ in group][-BEFORE:])) for group in sent]


def over_http(directory: Path, template: str, turns: tuple[int, ...], library: list[dict[str, Any]]) -> dict[str, Any]:
    """Measure all parts of tokd's server on one core."""
    artifact, core, found = directory / template, min(os.sched_getaffinity(0)), {}
    tokenizer = Tokenizer.open(artifact)
    for flags in {part.flags: None for part in PARTS.values()}:
        with servers.running("tokd", artifact, core, ("--worker", "false", *flags)) as server:
            for name, part in PARTS.items():
                if part.flags == flags:
                    prove_equal(name, part, server.port, template, library)
                    found[name] = play(part, server, f"{template} {name}", turns, tokenizer)
    return found


def beside(engine: Engine, directory: Path, template: str, library: list[dict[str, Any]]) -> list[float]:
    """Measure vLLM's renderer at the turns that are shown: three times each, the best."""
    client, clock = engine
    client.put("/model", params={"path": str(directory / template)}).raise_for_status()
    part, port = PARTS["render"], client.base_url.port or 0
    prove_equal(VLLM, part, port, template, library)
    trace, found = agents_worker.Trace(data_dir(), template), []
    for known in library:
        sent = load.request(part.path, json.dumps(part.body(trace, known["turn"])).encode())
        found.append(min(asyncio.run(load.looped(port, iter([sent] * 3), 1, clock=clock)).times[200]))
    return found


def over_smg(directory: Path, template: str, library: list[dict[str, Any]]) -> list[float]:
    """Measure smg's cache of prefixes up to special tokens: it gets rendered text, first that of the turn before."""
    artifact, core, found = directory / template, min(os.sched_getaffinity(0)), []
    tokenizer, trace = Tokenizer.open(artifact), agents_worker.Trace(data_dir(), template)
    with servers.running("smg", artifact, core, ("--tokenizer-cache-enable-l1",)) as server:
        for known in library:
            for turn in range(max(0, known["turn"] - 1), known["turn"] + 1):
                options: Any = {"tools": trace.tools, "add_generation_prompt": True}
                text = tokenizer.render_chat(trace.messages(turn), **options).text
                sent = load.request(server.kind.path, json.dumps(server.kind.body(text)).encode())
                caller = asyncio.run(load.looped(server.port, iter([sent]), 1, clock=server.cpu_seconds))
            if digest(server.ids(text)) != known["proof"]:
                raise SystemExit(f"{template}, turn {known['turn']}: smg gives other ids: no speed is shown")
            found.append(caller.times[200][0])
    return found


def measure(directory: Path, template: str, turns: tuple[int, ...], engine: Engine | None) -> dict[str, Any]:
    """Measure one template in all ways."""
    print(f"measuring {template}", file=sys.stderr)
    library = require("agents_worker", data_dir(), template, json.dumps(turns), python=peers.PYTHON)
    known = library["turns"]
    times = {name: [turn[name] for turn in known] for name in ("library", "transformers")}
    times |= over_http(directory, template, turns, known)
    if "smg" in servers.available():
        times[SMG] = over_smg(directory, template, known)
    if engine is not None:
        times[VLLM] = beside(engine, directory, template, known)
    return {"version": library["version"], "ids": [turn["ids"] for turn in known], "times": times}


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    lines = [
        f"Milliseconds of a turn by the number of its ids: {CONVERSATIONS} conversations of up to"
        f" {document['turns'][-1] + 1} turns, interleaved, one core of {document['machine']['cpu']}; a system prompt of"
        f" {agents_worker.SYSTEM:,} characters, {agents_worker.TOOLS} tools, results of {agents_worker.RESULT:,}"
        " characters. All by processor time, servers with reading and sending; `render` is vLLM's route, `since` names"
        " the ids that the caller has; smg gets rendered text and makes ids of it. Ids are equal in all.",
    ]
    for template, cells in document["results"].items():
        rows = zip(*cells["times"].values(), strict=True)
        shown = ([f"{ids:,}", *(f"{one:.2f}" for one in row)] for ids, row in zip(cells["ids"], rows, strict=True))
        lines += ["", *report.table([f"{template}: ids", *cells["times"]], shown)]
    return "\n".join(lines)


def draw(document: dict[str, Any]) -> str:
    """Draw time over the number of ids, for the first template."""
    cells = document["results"][TEMPLATES[0]]
    series = {
        name.replace("`", ""): [(float(x), y) for x, y in zip(cells["ids"], times, strict=True)]
        for name, times in cells["times"].items()
    }
    across = chart.Axis.over("ids of the conversation", cells["ids"], logarithmic=True)
    up = chart.Axis.over("ms a turn", [y for points in series.values() for _, y in points], logarithmic=True)
    return chart.lines(f"A turn of an agent, {TEMPLATES[0]}", across, up, series)


def main(*, short: bool) -> int:
    """Measure, write ``results/agents.json``, ``.md`` and ``.svg``, print the table."""
    peers.prepare()
    templates, turns = (TEMPLATES[:1], TURNS[:5]) if short else (TEMPLATES, TURNS)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        directory = Path(name)
        for template in templates:
            chat_worker.build(data_dir(), template).save(directory / template, name="model")
            (directory / template / "config.json").write_text(
                json.dumps(engines.CONFIG | {"max_position_embeddings": 1 << 20})
            )
        engine = None
        if servers.VLLM_PYTHON in os.environ:
            engine = stack.enter_context(engines.vllm(directory / templates[0]))
        results = {template: measure(directory, template, turns, engine) for template in templates}
    report.tell("agents", table, short=short, draw=draw, turns=turns, results=results)
    return 0
