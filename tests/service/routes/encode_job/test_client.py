"""Both kinds of client against a server that really encodes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.client import AsyncClient, Client, EncodeJob, NotFound, Refused
from tests.service.conftest import Server
from tokenizer_core import InvalidOption, Tokenizer


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    (home / "corpora").mkdir()
    (home / "corpora" / "a.jsonl").write_text('{"body": "low lower lowest"}\n')
    return home


OPTIONS: dict[str, Any] = {"tokenizer": "bare", "settings": {"format": "nanogpt", "eos": "none"}}


def test_every_kind_of_corpus_is_encoded_watched_and_fetched(server: Server, home: Path, bare: Tokenizer) -> None:
    with Client(server.url) as tokd:
        file = home / "corpora" / "a.jsonl"
        jobs = [
            tokd.submit_encode_job(texts=["low lower lowest"], name="mine", **OPTIONS),
            tokd.submit_encode_job(paths=[str(file)], field="body", **OPTIONS),
            tokd.submit_encode_job(files=[file], field="body", **OPTIONS),
        ]
        assert (jobs[0].state, jobs[0].name, jobs[0].tokenizer) == ("queued", "mine", bare.hash)
        for job in jobs:
            seen = list(tokd.encode_job_events(job.id))
            assert isinstance(seen[-1], EncodeJob)
            assert seen[-1].state == "succeeded", seen[-1].error
            manifest = tokd.encode_job_manifest(job.id)
            (facts,) = manifest["shards"][0]["files"].values()
            ids = np.frombuffer(tokd.encode_job_file(job.id, facts["name"]), np.uint16)
            assert ids.tolist() == bare.encode("low lower lowest").tolist()
        assert {job.id for job in tokd.encode_jobs("succeeded").jobs} == {job.id for job in jobs}
        assert tokd.jobs().jobs == []


def test_the_async_client_has_the_same_calls(server: Server) -> None:
    async def script() -> None:
        async with AsyncClient(server.url) as tokd:
            job = await tokd.submit_encode_job(texts=["low"], **OPTIONS)
            done = await tokd.wait_for_encode_job(job.id)
            assert done.state == "succeeded", done.error
            assert done.output is not None
            assert done.output["documents"] == 1
            assert (await tokd.encode_job_manifest(job.id))["documents"] == 1
            with pytest.raises(Refused) as caught:
                await tokd.cancel_encode_job(job.id)
            assert caught.value.code == "job_finished"
            with pytest.raises(NotFound):
                await tokd.encode_job_file(job.id, "nothing")
            with pytest.raises(NotFound):
                await tokd.job(job.id)

    asyncio.run(script())


def test_wrong_arguments_are_refused_before_anything_is_sent() -> None:
    with Client("http://127.0.0.1:1") as tokd:
        with pytest.raises(InvalidOption, match="one of texts, paths, urls, files; 2 are given"):
            tokd.submit_encode_job(texts=["a"], urls=["b"])
        with pytest.raises(InvalidOption, match="0 are given"):
            tokd.submit_encode_job()
        with pytest.raises(InvalidOption, match="vocab_size is not an option"):
            tokd.submit_encode_job(texts=["a"], vocab_size=1)  # type: ignore[call-arg]
