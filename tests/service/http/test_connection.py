"""Connections whose other end is silent do not live forever; the clock is the test's own."""

from __future__ import annotations

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from uvicorn.server import ServerState

from service.http import bounds
from service.http.bounds import most_connections
from service.http.request_head import MAX_HEAD_BYTES
from tests.support.connection import app, connected

ENCODE = b"POST /encode HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"


@pytest.fixture(autouse=True)
def _no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "HEAD_SECONDS", 0)
    monkeypatch.setattr(bounds, "READ_SECONDS", 0)
    monkeypatch.setattr(bounds, "END_SECONDS", 0)
    monkeypatch.setattr(bounds, "LAST_SECONDS", 0)


def test_connection_that_never_speaks_is_ended() -> None:
    async def story() -> None:
        _, transport = connected()
        await asyncio.wait_for(transport.aborted.wait(), 10)

    asyncio.run(story())


def test_connections_leave_file_descriptors_to_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_CONNECTIONS", 2)
    state = ServerState()

    async def story() -> None:
        first, *_ = made = [connected(state=state) for _ in range(3)]
        assert [transport.closed for _, transport in made] == [False, False, True]
        head, _, body = made[2][1].written.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 1" in head
        assert json.loads(body)["code"] == "saturated"
        for at in (2, 0):
            made[at][0].connection_lost(None)
        assert not connected(state=state)[1].closed
        first[0].connection_lost(None)

    asyncio.run(story())


def test_as_many_connections_as_a_process_may_have() -> None:
    assert [most_connections(files) for files in (64, 256, 1024, -1)] == [32, 192, 960, sys.maxsize]


def test_head_that_never_ends_is_given_up_also_on_a_connection_in_use() -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        while b"204" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not transport.closed
        protocol.data_received(b"GET / HTTP/1.1\r\nho")
        await asyncio.wait_for(transport.aborted.wait(), 10)

    asyncio.run(story())


def test_rest_of_a_body_behind_its_answer_keeps_no_connection() -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.timers.keep_alive_seconds = 0.1
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n")
        while b"204" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        protocol.data_received(b"x")
        await asyncio.wait_for(transport.aborted.wait(), 10)

    asyncio.run(story())


def test_request_whose_head_came_while_another_was_answered_is_not_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "HEAD_SECONDS", 1000)

    async def waits_for_a_body(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "POST":
            await receive()
            assert (await receive())["body"] == b"x"
        await app(scope, receive, send)

    async def story() -> None:
        protocol, transport = connected(waits_for_a_body)
        protocol.timers.keep_alive_seconds = 0.05
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\nPOST / HTTP/1.1\r\n")
        while b"204" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        protocol.data_received(b"host: x\r\ncontent-length: 2\r\n\r\nx")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(transport.aborted.wait(), 0.2)
        protocol.data_received(b"x")
        while transport.written.count(b"204") < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)

    asyncio.run(story())


def test_head_that_is_not_read_while_requests_wait_in_line_is_not_late() -> None:
    async def story() -> None:
        ready = asyncio.Event()

        async def waits(scope: Any, receive: Any, send: Any) -> None:
            await ready.wait()
            await app(scope, receive, send)

        protocol, transport = connected(waits)
        long = b"GET / HTTP/1.1\r\nhost: x\r\nx-long: %b\r\n\r\n" % (b"a" * 20_000)
        protocol.data_received(long * 3 + b"GET / HT")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(transport.aborted.wait(), 0.1)
        ready.set()
        await asyncio.wait_for(transport.aborted.wait(), 10)
        assert transport.written.count(b"HTTP/1.1 204") == 3
        protocol.connection_lost(None)

    asyncio.run(story())


def test_head_behind_the_last_request_in_line_is_read_while_that_is_answered() -> None:
    async def story() -> None:
        async def answers_none_but_the_first(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] == "/":
                await app(scope, receive, send)
            else:
                await asyncio.Event().wait()

        protocol, transport = connected(answers_none_but_the_first)
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET /slow HTTP/1.1\r\nhost: x\r\n\r\nGET / HT")
        assert protocol.wire.read_paused
        while b"204" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not protocol.wire.read_paused
        protocol.connection_lost(None)

    asyncio.run(story())


def test_caller_who_does_not_read_is_given_up_and_one_who_does_is_not() -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        protocol.pause_writing()
        protocol.resume_writing()
        for _ in range(10):
            await asyncio.sleep(0)
        assert not transport.closed
        protocol.pause_writing()
        await asyncio.wait_for(transport.aborted.wait(), 10)

    asyncio.run(story())


