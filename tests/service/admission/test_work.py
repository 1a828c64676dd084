"""Large requests are bounded by their work, and who is refused knows before it has sent its body."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from service.routes import count
from service.settings import Settings
from tests.service.admission.test_limits import Gate, drive, gate
from tests.service.conftest import MakeClient, RunServer, state_of
from tests.service.problems import assert_problem
from tests.support.connection import JSON

__all__ = ["gate"]
LARGE = {"text": "f" * 900}
SIZE = len(json.dumps(LARGE, separators=(",", ":")))
LIMITS: dict[str, Any] = {"threads": 4, "inline_bytes": 100}


async def until(limits: Any, in_threads: int) -> None:
    while limits.in_threads < in_threads:  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def chunked() -> AsyncIterator[bytes]:
    yield json.dumps(LARGE).encode()


def test_large_requests_are_taken_until_their_bytes_are_too_many(make_client: MakeClient, gate: Gate) -> None:
    client = make_client(max_work_bytes=2 * SIZE, **LIMITS)
    limits = state_of(client).limits

    async def story(many: httpx.AsyncClient) -> None:
        taken = [asyncio.create_task(many.post("/count", json=LARGE)) for _ in range(2)]
        await until(limits, 2)
        assert limits.work_bytes == 2 * SIZE
        json_type = {"content-type": "application/json"}
        packed = gzip.compress(json.dumps(LARGE).encode())
        for refused in (
            await many.post("/count", json=LARGE),
            await many.post("/count", content=chunked(), headers=json_type),
            await many.post("/count", content=packed, headers={**json_type, "content-encoding": "gzip"}),
            await many.post("/tokenize", json={"prompt": "f" * 900}),
        ):
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        # What is small is answered at once, and so never waits behind what is large.
        gate.opened.set()
        assert (await many.post("/count", json={"text": "fox"})).status_code == 200
        assert [answer.status_code for answer in await asyncio.gather(*taken)] == [200, 200]
        assert (await many.post("/count", json=LARGE)).status_code == 200

    drive(client, story)
    assert (limits.work_bytes, limits.requests, limits.held_bytes) == (0, 0, 0)


def test_a_request_alone_is_taken_however_large_it_is(make_client: MakeClient) -> None:
    client = make_client(max_work_bytes=1, **LIMITS)
    assert client.post("/count", json=LARGE).status_code == 200
    assert (
        client.post(
            "/count",
            content=gzip.compress(json.dumps(LARGE).encode()),
            headers={"content-type": "application/json", "content-encoding": "gzip"},
        ).status_code
        == 200
    )
    assert state_of(client).limits.work_bytes == 0


def test_a_body_over_its_limit_is_refused_for_good(make_client: MakeClient) -> None:
    client = make_client(max_work_bytes=1, max_body_bytes=800, **LIMITS)
    state_of(client).limits.work_bytes = 1
    assert_problem(client.post("/count", json=LARGE), "body_too_large")


@pytest.mark.parametrize("content", ["a", "a" * 10_000])
def test_a_rendering_in_a_thread_counts_as_much_text(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    client = make_client(threads=4, max_work_bytes=2 << 20)
    limits = state_of(client).limits
    gate = Gate()
    monkeypatch.setattr("service.routes.count._count_chats", gate.wrap(count._count_chats))

    async def story(many: httpx.AsyncClient) -> None:
        body = {"messages": [[{"role": "user", "content": content}]] * 2}
        taken = [asyncio.create_task(many.post("/count", json=body)) for _ in range(2)]
        await until(limits, 2)
        assert limits.work_bytes == 2 << 20
        assert_problem(await many.post("/count", json=body), "saturated")
        gate.opened.set()
        assert [answer.status_code for answer in await asyncio.gather(*taken)] == [200, 200]

    drive(client, story)
    assert limits.work_bytes == 0


@pytest.mark.parametrize("expect", [b"", b"expect: 100-continue\r\n"])
def test_who_is_refused_need_not_send_its_body(run_server: RunServer, expect: bytes) -> None:
    with run_server(max_work_bytes=1000, body_seconds=20, **LIMITS) as server:
        url = httpx.URL(server.url)

        def begin(path: bytes) -> socket.socket:
            caller = socket.create_connection((url.host, url.port), timeout=10)
            head = b"POST %b HTTP/1.1\r\nhost: localhost\r\n%b%bcontent-length: 900\r\n\r\n"
            caller.sendall(head % (path, JSON, expect))
            return caller

        with begin(b"/count") as first:
            if expect:
                assert first.recv(100).startswith(b"HTTP/1.1 100 ")
            else:
                first.sendall(b"{")
            # Its work is counted from its head on.
            while "tokd_work_bytes 900.0" not in server.client.get("/metrics").text:
                pass
            with begin(b"/count") as second:
                answer = second.recv(10_000)
                assert answer.startswith(b"HTTP/1.1 503 ")
                assert b"retry-after: 1\r\n" in answer
        while "tokd_work_bytes 0.0" not in server.client.get("/metrics").text:
            pass


def test_the_default_takes_several_of_the_largest_bodies() -> None:
    settings = Settings()
    assert 4 * settings.max_body_bytes <= settings.max_work_bytes <= settings.max_held_bytes
