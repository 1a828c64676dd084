"""Clients that watch a job: broken streams, odd events, and servers that come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from types import SimpleNamespace

import httpx
import pytest

from service.client import AsyncClient, Client, Job, Saturated, ServerFault, Unreachable
from tests.service.routes.train_job.awaited import Awaited


def event(version: int, state: str) -> str:
    job = {"id": "j", "state": state, "artifact": None}
    return f"id: {version}\nevent: job\ndata: {httpx.Response(200, json=job).text}\n\n"


def stream(text: str) -> httpx.Response:
    return httpx.Response(200, text=text, headers={"content-type": "text/event-stream; charset=utf-8"})


Told = Callable[[], list[Job]]


def scripted(kind: str, *answers: httpx.Response | Exception, tries: int = 3) -> tuple[Told, list[str | None]]:
    """Return what either kind of client tells of a job's events, and the events it said it had seen."""
    asked: list[str | None] = []
    left = list(answers)

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("last-event-id"))
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return watcher(kind, reply, tries), asked


def watcher(kind: str, reply: Callable[[httpx.Request], httpx.Response], tries: int = 3) -> Told:
    """Return what lists what either kind of client tells of a job's events."""

    def told() -> list[Job]:
        async def main() -> list[Job]:
            transport = httpx.MockTransport(reply)
            made = (AsyncClient if kind == "async" else Client)(transport=transport, tries=tries)
            tokd = made if isinstance(made, AsyncClient) else Awaited(made)
            return [job async for job in tokd.events("j")]

        return asyncio.run(main())

    return told


BOTH = pytest.mark.parametrize("kind", ["sync", "async"])


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(_: float) -> None:
        pass

    monkeypatch.setattr("service.client.time.sleep", lambda _: None)
    monkeypatch.setattr("service.client.asyncio.sleep", at_once)


@BOTH
@pytest.mark.usefixtures("impatient")
def test_broken_streams_are_taken_up_where_they_ended(kind: str) -> None:
    busy = {"type": "", "title": "", "status": 503, "detail": "busy", "code": "saturated", "path": None}
    told, asked = scripted(
        kind,
        httpx.Response(503, json=busy),
        stream("retry: 1\n\n" + event(3, "queued") + "id: 4\ndata: {"),
        httpx.ConnectError("gone"),
        stream(": keep-alive\n\n" + event(7, "running")),
        *[stream("retry: 1\n\n: keep-alive\n\n")] * 5,
        stream("retry: 1\n\n"),
        stream("retry: 1\n\n"),
        stream(event(9, "failed") + event(10, "queued")),
    )
    assert [job.state for job in told()] == ["queued", "running", "failed"]
    assert asked == [None, None, "3", "3", *["7"] * 8]


@BOTH
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_lines_of_a_stream_end_only_where_the_service_ends_them(kind: str, ends: str) -> None:
    odd = "\x85\u2028\u2029"
    job = {"id": "j", "state": "failed", "artifact": None, "settings": {"pattern": odd}}
    data = json.dumps(job, ensure_ascii=False)
    told, _ = scripted(kind, stream(f"id: 1\ndata: {data}\n\n".replace("\n", ends)))
    assert [job.settings["pattern"] for job in told()] == [odd]


@BOTH
@pytest.mark.usefixtures("impatient")
def test_patience_with_broken_streams_ends(kind: str) -> None:
    told, asked = scripted(kind, *[httpx.ConnectError("gone")] * 5)
    with pytest.raises(Unreachable):
        told()
    assert len(asked) == 3
    told, asked = scripted(kind, *[httpx.Response(503)] * 5)
    with pytest.raises(Saturated):
        told()
    assert len(asked) == 3
    told, _ = scripted(kind, httpx.Response(204))
    assert told() == []
    for data in ("<html>", '"html"'):
        told, _ = scripted(kind, stream(f"id: 1\ndata: {data}\n\n"))
        with pytest.raises(ServerFault):
            told()
    told, asked = scripted(kind, *[httpx.Response(200, html="<p>hello</p>")] * 50)
    with pytest.raises(ServerFault, match="something else"):
        told()
    assert len(asked) == 1
    for nothing in ("", "\n\n", "retry: 2000\n\n", "<p>hello</p>"):
        told, asked = scripted(kind, *[stream(nothing) for _ in range(50)])
        with pytest.raises(ServerFault, match="without an event"):
            told()
        assert len(asked) == 3


