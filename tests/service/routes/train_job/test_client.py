"""Both kinds of client against a server that really trains."""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.auth.keys import entry, new_key
from service.client import AsyncClient, Client, Forbidden, NotFound, Refused, Saturated
from tests.service.conftest import RunServer, Server
from tests.service.routes.train_job.awaited import Awaited
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


def test_full_queue_is_told_with_the_time_to_come_again() -> None:
    problem = {"type": "", "title": "", "status": 429, "detail": "full", "code": "queue_full", "path": None}
    full = httpx.Response(429, json=problem, headers={"retry-after": "30"})
    tokd = Client(transport=httpx.MockTransport(lambda _: full))
    with pytest.raises(Saturated) as caught:
        tokd.submit_texts(TEXTS)
    assert (caught.value.code, caught.value.retry_after) == ("queue_full", 30)
