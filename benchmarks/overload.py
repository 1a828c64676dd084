"""``python -m benchmarks overload``: a server that is asked for sixteen times what it can do.

First clients in another process find out how many large requests it answers in a second while none is refused. Then
they send sixteen times as many at a steady pace, whether or not those before are answered, and small ones beside them.
Every answer has to be 200, 429 or 503; refusals come soon, small requests do not wait, and memory levels off.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import chat_worker, load, report, servers
from benchmarks.corpora import data_dir
from benchmarks.load import Client, percentile

FOLD = 16
SECONDS, SHORT_SECONDS = 60, 10
MEASURED_SECONDS = 3
SMALL_PER_SECOND = 100
SMALL_CHARACTERS = 200
LARGE = "seven times 40 chats of 12 messages to be counted, and once a text of 1 MB"
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"

MOST_REFUSED_MS = 100.0
MOST_SMALL_MS = 50.0
MOST_GROWTH = 1.1
"""Of memory from the first half of the overload to its second half."""


def large_bodies(corpus: str) -> list[dict[str, Any]]:
    """Make bodies for ``/count`` that need a thread, ``LARGE``."""
    found: list[dict[str, Any]] = []
    for at in range(8):
        own = corpus[at * 30_000 :]
        chats = [chat_worker.chat(own[each * 960 :], 12, 960) for each in range(40)]
        found.append({"text": own[:1_000_000]} if at == 7 else {"messages": chats})
    return found


def small_bodies(corpus: str) -> list[dict[str, str]]:
    """Make bodies for ``/encode`` that are answered at once."""
    return [{"text": corpus[at * 1000 :][:SMALL_CHARACTERS]} for at in range(64)]


def overload(server: servers.Server, folder: Path, seconds: float) -> dict[str, Any]:
    """Measure what a server can do, ask for many times that, and tell what came back."""
    corpus = (data_dir() / "corpora" / "english.txt").read_text(encoding="utf-8")
    large = load.write_bodies(folder / "large.jsonl", large_bodies(corpus))
    small = load.write_bodies(folder / "small.jsonl", small_bodies(corpus))
    before = Client(server.port, "/count", large, MEASURED_SECONDS).load(MEASURED_SECONDS)
    if before["errors"]:
        raise SystemExit("the server refused some before it was overloaded")
    most = before["per_second"]
    resident = []
    began = time.perf_counter()
    clients = {
        "large": Client(server.port, "/count", large, seconds, load.MAX_CONNECTIONS, FOLD * most),
        "small": Client(server.port, "/encode", small, seconds, load.MAX_CONNECTIONS, SMALL_PER_SECOND),
    }
    while any(client.process.poll() is None for client in clients.values()):
        resident.append(server.resident())
        time.sleep(0.5)
    seen = {kind: client.result() for kind, client in clients.items()}
    return {"most": most, "seconds": time.perf_counter() - began, "resident": resident, **seen}


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of an overload: counts by status, times in ms, and the growth of memory."""
    large, small = found["large"], found["small"]
    refused = [one for each in (large, small) for status in ("429", "503") for one in each["times"].get(status, [])]
    half = len(found["resident"]) // 2
    return {
        "most": found["most"],
        "asked": sum(map(len, large["times"].values())) / found["seconds"],
        "answers": {
            name: {status: len(times) for status, times in each["times"].items()} | each["errors"]
            for name, each in (("large", large), ("small", small))
        },
        "refused_p50_ms": median(refused) if refused else 0.0,
        "small_p99_ms": percentile(small["times"].get("200", []), 99),
        "large_p99_ms": percentile(large["times"].get("200", []), 99),
        "resident": [max(found["resident"][:half]), max(found["resident"][half:])],
    }


def wrong(figures: dict[str, Any]) -> list[str]:
    """Say what of an overload is not as it has to be."""
    others = {
        f"{name} {answer}": count
        for name, answers in figures["answers"].items()
        for answer, count in answers.items()
        if answer not in ("200", "429", "503")
    }
    before, after = figures["resident"]
    held = {
        f"answers other than 200, 429 and 503: {others}": not others,
        "nothing was refused: that was no overload": figures["refused_p50_ms"] > 0,
        f"the median refusal takes {figures['refused_p50_ms']:.0f} ms": figures["refused_p50_ms"] < MOST_REFUSED_MS,
        f"p99 of small requests is {figures['small_p99_ms']:.0f} ms": figures["small_p99_ms"] < MOST_SMALL_MS,
        f"memory grew from {before:.0f} to {after:.0f} MB": after < MOST_GROWTH * before,
    }
    return [what for what, holds in held.items() if not holds]


def table(document: dict[str, Any]) -> str:
    """Write the result as Markdown."""
    on, figures = document["machine"], document["figures"]
    rows = [
        [
            "large requests/s that it can answer, and that it was sent",
            f"{figures['most']:,.0f}, {figures['asked']:,.0f}",
        ],
        *([f"answers to {name} requests", _counts(answers)] for name, answers in figures["answers"].items()),
        ["refusal, median in ms", f"{figures['refused_p50_ms']:.1f}"],
        ["small request, p99 in ms", f"{figures['small_p99_ms']:.1f}"],
        ["large request that was taken, p99 in ms", f"{figures['large_p99_ms']:,.0f}"],
        ["resident MB at most, first and second half", " and ".join(f"{one:.0f}" for one in figures["resident"])],
    ]
    return report.page(
        f"One server process with {servers.VOCABULARY} that is sent {FOLD} times what it can do for"
        f" {document['seconds']} seconds: {LARGE}; beside them {SMALL_PER_SECOND}"
        f" small requests a second. Server and client on {on['cores']} cores of {on['cpu']}.",
        report.table(["", ""], rows),
    )


def _counts(answers: dict[str, int]) -> str:
    return ", ".join(f"{count:,} × {answer}" for answer, count in sorted(answers.items()))


def main(*, short: bool) -> int:
    """Measure, write ``results/overload.json`` and ``.md``, print the table; fail where a bound does not hold."""
    seconds = SHORT_SECONDS if short else SECONDS
    with tempfile.TemporaryDirectory() as name:
        artifact = servers.make_artifact(Path(name), template=TEMPLATE)
        with servers.running("tokd", artifact, None, ("--worker", "false")) as server:
            figures = summary(overload(server, Path(name), seconds))
    report.tell("overload", table, short=short, seconds=seconds, figures=figures)
    for what in wrong(figures):
        print(what, file=sys.stderr)
    return int(bool(wrong(figures)))
