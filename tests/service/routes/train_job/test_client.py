"""Both kinds of client against a server that really trains."""

from __future__ import annotations

import asyncio
import io
import json
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from service.auth import entry, new_key
from service.client import AsyncClient, Client, Forbidden, Job, NotFound, Refused, Saturated, ServerFault, Unreachable
from tests.service.conftest import RunServer, Server
from tests.service.routes.train_job.conftest import SETTINGS, TEXTS
from tokenizer_core import InvalidSettings, Tokenizer, train

KEYS = {name: new_key() for name in ("ann", "bob")}
Script = Callable[[Any], Awaitable[Any]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(run_server: RunServer, home: Path) -> Iterator[Server]:
    scopes: list[Any] = ["encode", "train"]
    (home / "keys.toml").write_text("".join(entry(name, scopes, key) for name, key in KEYS.items()))
    (home / "corpora").mkdir()
    (home / "corpora" / "a.jsonl").write_text('{"body": "low lower lowest"}\n')
    settings = {"trained": str(home / "trained"), "keys": str(home / "keys.toml"), "min_free_bytes": 0}
    with run_server(**settings, corpus_roots=(str(home / "corpora"),), access_log=False, lease_seconds=60) as running:
        yield running
        running.stop()


class Awaited:
    """A client that waits, with the face of one that is awaited, so that one script runs with both."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if name == "events":
                return self._events(*args)

            async def now() -> Any:
                return getattr(self._client, name)(*args, **kwargs)

            return now()

        return call

    async def _events(self, job_id: str) -> Any:
        for job in self._client.events(job_id):
            yield job


@pytest.fixture(params=["sync", "async"])
def play(request: pytest.FixtureRequest, server: Server) -> Callable[[Script], Any]:
    """Run a script with either kind of client."""

    def run(script: Script, name: str = "ann") -> Any:
        async def main() -> Any:
            if request.param == "sync":
                with Client(server.url, key=KEYS[name]) as tokd:
                    return await script(Awaited(tokd))
            async with AsyncClient(server.url, key=KEYS[name]) as tokd:
                return await script(tokd)

        return asyncio.run(main())

    return run


def test_job_of_files_is_trained_watched_fetched_and_used(
    play: Callable[[Script], Any], tmp_path: Path, server: Server
) -> None:
    (tmp_path / "a.txt").write_text(TEXTS[0])
    (tmp_path / "b.txt").write_text(TEXTS[1])
    files = [tmp_path / "a.txt", str(tmp_path / "b.txt")]

    async def script(tokd: Any) -> None:
        job = await tokd.submit_files(files, settings=SETTINGS, name="mine")
        assert (job.state, job.name, job.ended, job.owner) == ("queued", "mine", False, "ann")
        seen = [each async for each in tokd.events(job.id)]
        assert seen[-1].state == "succeeded", seen[-1].error
        assert len({str(each) for each in seen}) == len(seen)
        done = await tokd.wait(job.id)
        assert done.tokenizer == train(iter(TEXTS[:2]), **SETTINGS).hash
        report = await tokd.report(job.id)
        assert (report["hash"], report["wanted"]) == (done.tokenizer, SETTINGS["vocab_size"])
        assert report["merges"] == report["vocab_size"] - 256
        assert report["corpus"]["documents"] == 2
        assert (await tokd.count("lowest", tokenizer=done.tokenizer)).count < 6
        with tarfile.open(fileobj=io.BytesIO(await tokd.artifact(job.id))) as packed:
            packed.extractall(tmp_path / "unpacked", filter="data")
        (directory,) = (tmp_path / "unpacked").iterdir()
        assert Tokenizer.open(directory).hash == done.tokenizer

    play(script)


def test_every_kind_of_corpus_is_the_same_tokenizer(play: Callable[[Script], Any], home: Path) -> None:
    async def script(tokd: Any) -> None:
        jobs = [
            await tokd.submit_texts([TEXTS[0]], settings=SETTINGS),
            await tokd.submit_paths([str(home / "corpora")], field="body", settings=SETTINGS),
            await tokd.submit_files([home / "corpora" / "a.jsonl"], field="body", settings=SETTINGS),
        ]
        done = [await tokd.wait(job.id) for job in jobs]
        assert [job.state for job in done] == ["succeeded"] * 3, [job.error for job in done]
        assert {job.tokenizer for job in done} == {train(iter(TEXTS[:1]), **SETTINGS).hash}

    play(script)


def test_jobs_are_found_page_by_page_and_cancelled(play: Callable[[Script], Any]) -> None:
    async def script(tokd: Any) -> None:
        made = [(await tokd.submit_texts(TEXTS, settings=SETTINGS)).id for _ in range(3)]
        found, before = [], None
        while True:
            page = await tokd.jobs(limit=2, before=before)
            found += [job.id for job in page.jobs]
            before = page.next
            if before is None:
                break
        assert [job for job in found if job in made] == made[::-1]
        for job in made:
            assert (await tokd.wait(job)).ended
        with pytest.raises(Refused) as caught:
            await tokd.cancel(made[0])
        assert caught.value.code == "job_finished"
        assert made[0] in [job.id for job in (await tokd.jobs("succeeded", "failed", limit=200)).jobs]

    play(script)


def test_what_is_refused_says_what_and_where(play: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXTS[0])

    async def script(tokd: Any) -> None:
        for call, kind, code, path in [
            (tokd.job("0" * 32), NotFound, "job_not_found", None),
            (
                tokd.submit_texts(TEXTS, settings={"vocab_size": 3}),
                InvalidSettings,
                "invalid_settings",
                "settings.vocab_size",
            ),
            (tokd.submit_files([tmp_path / "a.txt"], settings={"x": 3}), Refused, "unknown_field", "settings.x"),
            (tokd.submit_paths(["/etc/passwd"]), Refused, "path_forbidden", "corpus.files[0]"),
            (tokd.submit_urls(["http://127.0.0.1/"]), Refused, "scheme_forbidden", "corpus.urls[0]"),
        ]:
            with pytest.raises(kind) as caught:
                await call
            assert (caught.value.code, caught.value.path) == (code, path)
        with pytest.raises(FileNotFoundError):
            await tokd.submit_files([tmp_path / "none.txt"])
        with pytest.raises(NotFound):
            await anext(aiter(tokd.events("0" * 32)))

    play(script)


def test_same_key_is_one_job_and_another_caller_sees_none(play: Callable[..., Any]) -> None:
    async def script(tokd: Any) -> str:
        jobs = [await tokd.submit_texts(TEXTS, settings=SETTINGS, idempotency_key="k") for _ in range(2)]
        assert jobs[0].id == jobs[1].id
        return str(jobs[0].id)

    job = play(script)

    async def other(tokd: Any) -> None:
        with pytest.raises(NotFound):
            await tokd.job(job)
        assert job not in [each.id for each in (await tokd.jobs(limit=200)).jobs]

    play(other, "bob")


def test_options_that_are_none_are_not_sent() -> None:
    nothing: Any = dict.fromkeys(("settings", "name", "format", "field", "column", "idempotency_key"))
    for submit, corpus in ((Client.submit_texts, TEXTS), (Client.submit_files, ["a.txt"])):
        call, plain = submit(corpus, **nothing), submit(corpus)
        assert (call.body, call.form, call.files) == (plain.body, plain.form, plain.files)
        assert call.headers is not None
        assert len(call.headers["idempotency-key"]) == 32
    assert Client.submit_files(["a.txt"], settings={"pattern": None}).form == {"settings": b'{"pattern":null}'}


def test_wrong_key_is_forbidden(server: Server) -> None:
    for key in (None, new_key()):
        with Client(server.url, key=key) as tokd, pytest.raises(Forbidden) as caught:
            tokd.jobs()
        assert (caught.value.code, caught.value.status) == ("unauthorized", 401)


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
    monkeypatch.setattr("service.client.jobs.time", SimpleNamespace(monotonic=lambda: sum(slept)))
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


def test_full_queue_is_told_with_the_time_to_come_again() -> None:
    problem = {"type": "", "title": "", "status": 429, "detail": "full", "code": "queue_full", "path": None}
    full = httpx.Response(429, json=problem, headers={"retry-after": "30"})
    tokd = Client(transport=httpx.MockTransport(lambda _: full))
    with pytest.raises(Saturated) as caught:
        tokd.submit_texts(TEXTS)
    assert (caught.value.code, caught.value.retry_after) == ("queue_full", 30)
