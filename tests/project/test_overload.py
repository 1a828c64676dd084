"""The harness of ``benchmarks overload``: what it counts, and what it does not let pass."""

from __future__ import annotations

import asyncio
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from benchmarks import load, overload

pytestmark = pytest.mark.nightly

MACHINE = {"cores": 2, "cpu": "a processor"}


def found(**changed: Any) -> dict[str, Any]:
    """Return what the clients of a good overload say."""
    kind = {"errors": {}}
    large = {"200": [900.0, 1000.0], "503": [2.0, 4.0, 90.0]}
    return {
        "most": 10.0,
        "seconds": 5.0,
        "resident": [100.0, 110.0, 112.0, 111.0],
        "large": {"times": large, **kind},
        "small": {"times": {"200": [1.0] * 99 + [49.0]}, **kind},
        **changed,
    }


def test_a_good_overload_has_its_figures_and_nothing_wrong() -> None:
    figures = overload.summary(found())
    assert figures["answers"] == {"large": {"200": 2, "503": 3}, "small": {"200": 100}}
    assert (figures["asked"], figures["refused_p50_ms"], figures["small_p99_ms"]) == (1.0, 4.0, 49.0)
    assert figures["resident"] == [110.0, 112.0]
    assert overload.wrong(figures) == []
    text = overload.table({"machine": MACHINE, "seconds": 60, "figures": figures})
    assert "| answers to large requests | 2 × 200, 3 × 503 |" in text
    assert "| small request, p99 in ms | 49.0 |" in text


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"large": {"times": {"200": [1.0], "503": [1.0]}, "errors": {"ConnectionResetError": 1}}}, "ConnectionReset"),
        ({"large": {"times": {"200": [1.0], "503": [1.0], "500": [1.0]}, "errors": {}}}, "large 500"),
        ({"large": {"times": {"200": [1.0]}, "errors": {}}}, "no overload"),
        ({"large": {"times": {"503": [99.0, 101.0, 102.0]}, "errors": {}}}, "median refusal takes 101 ms"),
        ({"small": {"times": {"200": [1.0] * 98 + [51.0] * 2}, "errors": {}}}, "small requests is 51 ms"),
        ({"small": {"times": {"503": [1.0]}, "errors": {}}}, "small requests is inf ms"),
        ({"resident": [100.0, 100.0, 111.0, 120.0]}, "memory grew from 100 to 120 MB"),
    ],
)
def test_what_is_not_as_it_has_to_be_is_said(changed: dict[str, Any], words: str) -> None:
    (said,) = overload.wrong(overload.summary(found(**changed)))
    assert words in said


def test_the_client_keeps_its_pace_and_notes_every_answer() -> None:
    seen = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                seen.append(line)
                if line == b"drop\r\n":
                    break
                status, more = (b"503 X", b"connection: close\r\n") if line == b"refuse\r\n" else (b"200 OK", b"")
                writer.write(b"HTTP/1.1 %b\r\n%bcontent-length: 2\r\n\r\n{}" % (status, more))
                if more:
                    break
        finally:
            # Also where the loop ends before the caller's connection does.
            writer.close()

    async def story() -> load.Caller:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        requests = [b"take\r\n", b"refuse\r\n", b"take\r\n", b"drop\r\n"]
        until = time.perf_counter() + 0.4
        caller = await load.at_pace(port, requests, 100, lambda: time.perf_counter() >= until)
        server.close()
        return caller

    caller = asyncio.run(story())
    counts = {status: len(times) for status, times in caller.times.items()}
    total = sum(counts.values()) + caller.errors.total()
    assert total == len(seen) == pytest.approx(40, abs=8)
    assert counts[200] == pytest.approx(total / 2, abs=1)
    assert counts[503] == pytest.approx(caller.errors.total(), abs=1)


def test_requests_are_large_and_small_ones() -> None:
    corpus = "the quick brown fox " * 100_000
    bodies = overload.large_bodies(corpus), overload.small_bodies(corpus)
    large, small = ([load.request("/count", json.dumps(body).encode()) for body in kind] for kind in bodies)
    assert len(large) == 8
    assert len(large[-1]) > 1_000_000 > len(large[0]) > 8 << 10
    assert max(map(len, small)) < 1000


def test_a_generator_in_a_process_of_its_own_loops_until_its_time_or_its_user_is_over(tmp_path: Path) -> None:
    answers = iter((b"200 OK", b"503 X"))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert json.loads(self.rfile.read(int(self.headers["content-length"]))) == {"text": "a"}
            self.wfile.write(b"HTTP/1.1 %b\r\ncontent-length: 0\r\n\r\n" % next(answers, b"200 OK"))

        def log_message(self, *_: object) -> None:
            pass

    bodies = load.write_bodies(tmp_path / "bodies.jsonl", [{"text": "a"}])
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        try:
            port = server.server_port
            seen = load.Client(port, "/encode", bodies, 0.5, 2).load(0.5)
            taken: list[float] = []
            with load.steady(port, "/encode", bodies, taken):
                time.sleep(1)
        finally:
            server.shutdown()
    assert seen["errors"] == 1
    assert seen["requests"] == seen["per_second"] * 0.5 > 2
    assert 0 < len(taken) < 1000
