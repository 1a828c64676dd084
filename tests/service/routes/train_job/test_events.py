"""Server-sent events of a real server: every change once, resumed where they broke off, and bounded."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from service.admission.threads import saturated
from service.jobs.errors import JobsUnavailable, UnknownJob
from service.jobs.job import JobProgress
from service.jobs.leases import Lease, Leases
from service.jobs.states import Event
from service.jobs.store import JobStore
from service.routes.jobs import events as event_stream
from service.routes.jobs.events import MAX_STREAMS
from service.routes.train_job import job_summary
from service.settings import Settings
from tests.service.conftest import RunServer, Server
from tests.service.routes.train_job.conftest import BODY


class Stage:
    """A real server without a worker, and the worker's side of its jobs."""

    def __init__(self, server: Server, trained: Path, artifacts: tuple[str, str]) -> None:
        self.server = server
        self.store = JobStore.open(Settings(artifacts=artifacts, trained=str(trained)))
        self.leases = Leases(self.store.database, seconds=600, max_attempts=5)

    def submit(self) -> str:
        return str(self.server.client.post("/train-job", json=BODY).json()["id"])

    def take(self) -> Lease:
        lease = self.leases.take("worker")
        assert lease is not None
        return lease


@pytest.fixture(scope="module")
def stage(
    run_server: RunServer, artifacts: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    trained = tmp_path_factory.mktemp("trained")
    with run_server(trained=str(trained), worker=False, access_log=False, min_free_bytes=0) as server:
        stage = Stage(server, trained, artifacts)
        yield stage
        stage.store.close()


def events(lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read events of a stream: their ids and their jobs."""
    found: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            found[name] = value
        elif "data" in found:
            assert found["event"] == "job"
            yield int(found["id"]), json.loads(found["data"])
            found = {}


def test_every_change_is_told_until_the_job_ends(stage: Stage) -> None:
    job = stage.submit()
    with stage.server.client.stream("GET", f"/train-job/{job}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        told = events(stream.iter_lines())
        first, state = next(told)
        assert (state["id"], state["state"]) == (job, "queued")
        lease = stage.take()
        second, state = next(told)
        assert (state["state"], state["phase"]) == ("running", "counting")
        lease = stage.leases.renew(lease, JobProgress(5, 10, "bytes", 1.0))
        third, state = next(told)
        assert state["progress"]["done"] == 5
        stage.leases.advance(lease, Event.MERGE)
        assert next(told)[1]["phase"] == "merging"
        stage.server.client.delete(f"/train-job/{job}")
        rest = list(told)
        assert rest[-1][1]["state"] == "cancelled"
        assert first < second < third < rest[-1][0]


def test_a_version_without_news_is_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "LOOK_SECONDS", 0.001)
    versions = iter([("a", 2), ("a", 3), ("b", 4), ("b", 5)])

    class Renewing:
        jobs = SimpleNamespace(status=None)

        async def run(self, *_: object) -> Any:
            name, version = next(versions)
            return SimpleNamespace(id="j", name=name, version=version, has_ended=version == 5)

    access: Any = Renewing()
    access.link_root = ""
    queued: Any = SimpleNamespace(id="j", name="a", version=1, has_ended=False)

    async def story() -> list[bytes]:
        stream = event_stream.EventStream(access, lambda job, _: {"name": job.name}, set(), None, queued, seen=0)
        async with asyncio.timeout(60):
            return [event async for event in stream._events()]

    told = [b'id: 1\nevent: job\ndata: {"name":"a"}\n\n', b'id: 4\nevent: job\ndata: {"name":"b"}\n\n']
    assert asyncio.run(story()) == [b"retry: 2000\n\n", *told]


def test_stream_goes_on_where_it_broke_off(stage: Stage) -> None:
    job = stage.submit()
    path = f"/train-job/{job}/events"
    with stage.server.client.stream("GET", path) as stream:
        seen, _ = next(events(stream.iter_lines()))
    stage.server.client.delete(f"/train-job/{job}")
    with stage.server.client.stream("GET", path, headers={"last-event-id": str(seen)}) as stream:
        (last,) = events(stream.iter_lines())
    assert last[1]["state"] == "cancelled"
    gone = stage.server.client.get(path, headers={"last-event-id": str(last[0])})
    assert (gone.status_code, gone.content) == (204, b"")
    for strange in ("", "x", "-1", "1e9", "9" * 18, "9" * 5000, "٣"):
        answer = stage.server.client.get(path, headers={b"last-event-id": strange.encode()})
        assert [job["state"] for _, job in events(iter(answer.text.split("\n")))] == ["cancelled"], strange


def test_quiet_stream_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(event_stream, "KEEP_ALIVE_SECONDS", 0.002)

    job: Any = SimpleNamespace(id="j", version=1, has_ended=False)

    class NoNews:
        jobs = SimpleNamespace(status=None)

        async def run(self, *_: object) -> Any:
            return job

    access: Any = NoNews()

    async def story() -> list[bytes]:
        told = event_stream.EventStream(access, job_summary, set(), None, job, seen=1)._events()
        async with asyncio.timeout(60):
            return [await anext(told) for _ in range(3)]

    assert asyncio.run(story()) == [b"retry: 2000\n\n", b": keep-alive\n\n", b": keep-alive\n\n"]


def test_stream_waits_while_jobs_cannot_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "LOOK_SECONDS", 0.001)
    queued: Any = SimpleNamespace(id="j", version=1, has_ended=False)
    failures = [saturated("8 requests about jobs wait"), JobsUnavailable(5), saturated("no thread became free")]

    class Busy:
        jobs = SimpleNamespace(status=None)

        async def run(self, *_: object) -> Any:
            if failures:
                raise failures.pop()
            raise UnknownJob("j")

    access: Any = Busy()

    async def story() -> list[bytes]:
        async with asyncio.timeout(60):
            stream = event_stream.EventStream(access, job_summary, set(), None, queued, seen=1)
            return [event async for event in stream._events()]

    assert asyncio.run(story()) == [b"retry: 2000\n\n"]
    assert failures == []


def test_head_ends_at_once(stage: Stage) -> None:
    job = stage.submit()
    assert stage.server.client.head(f"/train-job/{job}/events").status_code == 200
    stage.server.client.delete(f"/train-job/{job}")


def connect(stage: Stage, path: str) -> tuple[socket.socket, int]:
    """Ask for events, read the status and never anything more."""
    url = httpx.URL(stage.server.url)
    connection = socket.create_connection((url.host, url.port or 80), timeout=60)
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    line = b""
    while len(line) < len("HTTP/1.1 200"):
        line += connection.recv(1)
    return connection, int(line.split()[1])


def test_callers_who_never_read_take_no_more_than_their_streams(stage: Stage) -> None:
    job = stage.submit()
    path = f"/train-job/{job}/events"
    silent = [connect(stage, path) for _ in range(MAX_STREAMS)]
    try:
        assert {status for _, status in silent} == {200}
        answer = stage.server.client.get(path)
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert stage.server.client.post("/encode", json={"text": "the fox"}).status_code == 200
    finally:
        for connection, _ in silent:
            connection.close()
    # Their places are free again, once the server has seen them go.
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with stage.server.client.stream("GET", path) as answer:
            if answer.status_code == 200:
                break
    assert answer.status_code == 200
    stage.server.client.delete(f"/train-job/{job}")


def test_stream_does_not_keep_a_server_from_ending(
    run_server: RunServer, artifacts: tuple[str, str], tmp_path: Path
) -> None:
    with run_server(trained=str(tmp_path), worker=False, access_log=False, min_free_bytes=0) as server:
        job = server.client.post("/train-job", json=BODY).json()["id"]
        with httpx.stream("GET", f"{server.url}/train-job/{job}/events", timeout=60) as stream:
            told = events(stream.iter_lines())
            assert next(told)[1]["state"] == "queued"
            server.process.terminate()
            assert list(told) == []
        # It would have waited 30 seconds for the stream, and then said so.
        server.process.communicate(timeout=60)
        assert b"timeout" not in server.log()
        assert server.process.returncode == 0