@pytest.mark.parametrize("last", [b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", b"garbage\r\n\r\n"])
def test_connection_that_is_closed_behind_an_answer_that_nobody_reads_is_given_up(last: bytes) -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        while b"204" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        protocol.data_received(last)
        await asyncio.wait_for(transport.aborted.wait(), 10)

    asyncio.run(story())


def test_caller_of_http_1_0_is_not_told_to_go_on() -> None:
    async def reads(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await app(scope, receive, send)

    async def story() -> bytes:
        protocol, transport = connected(reads)
        protocol.data_received(b"POST / HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\nx")
        while b"204" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        return transport.written

    assert asyncio.run(story()).startswith(b"HTTP/1.1 204")


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", ENCODE])
@pytest.mark.parametrize("on_its_way", [b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", ENCODE])
def test_request_that_is_on_its_way_when_the_server_ends_is_answered(
    before: bytes, on_its_way: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEAD_SECONDS", "END_SECONDS", "LAST_SECONDS"):
        monkeypatch.setattr(bounds, name, 1000)

    class Direct:
        fast_paths: ClassVar = {
            b"/encode": SimpleNamespace(
                open=lambda *_: SimpleNamespace(),
                refusal=lambda *_: None,
                answer=lambda *_: (b"application/json", b"{}"),
            )
        }
        __call__ = staticmethod(app)

    async def story() -> None:
        protocol, transport = connected(Direct())
        protocol.data_received(before)
        while before and b"HTTP/1.1 20" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        transport.written = b""
        protocol.shutdown()
        assert not transport.closed
        protocol.data_received(on_its_way)
        while not transport.closed:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert transport.written.startswith(b"HTTP/1.1 20")
        assert b"\r\nconnection: close\r\n" in transport.written
        protocol.connection_lost(None)

    asyncio.run(asyncio.wait_for(story(), 10))


def test_request_that_outlives_the_end_of_the_server_is_given_up_and_one_that_ends_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.data_received(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nab")
        protocol.shutdown()
        assert not transport.closed
        await asyncio.wait_for(transport.aborted.wait(), 10)
        protocol.connection_lost(None)

        for name in ("HEAD_SECONDS", "END_SECONDS"):
            monkeypatch.setattr(bounds, name, 1000)
        protocol, transport = connected()
        protocol.shutdown()
        while not transport.closed:  # noqa: ASYNC110
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        await asyncio.sleep(0.01)
        assert not transport.aborted.is_set()

    asyncio.run(story())


@pytest.mark.parametrize(("length", "status"), [(MAX_HEAD_BYTES - 500, b"204"), (MAX_HEAD_BYTES + 1, b"431")])
def test_whole_head_that_comes_in_one_piece_is_bounded_too(length: int, status: bytes) -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.data_received(
            b"POST / HTTP/1.1\r\nhost: x\r\nx: %b\r\ncontent-length: 70000\r\n\r\n" % (b"a" * length)
        )
        protocol.data_received(b"b" * 70_000)
        while b"\r\n\r\n" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert transport.written.startswith(b"HTTP/1.1 " + status)
        assert transport.closed == (status == b"431")
        protocol.connection_lost(None)

    asyncio.run(story())


def test_body_behind_a_small_head_is_no_head() -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.data_received(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 70000\r\n\r\n" + b"b" * 70_000)
        while b"\r\n\r\n" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert transport.written.startswith(b"HTTP/1.1 204")
        protocol.connection_lost(None)

    asyncio.run(story())


@pytest.mark.parametrize("garbage", [b"no HTTP\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"a" * MAX_HEAD_BYTES])
def test_what_is_no_request_waits_for_the_answers_before_it_and_ends_the_connection(garbage: bytes) -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 2)
        protocol.data_received(garbage)
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        while not transport.closed:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not transport.aborted.is_set()
        assert transport.written.count(b"HTTP/1.1 204") == transport.written.count(b"HTTP/1.1 ") == 2
        assert transport.written.count(b"connection: close") == 1
        protocol.connection_lost(None)

    asyncio.run(story())


@pytest.mark.parametrize("behind", [b"", b"GET / HT", b"no HTTP\r\n\r\n"])
def test_whole_requests_are_answered_behind_the_end_of_what_a_caller_sends(behind: bytes) -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 3 + behind)
        assert protocol.eof_received()
        while not transport.closed:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not transport.aborted.is_set()
        assert transport.written.count(b"HTTP/1.1 204") == 3
        assert transport.written.count(b"connection: close") == 1
        protocol.connection_lost(None)

    asyncio.run(story())


@pytest.mark.parametrize("whole", [1, 2])
@pytest.mark.parametrize("framed", [b"transfer-encoding: chunked\r\n\r\nno chunk", b"content-length: 3\r\n\r\nab"])
def test_request_that_breaks_off_in_line_takes_no_answer_from_those_before_it(framed: bytes, whole: int) -> None:
    async def story() -> None:
        protocol, transport = connected()
        requests = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * whole
        protocol.data_received(requests + b"POST / HTTP/1.1\r\nhost: x\r\n" + framed)
        assert protocol.eof_received()
        while not transport.closed:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert transport.written.count(b"HTTP/1.1 204") == transport.written.count(b"HTTP/1.1 ") == whole
        assert transport.written.count(b"connection: close") == 1
        protocol.connection_lost(None)

    asyncio.run(story())


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nab"])
def test_end_of_what_a_caller_sends_ends_the_connection_where_no_request_is_whole(sent: bytes) -> None:
    async def story() -> None:
        protocol, _ = connected()
        protocol.data_received(sent)
        assert not protocol.eof_received()
        protocol.connection_lost(None)

    asyncio.run(story())


def test_request_with_others_behind_it_is_told_that_its_caller_is_gone() -> None:
    async def story() -> None:
        gone = asyncio.Event()

        async def waits(scope: Any, receive: Any, send: Any) -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        protocol, _ = connected(waits)
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 2)
        await asyncio.sleep(0)
        protocol.connection_lost(None)
        await asyncio.wait_for(gone.wait(), 10)

    asyncio.run(story())


def test_a_refusal_does_not_put_off_the_end_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEAD_SECONDS", "READ_SECONDS"):
        monkeypatch.setattr(bounds, name, 1000)

    async def story() -> None:
        protocol, transport = connected()
        protocol.shutdown()
        protocol.data_received(b"hello\r\n\r\n")
        assert transport.written.startswith(b"HTTP/1.1 400 ")
        await asyncio.wait_for(transport.aborted.wait(), 10)

    asyncio.run(story())
