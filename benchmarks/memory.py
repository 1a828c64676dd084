"""``python -m benchmarks memory``: what the server holds after a million distinct requests, small and large.

Its caches are bounded, so memory must level off: each stretch sends only texts that were never sent before.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import load, report, servers
from service.reports import chart

STRETCHES = 10
CONNECTIONS = 8
AT_ONCE = 24
"""Bodies of a megabyte that are sent together at the end of each stretch."""

LETTERS = "abcdefghijklmnopqrstuvwxyzäöüéñßабвгдежзиклмнопрсту一二三四五六七八九十人口日月"


def distinct_text(rng: random.Random, size: int) -> str:
    """Make a text of words that hardly ever repeat: what a cache of pieces likes least."""
    letters = rng.choices(LETTERS, k=size)
    at = rng.randint(2, 12)
    while at < size:
        letters[at] = " "
        at += rng.randint(3, 13)
    return "".join(letters)


def send(rng: random.Random, port: int, sizes: list[int], connections: int) -> None:
    """Send texts of these sizes to ``/encode``."""
    texts = (json.dumps({"text": distinct_text(rng, size)}, ensure_ascii=False) for size in sizes)
    requests = (load.request("/encode", text.encode()) for text in texts)
    caller = asyncio.run(load.looped(port, requests, connections))
    if caller.times.keys() != {200} or caller.errors:
        raise SystemExit("the server answered with an error: nothing is shown")


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    on = document["machine"]
    points = document["points"]
    heading = (
        f"Resident MB of one server process with {servers.VOCABULARY} after so many distinct requests to `/encode`,"
        f" each with new words: {document['small']:,} of 200 characters, {document['large']} of 100,000 and {AT_ONCE}"
        f" of a million at once a stretch; {on['cpu']}, Python {on['python']}."
    )
    head = ["requests", *(f"{count:,}" for count, _ in points)]
    return report.page(heading, report.table(head, [["MB", *(f"{megabytes:.0f}" for _, megabytes in points)]]))


def draw(document: dict[str, Any]) -> str:
    """Draw the memory."""
    points = document["points"]
    across = chart.Axis.over("requests", [count for count, _ in points])
    up = chart.Axis.over("resident MB", [megabytes for _, megabytes in points])
    return chart.lines("Memory after distinct requests", across, up, {"": points})


def main(*, short: bool) -> int:
    """Measure, write ``results/memory.json``, ``.md`` and ``.svg``, print the table; fail when it keeps growing."""
    small, large = (500, 2) if short else (100_000, 20)
    rng = random.Random(2026)
    with tempfile.TemporaryDirectory() as name:
        artifact = servers.make_artifact(Path(name))
        with servers.running("tokd", artifact, None, ("--worker", "false")) as server:
            points = [(0, server.resident())]
            for number in range(STRETCHES):
                print(f"stretch {number + 1} of {STRETCHES}", file=sys.stderr)
                send(rng, server.port, [200] * small + [100_000] * large, CONNECTIONS)
                send(rng, server.port, [1_000_000] * AT_ONCE, AT_ONCE)
                points.append(((number + 1) * (small + large + AT_ONCE), server.resident()))
    report.tell("memory", table, short=short, draw=draw, small=small, large=large, points=points)
    halfway, last = points[STRETCHES // 2][1], points[-1][1]
    return int(not short and last > 1.1 * halfway)
