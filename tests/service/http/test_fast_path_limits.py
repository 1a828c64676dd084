"""The fast path beside limits, errors and the ends of connections."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from service.pipeline import Pipeline
from tests.service.conftest import MakeClient, RunServer
from tests.support.connection import (
    FOX,
    JSON,
    Caller,
    answered_at_once,
    exchange,
    request,
    told,
)


@pytest.mark.parametrize("limit", [{"max_requests": 1}, {"max_held_bytes": 40, "max_body_bytes": 40}])
def test_limits_count_for_answers_at_once(make_client: MakeClient, limit: dict[str, int]) -> None:
    app: Any = make_client(**limit).app

    async def story() -> None:
        first, second, third = Caller(app), Caller(app), Caller(app)
        await first.send(request()[:-2])
        await second.send(request())
        assert second.transport.written.startswith(b"HTTP/1.1 503 ")
        await first.send(request()[-2:])
        assert first.transport.written.startswith(b"HTTP/1.1 200 ")
        await third.send(request())
        assert third.transport.written.startswith(b"HTTP/1.1 200 ")
        for caller in (first, second, third):
            await caller.leave()

    asyncio.run(story())


def test_an_error_of_the_fast_path_is_counted_and_logged_and_its_route_answers(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client()
    app: Any = client.app

    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("a text of the caller")

    fast, slow = (asyncio.run(told(app, [request()], at_once=at_once))[0] for at_once in (True, False))
    monkeypatch.setattr(app.fast_paths[b"/encode"], "_plain", SimpleNamespace(for_request=fail))
    assert asyncio.run(told(app, [request()], at_once=True))[0] == fast == slow
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "the fast path of /encode failed with ZeroDivisionError; its route answers"
    ]
    metric = 'tokd_fast_path_failures_total{error="ZeroDivisionError",route="/encode"} 1.0'
    assert metric in client.get("/metrics").text


@pytest.mark.parametrize("at_once", [True, False])
def test_a_bug_before_the_body_is_read_is_answered_as_one(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    app: Any = make_client().app

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("a text of the caller")

    monkeypatch.setattr(Pipeline, "admit", fail)
    written, closed, _ = asyncio.run(told(app, [request()], at_once=at_once))
    assert written.startswith(b"HTTP/1.1 500 ")
    assert closed
    assert b"caller" not in written
    assert app.server_state.limits.requests == 0


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        (b'{"text":"fox"}', [False]),
        (b'{"text":"fox","return":["ids","tokens"]}', [False]),
        (b'{"text":"%b","return":["ids","tokens"]}' % (b"fox " * 6000), [False]),
        (b'{"messages":[{"role":"user","content":"fox"}],"return":["ids","labels"]}', [False]),
        (
            b'{"messages":[%b],"return":["ids","labels"]}' % b",".join([b'{"role":"user","content":"fox"}'] * 600),
            [False],
        ),
        (b'{"text":[%b"fox"]}' % (b'"fox",' * 300), [False, True]),
        (b'{"text":"%b"}' % (b"fox " * 30_000), [False]),
        (b'{"text":1}', [False]),
    ],
)
def test_no_body_is_asked_of_the_kernel_in_vain_twice(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, body: bytes, asked: list[bool]
) -> None:
    """A list of many texts is asked again in a thread, where it may take long."""
    app: Any = make_client().app
    plain, seen = app.json_routes["/encode"].json.plain, []
    answer = type(plain).answer

    def noted(body: bytes, *, may_take_long: bool, key: str) -> Any:
        seen.append(may_take_long)
        return answer(plain, body, may_take_long=may_take_long, key=key)

    monkeypatch.setattr(plain, "answer", noted)
    for at_once in (True, False):
        seen.clear()
        written, _, _ = asyncio.run(told(app, [request(body)], at_once=at_once))
        assert seen == asked
        assert written.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 422 "))


def test_a_small_body_that_is_larger_than_a_body_may_be_is_refused(make_client: MakeClient) -> None:
    app: Any = make_client(max_body_bytes=len(FOX) - 1).app

    async def story() -> None:
        caller = Caller(app)
        await caller.send(request())
        assert caller.transport.written.startswith(b"HTTP/1.1 413 ")
        await caller.leave()

    asyncio.run(story())


def test_an_answer_too_large_to_be_written_at_once_is_left_to_the_route(make_client: MakeClient) -> None:
    app: Any = make_client().app
    body = json.dumps({"text": "fox " * 20_000}).encode()
    sent = request(body, line=b"POST /offsets HTTP/1.1")

    async def answer() -> Any:
        return answered_at_once(app, "/offsets", body)

    assert asyncio.run(answer()) is None
    fast, slow = (asyncio.run(told(app, [sent], at_once=at_once))[0] for at_once in (True, False))
    assert fast == slow
    assert fast.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        (b"hello\r\n\r\n", 400, "invalid_http"),
        (request(headers=JSON + b"x: " + b"y" * 70_000 + b"\r\n"), 431, "head_too_large"),
        (b"GET /" + b"a" * 70_000, 431, "head_too_large"),
    ],
)
def test_what_never_was_a_request_is_counted_too(make_client: MakeClient, sent: bytes, status: int, code: str) -> None:
    app = make_client().app
    written, closed, lines = asyncio.run(told(app, [sent], at_once=True))
    assert closed
    assert written.startswith(b"HTTP/1.1 %d " % status)
    assert f'tokd_requests_total{{code="{code}",route="unmatched",status="{status}"}} 1.0' in lines


@pytest.mark.parametrize("url", [b"http://x", b"HTTPS://x:80", b"http://[::1]:8000"])
@pytest.mark.parametrize("query", [b"", b"?a=/b"])
@pytest.mark.parametrize("line", [b"GET %b HTTP/1.1", b"OPTIONS %b HTTP/1.1"])
def test_url_without_a_path_has_the_path_of_the_root(
    make_client: MakeClient, url: bytes, query: bytes, line: bytes
) -> None:
    app, without = make_client().app, request(b"", line=line % (url + query))
    answers = [
        asyncio.run(told(app, [sent], at_once=True))[:2]
        for sent in (without, request(b"", line=line % (url + b"/" + query)), request(b"", line=line % (b"/" + query)))
    ]
    # The root has a page, which is asked for by GET alone.
    assert answers[0][0].startswith(b"HTTP/1.1 200" if line.startswith(b"GET") else b"HTTP/1.1 405")
    assert answers.count(answers[0]) == 3


CHUNKED = JSON + b"transfer-encoding: chunked\r\n"


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("line", [b"POST /encode HTTP/1.1", b"POST /train-job HTTP/1.1", b"PUT /nowhere HTTP/1.1"])
@pytest.mark.parametrize("cut", [0, 20, None, -3])
@pytest.mark.parametrize(
    ("end", "refusal"),
    [(b"zz\r\n", ("400", "invalid_http")), (b"0\r\nx: " + b"y" * 110_000, ("431", "head_too_large"))],
)
def test_a_request_whose_chunks_are_broken_is_counted_once(
    make_client: MakeClient, line: bytes, cut: int | None, end: bytes, refusal: tuple[str, str], at_once: bool
) -> None:
    head = b"%b\r\nhost: localhost\r\n%b\r\n" % (line, CHUNKED)
    sent, at = head + b"2\r\n{}\r\n" + end, len(head) if cut is None else cut
    written, closed, lines = asyncio.run(told(make_client().app, [sent[:at], sent[at:]], at_once=at_once))
    assert closed
    assert written.count(b"HTTP/1.1 4") == 1
    status, code = written[9:12].decode(), json.loads(written.partition(b"\r\n\r\n")[2])["code"]
    route = "unmatched" if b"nowhere" in line else line.split()[1].decode()
    counted = [line for line in lines if line.startswith("tokd_requests_total")]
    assert counted == [f'tokd_requests_total{{code="{code}",route="{route}",status="{status}"}} 1.0']
    # What needs no body may have been refused before the chunk came.
    has_its_answer = cut is None and route == "unmatched"
    assert (status, code) == (("404", "not_found") if has_its_answer else refusal)


def test_a_quiet_connection_is_ended_and_one_in_use_is_not(make_client: MakeClient) -> None:
    app = make_client().app

    async def story() -> None:
        caller = Caller(app)
        await caller.send(request())
        for _ in range(2):
            caller.protocol.timers.end_if_quiet()
            assert not caller.transport.is_closing()
        await caller.send(request()[:-1])
        caller.protocol.timers.keep_alive_seconds = 0
        caller.protocol.timers.end_if_quiet()
        assert not caller.transport.is_closing()
        await caller.send(request()[-1:])
        await asyncio.wait_for(caller.transport.aborted.wait(), 60)
        await caller.leave()

    asyncio.run(story())


def test_answers_at_once_are_logged_as_those_of_tasks(run_server: RunServer) -> None:
    with run_server(access_log=True) as server:
        address = (server.client.base_url.host, server.client.base_url.port or 0)
        end = request(headers=JSON + b"connection: close\r\n")
        assert exchange(address, request() + end).count(b"HTTP/1.1 200 OK") == 2
        lines = [json.loads(line) for line in server.stop()[0].splitlines()]
    at_once, by_task = ({**line, "time": 0, "milliseconds": 0} for line in lines if line["route"] == "/encode")
    assert at_once == by_task
    assert at_once["tokens"] > 0
