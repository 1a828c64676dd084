"""How many requests of a read are answered at once, what is parsed meanwhile, and who is waited for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from service.http.connection import MOST_IN_A_ROW
from tests.service.conftest import MakeClient
from tests.support.connection import Caller, request


def test_a_row_of_requests_lets_other_connections_come_between(make_client: MakeClient) -> None:
    app = make_client().app

    async def story() -> None:
        caller = Caller(app)
        caller.protocol.data_received(request() * (2 * MOST_IN_A_ROW))
        assert caller.transport.written.count(b"HTTP/1.1 200") == MOST_IN_A_ROW
        while caller.state.tasks:
            await asyncio.wait(caller.state.tasks)
        answers = caller.transport.written.split(b"HTTP/1.1 ")[1:]
        assert len(answers) == 2 * MOST_IN_A_ROW
        assert len(set(answers)) == 1
        await caller.leave()

    asyncio.run(story())


def test_nothing_more_is_read_while_requests_wait_in_line(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_client().app

    async def story() -> None:
        caller = Caller(app)
        reading = []
        monkeypatch.setattr(caller.transport, "pause_reading", lambda: reading.append(False))
        monkeypatch.setattr(
            caller.transport, "resume_reading", lambda: reading.append(not caller.protocol.requests.waiting)
        )
        caller.protocol.data_received(request() * (MOST_IN_A_ROW + 9))
        assert len(caller.protocol.requests.waiting) == 8
        await caller.settle()
        assert caller.transport.written.count(b"HTTP/1.1 200") == MOST_IN_A_ROW + 9
        assert reading == [False, True]
        await caller.leave()

    asyncio.run(story())


def test_few_of_many_requests_at_once_wait_parsed(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.http.connection.PART_BYTES", 1000)
    app = make_client().app
    bodies = [b'{"text":"%b"}' % (b"fox " * count) for count in range(1, 200)]

    async def story() -> None:
        caller = Caller(app)
        caller.protocol.data_received(b"".join(map(request, bodies)))
        while caller.transport.written.count(b"HTTP/1.1 200") < len(bodies):
            assert len(caller.protocol.requests.waiting) < MOST_IN_A_ROW
            await asyncio.sleep(0)
        counts = [int(part.split(b"}")[0]) for part in caller.transport.written.split(b'"count":')[1:]]
        assert counts == sorted(set(counts))
        await caller.leave()

    asyncio.run(story())


def test_a_long_body_is_read_in_one_go(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.http.connection.PART_BYTES", 1000)
    app = make_client().app
    sent = request(b'{"text":"%b"}' % (b"fox " * 5000))

    async def story() -> None:
        caller = Caller(app)
        parts: list[int] = []
        parse = caller.protocol._parse
        monkeypatch.setattr(caller.protocol, "_parse", lambda data: (parts.append(len(data)), parse(data)))
        caller.protocol.data_received(sent[:10_000])
        caller.protocol.data_received(sent[10_000:] + request())
        await caller.settle()
        assert caller.transport.written.count(b"HTTP/1.1 200") == 2
        assert parts == [1000, 9000, len(sent) - 10_000, len(request())]
        await caller.leave()

    asyncio.run(story())


def test_nothing_is_answered_at_once_to_who_does_not_read(make_client: MakeClient) -> None:
    app = make_client().app

    async def story() -> None:
        caller = Caller(app)
        caller.protocol.pause_writing()
        caller.protocol.data_received(request())
        assert len(caller.state.tasks) == 1
        for _ in range(20):
            await asyncio.sleep(0)
        assert caller.transport.written == b""
        caller.protocol.resume_writing()
        await asyncio.wait(caller.state.tasks)
        assert caller.transport.written.startswith(b"HTTP/1.1 200 OK\r\n")
        await caller.leave()

    asyncio.run(story())


def test_large_answers_go_at_the_pace_of_their_reader(make_client: MakeClient) -> None:
    """A small body may have a large answer, which is not written before anybody reads."""
    app: Any = make_client().app
    ids = app.server_state.registry.default.tokenizer.encode("dog " * 50_000).tolist()[:40_000]
    body = json.dumps({"ids": [max(ids)] * 40_000}).replace(" ", "").encode()

    async def story() -> None:
        answers = []
        for at_once in (True, False):
            caller = Caller(app, at_once=at_once)
            await caller.send(request(body, line=b"POST /decode HTTP/1.1"))
            while caller.state.tasks:
                await asyncio.wait(caller.state.tasks)
            answers.append(caller.transport.written)
            await caller.leave()
        assert answers[0] == answers[1]

    asyncio.run(story())
