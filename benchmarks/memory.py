"""``python -m benchmarks memory``: what the server holds after many distinct requests, small and large.

Its caches are bounded, so memory must level off: each stretch sends only texts that were never sent before.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from benchmarks import machine, report, servers
from service.cli import chart

STRETCHES = 10
LETTERS = "abcdefghijklmnopqrstuvwxyzäöüéñßабвгдежзиклмнопрсту一二三四五六七八九十人口日月"


def distinct_text(rng: random.Random, size: int) -> str:
    """Make a text of words that hardly ever repeat: what a cache of pieces likes least."""
    words = []
    left = size
    while left > 0:
        word = "".join(rng.choices(LETTERS, k=rng.randint(2, 12)))
        words.append(word)
        left -= len(word) + 1
    return " ".join(words)[:size]


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    on = document["machine"]
    points = document["points"]
    lines = [
        f"Resident MB of one server process with {servers.VOCABULARY} after so many distinct requests to `/encode`,"
        f" each with new words: {document['small']:,} of 1,000 characters and {document['large']} of 100,000 a stretch;"
        f" {on['cpu']}, Python {on['python']}.",
        "",
        report.row(["requests", *(f"{count:,}" for count, _ in points)]),
        report.row(["---"] * (len(points) + 1)),
        report.row(["MB", *(f"{megabytes:.0f}" for _, megabytes in points)]),
    ]
    return "\n".join(lines)


def main(*, short: bool) -> int:
    """Measure, write ``results/memory.json``, ``.md`` and ``.svg``, print the table; fail when it keeps growing."""
    small, large = (200, 2) if short else (5_000, 50)
    rng = random.Random(2026)
    with tempfile.TemporaryDirectory() as name:
        artifact = servers.make_artifact(Path(name))
        with servers.running("tokd", artifact, None) as server, httpx.Client() as client:
            points = [(0, server.resident())]
            for number in range(STRETCHES):
                print(f"stretch {number + 1} of {STRETCHES}", file=sys.stderr)
                for size in [1_000] * small + [100_000] * large:
                    body = json.dumps({"text": distinct_text(rng, size)})
                    headers = {"content-type": "application/json"}
                    answer = client.post(f"http://127.0.0.1:{server.port}/encode", content=body, headers=headers)
                    answer.raise_for_status()
                points.append(((number + 1) * (small + large), server.resident()))
    document = {"machine": machine.describe(), "small": small, "large": large, "points": points}
    text = table(document)
    if not short:
        report.write("memory", document, text)
        across = chart.Axis.over("requests", [count for count, _ in points])
        up = chart.Axis.over("resident MB", [megabytes for _, megabytes in points])
        drawn = chart.lines("Memory after distinct requests", across, up, {"": points})
        (report.RESULTS / "memory.svg").write_text(drawn, encoding="utf-8")
    print(text)
    halfway, last = points[STRETCHES // 2][1], points[-1][1]
    return int(not short and last > 1.1 * halfway)
