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
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks import agents_worker, chat_worker, engines, load, peers, report, servers
from benchmarks.corpora import data_dir
from benchmarks.process import require
from benchmarks.worker import digest
from service.reports import chart

TEMPLATES = ("Qwen-Qwen3-0.6B", "meta-llama-Llama-3.1-8B-Instruct", "openai-gpt-oss-120b", "GLM-4.6")
TURNS = (0, 4, 9, 19, 39, 79, 139, 199)
"""The turns that are shown; tokd's server is sent all of them."""

CONVERSATIONS = 4
RENDER = "/v1/chat/completions/render"
BYTES = "application/octet-stream"
VLLM = "vLLM's renderer"


@dataclass(frozen=True)
class Part:
    """One way to ask for the ids of a chat: the path, the type of the answer, and the flags of the server."""

    path: str
    accept: str = "application/json"
    flags: tuple[str, ...] = ()

    def body(self, trace: agents_worker.Trace, turn: int) -> dict[str, Any]:
        """Return the request of a turn."""
        messages = trace.messages(turn, as_text=self.path == RENDER)
        return {"messages": messages, "tools": trace.tools, "add_generation_prompt": True}

    def proof(self, answer: httpx.Response) -> str:
        """Hash the ids of an answer, or return how many they are."""
        answer.raise_for_status()
        if self.accept == BYTES:
            return digest(np.frombuffer(answer.content, "<u4"))
        said = answer.json()
        return str(said["count"]) if self.path == "/count" else digest(said["ids" if "ids" in said else "token_ids"])


ENGINE = ("--literal", "*=engine")
PARTS = {
    "`/encode`, JSON": Part("/encode"),
    "`/encode`, bytes": Part("/encode", BYTES),
    "`/count`": Part("/count"),
    "render": Part(RENDER),
    "render, engine literals": Part(RENDER, flags=ENGINE),
}


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


def play(part: Part, port: int, seed: str, turns: tuple[int, ...]) -> list[float]:
    """Send conversations that nobody has sent, turn by turn; return milliseconds for each of the turns that are shown.

    A median over the conversations and the turns next to it.
    """
    traces = [agents_worker.Trace(data_dir(), f"{seed} {number}") for number in range(CONVERSATIONS)]

    def requests() -> Iterator[bytes]:
        for turn in range(turns[-1] + 1):
            for trace in traces:
                yield load.request(part.path, json.dumps(part.body(trace, turn)).encode(), accept=part.accept)

    caller = asyncio.run(load.looped(port, requests(), 1))
    if caller.times.keys() != {200} or caller.errors:
        raise SystemExit(f"{part.path} was answered with errors: no speed is shown")
    by_turn = np.reshape(caller.times[200], (-1, CONVERSATIONS))
    return [float(np.median(by_turn[max(0, turn - 1) : turn + 2])) for turn in turns]


def over_http(directory: Path, template: str, turns: tuple[int, ...], library: list[dict[str, Any]]) -> dict[str, Any]:
    """Measure all parts of tokd's server on one core."""
    artifact, core, found = directory / template, min(os.sched_getaffinity(0)), {}
    for flags in {part.flags: None for part in PARTS.values()}:
        with servers.running("tokd", artifact, core, ("--worker", "false", *flags)) as server:
            for name, part in PARTS.items():
                if part.flags == flags:
                    prove_equal(name, part, server.port, template, library)
                    found[name] = play(part, server.port, f"{template} {name}", turns)
    return found


def beside(engine: httpx.Client, directory: Path, template: str, library: list[dict[str, Any]]) -> list[float]:
    """Measure vLLM's renderer at the turns that are shown: three times each, the best."""
    engine.put("/model", params={"path": str(directory / template)}).raise_for_status()
    part, port = PARTS["render"], engine.base_url.port or 0
    prove_equal(VLLM, part, port, template, library)
    trace, found = agents_worker.Trace(data_dir(), template), []
    for known in library:
        sent = load.request(part.path, json.dumps(part.body(trace, known["turn"])).encode())
        found.append(min(asyncio.run(load.looped(port, iter([sent] * 3), 1)).times[200]))
    return found


def measure(directory: Path, template: str, turns: tuple[int, ...], engine: httpx.Client | None) -> dict[str, Any]:
    """Measure one template in all ways."""
    print(f"measuring {template}", file=sys.stderr)
    library = require("agents_worker", data_dir(), template, json.dumps(turns), python=peers.PYTHON)
    known = library["turns"]
    times = {name: [turn[name] for turn in known] for name in ("library", "transformers")}
    times |= over_http(directory, template, turns, known)
    if engine is not None:
        times[VLLM] = beside(engine, directory, template, known)
    return {"version": library["version"], "ids": [turn["ids"] for turn in known], "times": times}


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    lines = [
        f"Milliseconds of a turn by the number of its ids: {CONVERSATIONS} conversations of up to"
        f" {document['turns'][-1] + 1} turns, interleaved, one core of {document['machine']['cpu']}; a system prompt of"
        f" {agents_worker.SYSTEM:,} characters, {agents_worker.TOOLS} tools, results of {agents_worker.RESULT:,}"
        " characters. The libraries by processor time, all others from the first byte sent to the head of the answer;"
        " `render` is vLLM's route. Ids are equal in all.",
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
