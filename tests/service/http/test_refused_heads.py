"""While no more requests may wait for a thread, a long body is refused by its head and dropped as it comes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from service.admission.limits import SMALL_BYTES, Limits
from service.http import bounds
from service.pipeline import DROPPED_BYTES
from tests.service.auth.conftest import KeyRing
from tests.service.conftest import MakeClient, app_of, state_of
from tests.support.connection import Caller, request

LONG = json.dumps({"text": "fox " * SMALL_BYTES}).encode()
MORE = b"x-request-id: seven\r\n"


@pytest.fixture(autouse=True)
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "is_full", True)
    monkeypatch.setattr("service.admission.threads.Threads.is_full", True)


def without_date(written: bytes) -> list[bytes]:
    """Return the lines of a refusal; the route's says beside them that the connection ends."""
    return sorted(
        line for line in written.split(b"\r\n") if not line.startswith(b"date:") and line != b"connection: close"
    )


async def asked(app: Any, sent: bytes, *, at_once: bool) -> tuple[bytes, bool]:
    """Return what a connection answers, and whether it is still open."""
    caller = Caller(app, at_once=at_once)
    await caller.send(sent)
    answer = caller.transport.written, not caller.transport.closed
    await caller.leave()
    return answer


@pytest.mark.parametrize("path", ["/count", "/encode", "/tokenize", "/v1/chat/completions/render"])
def test_a_refusal_is_that_of_the_route_and_the_connection_stays_open(make_client: MakeClient, path: str) -> None:
    client = make_client()
    app, limits = app_of(client), state_of(client).limits
    sent = request(LONG, line=b"POST %b HTTP/1.1" % path.encode(), headers=b"content-type: application/json\r\n" + MORE)

    async def story() -> None:
        (fast, is_open), (slow, _) = [await asked(app, sent, at_once=each) for each in (True, False)]
        assert fast.startswith(b"HTTP/1.1 503 ")
        assert without_date(fast) == without_date(slow)
        assert b"retry-after: 1" in fast
        assert MORE in fast
        assert is_open

    asyncio.run(story())
    assert (limits.requests, limits.work_bytes, limits.held_bytes) == (0, 0, 0)
    counted = [line for line in client.get("/metrics").text.splitlines() if path in line and 'code="saturated"' in line]
    assert any(line.endswith((" 2.0", " 2")) for line in counted), counted


def test_the_answer_does_not_wait_for_the_body_and_what_follows_it_is_answered(make_client: MakeClient) -> None:
    app = app_of(make_client())

    async def story() -> None:
        caller = Caller(app)
        sent = request(LONG, line=b"POST /count HTTP/1.1")
        head, body = sent[: -len(LONG)], sent[-len(LONG) :]
        await caller.send(head)
        assert caller.transport.written.count(b"HTTP/1.1 503") == 1
        for start in range(0, len(body), 5000):
            await caller.send(body[start : start + 5000])
        await caller.send(sent + request() + sent)
        assert [part[:3] for part in caller.transport.written.split(b"HTTP/1.1 ")[1:]] == [
            b"503",
            b"503",
            b"200",
            b"503",
        ]
        assert not caller.transport.closed
        await caller.leave()

    asyncio.run(story())


def test_a_body_that_does_not_come_ends_the_connection(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "READ_SECONDS", 0)
    app = app_of(make_client())

    async def story() -> None:
        caller = Caller(app)
        await caller.send(request(LONG, line=b"POST /count HTTP/1.1")[:-1])
        await asyncio.wait_for(caller.transport.aborted.wait(), 10)
        caller = Caller(app)
        await caller.send(request(LONG, line=b"POST /count HTTP/1.1"))
        assert not caller.transport.closed
        await caller.leave()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("line", "headers", "length"),
    [
        (b"POST /count HTTP/1.1", b"expect: 100-continue\r\n", None),
        (b"POST /count HTTP/1.1", b"", b"content-length: %d\r\n" % (DROPPED_BYTES + 1)),
        (b"POST /count HTTP/1.0", b"", None),
        (b"POST /count HTTP/1.1", b"connection: close\r\n", None),
    ],
)
def test_where_the_body_may_not_come_or_has_its_end_late_the_connection_ends(
    make_client: MakeClient, line: bytes, headers: bytes, length: bytes | None
) -> None:
    app = app_of(make_client())
    sent = request(LONG, line=line, headers=b"content-type: application/json\r\n" + headers, length=length)

    async def story() -> None:
        written, _ = await asked(app, sent, at_once=True)
        assert b" 503 " in written
        assert b"connection: close" in written

    asyncio.run(story())


def test_who_may_not_ask_is_told_so_and_not_that_there_is_no_room(make_client: MakeClient, tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.toml", {})
    ring.write(reader=["encode"])
    app = app_of(make_client(keys=str(ring.path)))

    async def story() -> None:
        sent = request(LONG, line=b"POST /count HTTP/1.1")
        (fast, _), (slow, _) = [await asked(app, sent, at_once=each) for each in (True, False)]
        assert fast.startswith(b"HTTP/1.1 401 ")
        assert without_date(fast) == without_date(slow)

    asyncio.run(story())