JOB = '{"id": "j", "state": "queued", "artifact": null}'


@BOTH
@pytest.mark.parametrize("charset", ["utf-8", "hex", "idna", "utf-16"])
def test_events_are_utf8_whatever_the_answer_says(kind: str, charset: str) -> None:
    headers = {"content-type": f"text/event-stream; charset={charset}"}
    told, _ = scripted(kind, httpx.Response(200, content=event(1, "failed").encode(), headers=headers))
    assert [job.state for job in told()] == ["failed"]


@BOTH
def test_data_may_stand_on_several_lines(kind: str) -> None:
    lines = 'id: 1\ndata: {"id": "j",\nevent: job\ndata:"state": "failed", "artifact": null}'
    told, _ = scripted(kind, stream(f"{lines}\n\n"))
    assert [job.state for job in told()] == ["failed"]


@BOTH
@pytest.mark.parametrize(
    "odd",
    [
        'id: 1\ndata: {"id": "j", "artifact": null}',
        'id: 1\ndata: {"id": "j", "state": "queued", "artifact": 7}',
        'id: 1\ndata: {"id": "j", "state": "queued", "artifact": {}}',
        'id: 1\ndata: [["id", "j"]]',
        "id: 1\ndata: " + "[" * 100_000,
        f"data: {JOB}",
        f"id\ndata: {JOB}",
        f"id: é\ndata: {JOB}",
        f"id: \u2028\ndata: {JOB}",
        f"id: 1\r2\ndata: {JOB}",
        f"id: 1\0\ndata: {JOB}",
        f"id: {'1' * 100_000}\ndata: {JOB}",
    ],
)
def test_an_event_of_an_odd_form_is_not_one_of_tokd(kind: str, odd: str) -> None:
    told, asked = scripted(kind, stream(f"{odd}\n\n"), stream(event(2, "failed")))
    with pytest.raises(ServerFault, match="events that are not tokd's"):
        told()
    assert len(asked) == 1


@BOTH
@pytest.mark.parametrize("endless", [b"data", b"data: [1,\n", b": a comment that does not end", b"name: x\n"])
def test_an_event_that_does_not_end_fills_no_memory(kind: str, endless: bytes) -> None:
    sent = 0

    class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            nonlocal sent
            for sent in range(1, 50):  # noqa: B007 - counted for the test
                yield endless * (65_536 // len(endless))

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for data in self:
                yield data

    headers = {"content-type": "text/event-stream"}
    told, _ = scripted(kind, httpx.Response(200, headers=headers, stream=Body()))
    with pytest.raises(ServerFault, match=r"more than 1048576 bytes"):
        told()
    assert sent <= 18


@BOTH
@pytest.mark.usefixtures("impatient")
def test_any_number_of_tries_can_be_made(kind: str) -> None:
    told, _ = scripted(kind, *[httpx.ConnectError("gone")] * 1_100, stream(event(1, "failed")), tries=1_101)
    assert [job.state for job in told()] == ["failed"]


@BOTH
@pytest.mark.parametrize("away", [20.0, 90.0])
def test_watching_goes_on_when_a_server_that_told_something_is_back_within_a_minute(
    kind: str, away: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("service.client.time.sleep", slept.append)
    monkeypatch.setattr("service.client.asyncio.sleep", sleep)
    monkeypatch.setattr("service.client.events.time", SimpleNamespace(monotonic=lambda: sum(slept)))
    asked: list[str | None] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers.get("last-event-id"))
        if len(asked) == 1:
            return stream(event(1, "queued"))
        if sum(slept) < away:
            raise httpx.ConnectError("restarting")
        return stream(event(2, "failed"))

    told = watcher(kind, reply)
    if away > 60:
        with pytest.raises(Unreachable):
            told()
        assert 60 <= sum(slept) <= 66
    else:
        assert [job.state for job in told()] == ["queued", "failed"]
    assert set(asked) == {None, "1"}
    assert len(asked) < 20


@BOTH
def test_watching_waits_as_long_as_the_service_asks(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("service.client.time.sleep", slept.append)
    monkeypatch.setattr("service.client.asyncio.sleep", sleep)
    busy = httpx.Response(503, headers={"retry-after": "5"})
    told, _ = scripted(kind, busy, busy, stream(event(1, "failed")))
    assert [job.state for job in told()] == ["failed"]
    assert len(slept) == 2
    assert all(5 <= seconds <= 6.25 for seconds in slept)
