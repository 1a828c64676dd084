"""Tokenizers that jobs have trained: found by hash or name, opened once, and healed where they are damaged."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.registry.artifact_dirs import put_into_place
from service.registry.directory import INDEXED_SECONDS, TokenizersDirectory
from service.registry.served import IdOptions
from service.registry.trained_tokenizers import Trained
from tests.service.conftest import MakeClient, app_of
from tests.service.problems import assert_problem
from tests.support.damages import DAMAGES
from tokenizer_core import InvalidArtifact, StepLimit, Tokenizer, train
from tokenizer_core.chat import templates


def published(tokenizer: Tokenizer, directory: Path, name: str) -> str:
    """Put a tokenizer where a job would, under a name; return its hash."""
    tokenizer.save(directory / f"{tokenizer.hash.removeprefix('sha256:')}-{name}", name=name)
    return tokenizer.hash


def trained_on(text: str) -> Tokenizer:
    return train(iter([text]), vocab_size=300)


def test_a_trained_tokenizer_is_served_by_its_hash_at_once_and_by_the_name_that_it_alone_has(
    make_client: MakeClient, tmp_path: Path
) -> None:
    client = make_client(trained=str(tmp_path))
    tokenizer = trained_on("low lower lowest " * 9)
    for known in (False, True):
        if known:
            published(tokenizer, tmp_path, "mine")
        for reference in (tokenizer.hash, f"mine@{tokenizer.hash}"):
            body = {"text": "lower lowest", "tokenizer": reference}
            for route in ("/encode", "/count", "/offsets"):
                answer = client.post(route, json=body)
                if known:
                    assert answer.status_code == 200
                    assert answer.json()["tokenizer"] == tokenizer.hash
                    assert answer.json()["count" if route == "/count" else "ids"] == (
                        tokenizer.count("lower lowest")
                        if route == "/count"
                        else tokenizer.encode("lower lowest").tolist()
                    )
                else:
                    assert_problem(answer, "tokenizer_not_found", path="tokenizer")
            assert client.get(f"/tokenizers/{reference}").status_code == (200 if known else 404)
        for reference in (f"other@{tokenizer.hash}", tokenizer.hash[:-1] + "g"):
            answer = client.post("/count", json={"text": "low", "tokenizer": reference})
            assert answer.status_code in (400, 404)
    assert client.post("/decode", json={"ids": [256], "tokenizer": tokenizer.hash}).status_code == 200
    large = client.post("/encode", json={"text": "lower " * 50_000, "tokenizer": tokenizer.hash})
    assert large.json()["ids"] == tokenizer.encode("lower " * 50_000).tolist()


def test_a_trained_tokenizer_without_a_name_is_found_by_its_hash_alone(make_client: MakeClient, tmp_path: Path) -> None:
    client, tokenizer = make_client(trained=str(tmp_path)), trained_on("low lower " * 9)
    tokenizer.save(tmp_path / tokenizer.hash.removeprefix("sha256:"), name="trained")
    assert client.get(f"/tokenizers/{tokenizer.hash}").json()["name"] == "trained"
    assert client.get(f"/tokenizers/trained@{tokenizer.hash}").status_code == 200
    assert_problem(client.get(f"/tokenizers/other@{tokenizer.hash}"), "tokenizer_not_found", path="tokenizer")


def test_of_several_of_one_hash_the_oldest_is_served_and_a_name_finds_its_own(
    make_client: MakeClient, tmp_path: Path
) -> None:
    tokenizer = trained_on("low lower " * 9)
    digits = tokenizer.hash.removeprefix("sha256:")
    (tmp_path / f"{digits}-aa").mkdir()
    for age, (place, name) in enumerate(
        [("-z", "z"), ("", "trained"), ("-a+1", "a"), ("-a", "a"), ("-a-b", "a-b"), ("+2", "trained")]
    ):
        made = tokenizer.with_template(place)
        made.save(tmp_path / f"{digits}{place}", name=name)
        os.utime(tmp_path / f"{digits}{place}" / "manifest.json", (age, age))
        client = make_client(trained=str(tmp_path))
        served = client.get(f"/tokenizers/{tokenizer.hash}").json()["template"]
        assert served == tokenizer.with_template("-z").template_hash
        first = {"a": "-a+1", "trained": ""}.get(name, place)
        served = client.get(f"/tokenizers/{name}@{tokenizer.hash}").json()["template"]
        assert served == tokenizer.with_template(first).template_hash


def test_more_trained_tokenizers_than_stay_open_are_served_in_turn(make_client: MakeClient, tmp_path: Path) -> None:
    client = make_client(trained=str(tmp_path), max_trained=1)
    made = [trained_on(word * 9) for word in ("low ", "new ", "wide ")]
    hashes = [published(tokenizer, tmp_path, "mine") for tokenizer in made]
    assert len(set(hashes)) == 3
    for _ in range(2):
        for hash in hashes:
            assert client.post("/count", json={"text": "low", "tokenizer": hash}).json()["tokenizer"] == hash


def test_a_name_that_nothing_has_is_not_found_although_the_list_of_names_is_old_at_each_look(
    make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A slow turn of the event loop after each listing of a directory that changes all the time.
    monkeypatch.setattr("service.registry.directory.INDEXED_SECONDS", -1)
    client = make_client(trained=str(tmp_path))
    published(trained_on("low " * 9), tmp_path, "mine")
    ask = {"text": "low"}
    assert_problem(client.post("/count", json=ask | {"tokenizer": "fleeting"}), "tokenizer_not_found", path="tokenizer")
    # A list that was made since the request began to wait counts for it, however old it is by now.
    for _ in range(2):
        assert client.post("/count", json=ask | {"tokenizer": "mine"}).status_code == 200


@pytest.mark.parametrize("many", [1, 20])
def test_who_asks_for_a_fresh_tokenizer_by_its_name_waits_for_its_opening_however_long_that_takes(
    make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    client = make_client(trained=str(tmp_path))
    app = app_of(client)
    hash = published(trained_on("low " * 9), tmp_path, "mine")

    def slow(*arguments: Any, **options: Any) -> Tokenizer:
        time.sleep(4 * INDEXED_SECONDS)
        return open_(*arguments, **options)

    open_ = Tokenizer.open
    monkeypatch.setattr(Tokenizer, "open", slow)
    # A run of jobs beside: the directory is a new one at each look.
    monkeypatch.setattr(TokenizersDirectory, "_changed_ns", lambda _: (time.time_ns(), 0, 0))
    long = "low " * app.server_state.settings.inline_bytes

    async def ask() -> None:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60
        ) as asking:
            bodies = [{"text": text, "tokenizer": "mine"} for text in ("low", long)] * many
            answers = await asyncio.gather(*(asking.post("/count", json=body) for body in bodies))
            answers += [await asking.get("/tokenizers/mine")]
            assert {answer.status_code for answer in answers} == {200}
            assert {answer.json()["tokenizer"] for answer in answers} == {hash}

    asyncio.run(ask())


def test_a_trained_tokenizer_that_many_ask_for_first_is_opened_once(
    make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(trained=str(tmp_path), threads=1, max_queue=0)
    app = app_of(client)
    hash = published(trained_on("low " * 9), tmp_path, "mine")
    opened: list[object] = []

    all_ask = threading.Event()

    def noted(*arguments: Any, **options: Any) -> Tokenizer:
        opened.append(arguments)
        assert all_ask.wait(60)
        return open_(*arguments, **options)

    open_ = Tokenizer.open
    monkeypatch.setattr(Tokenizer, "open", noted)

    async def ask() -> None:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60
        ) as many:
            body = {"text": "low", "tokenizer": hash}
            asked = [asyncio.create_task(many.post("/count", json=body)) for _ in range(70)]
            while app.server_state.limits.requests + sum(each.done() for each in asked) < len(asked):  # noqa: ASYNC110
                await asyncio.sleep(0)
            all_ask.set()
            assert {answer.status_code for answer in await asyncio.gather(*asked)} == {200}

    asyncio.run(ask())
    assert len(opened) == 1


def test_a_trained_tokenizer_that_another_opened_meanwhile_is_not_opened_again(tmp_path: Path) -> None:
    trained = Trained(tmp_path, 1, 0, IdOptions())
    hash = published(trained_on("low " * 9), tmp_path, "mine")
    first, second = trained.open(None, hash), trained.open(None, hash)
    assert first is not None
    assert second is not None
    assert first.tokenizer is second.tokenizer


def test_the_expression_of_a_job_takes_milliseconds_for_any_text(tmp_path: Path) -> None:
    made = train(iter(["low lower"]), 258, pattern=r"(?:a+)+$|[\s\S]")
    loaded = Trained(tmp_path, 1, 0, IdOptions()).open(None, published(made, tmp_path, "mine"))
    assert loaded is not None
    tokenizer = loaded.tokenizer.with_template("x")
    start = time.thread_time()
    for _ in range(8):
        with pytest.raises(StepLimit):
            tokenizer.encode("a" * 30 + "b")
    assert time.thread_time() - start < 0.5
    # A harmless text has what its length brings.
    assert tokenizer.decode(tokenizer.encode("low b " * 9999)) == "low b " * 9999


def test_a_trained_artifact_that_was_tampered_with_is_not_served(
    make_client: MakeClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client(trained=str(tmp_path))
    first, second = trained_on("low " * 9), trained_on("new " * 9)
    hash = published(first, tmp_path, "mine")
    file = tmp_path / f"{hash.removeprefix('sha256:')}-mine" / "tokenizer.json"
    file.write_bytes(file.read_bytes() + b" ")
    assert_problem(client.post("/count", json={"text": "low", "tokenizer": hash}), "artifact_damaged")
    assert re.search(f"{file.parent} is not served: .*tokenizer.json", caplog.text)
    # A directory that is named after another tokenizer.
    first.save(tmp_path / second.hash.removeprefix("sha256:"), name="mine")
    assert_problem(client.post("/count", json={"text": "low", "tokenizer": second.hash}), "artifact_damaged")
    assert f"is not served: it holds {first.hash}" in caplog.text


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_artifact_is_no_bug_of_the_server_and_training_it_again_heals_it(
    make_client: MakeClient, tmp_path: Path, damage: str
) -> None:
    client, tokenizer = make_client(trained=str(tmp_path / "trained")), trained_on("low " * 9)
    hash = published(tokenizer, tmp_path / "trained", "mine")
    place = tmp_path / "trained" / f"{hash.removeprefix('sha256:')}-mine"
    DAMAGES[damage][0](place)
    code = "tokenizer_not_found" if damage == "no manifest" else "artifact_damaged"
    for reference in (hash, f"mine@{hash}"):
        body = {"text": "low", "tokenizer": reference}
        for route in ("/encode", "/count", "/offsets"):
            problem = assert_problem(
                client.post(route, json=body), code, None if code == "artifact_damaged" else "tokenizer"
            )
            assert str(tmp_path) not in json.dumps(problem)
        assert client.get(f"/tokenizers/{reference}").json()["code"] == code
        job = {"corpus": {"texts": ["low"]}, "settings": {"extends": reference, "vocab_size": 310}}
        assert_problem(client.post("/train-job", json=job), code, "settings.extends")
    tokenizer.save(tmp_path / "again", name="mine")
    assert put_into_place(tmp_path / "again", place) == place
    assert client.post("/count", json={"text": "low", "tokenizer": hash}).json()["tokenizer"] == hash
    # It stays open, but a run would read the files again.
    job["settings"]["extends"] = hash
    DAMAGES[damage][0](place)
    if damage != "other Unicode":
        assert_problem(client.post("/train-job", json=job), "artifact_damaged", "settings.extends")


def test_another_artifact_in_the_place_of_one_is_put_aside_when_that_is_trained_again(
    make_client: MakeClient, tmp_path: Path
) -> None:
    client, tokenizer = make_client(trained=str(tmp_path)), trained_on("low " * 9)
    place = tmp_path / tokenizer.hash.removeprefix("sha256:")
    trained_on("new " * 9).save(place, name="trained")
    assert_problem(client.get(f"/tokenizers/{tokenizer.hash}"), "artifact_damaged")
    tokenizer.save(tmp_path / "again", name="trained")
    assert put_into_place(tmp_path / "again", place) == place
    assert client.get(f"/tokenizers/{tokenizer.hash}").status_code == 200


def test_an_artifact_that_no_descriptor_is_left_for_is_not_called_damaged(
    make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(trained=str(tmp_path))
    hash = published(trained_on("low " * 9), tmp_path, "mine")

    def refused(*_: object, **__: object) -> None:
        try:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        except OSError:
            raise InvalidArtifact("tokenizer.json cannot be opened") from None

    monkeypatch.setattr("tokenizer_core.artifact.read", refused)
    assert_problem(client.post("/count", json={"text": "low", "tokenizer": hash}), "saturated")


def test_the_templates_of_a_trained_tokenizer_are_compiled_beside_the_event_loop(
    make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def noted(source: str) -> templates.Template:
        known = compiled.cache_info().misses
        template = compiled(source)
        threads.extend([threading.current_thread().name] * (compiled.cache_info().misses - known))
        return template

    compiled = templates.compiled
    client = make_client(trained=str(tmp_path))
    hash = published(trained_on("low " * 9).with_template("{{ messages[0].content }}!"), tmp_path, "mine")
    monkeypatch.setattr(templates, "compiled", noted)
    compiled.cache_clear()
    assert client.post("/count", json={"text": "low", "tokenizer": hash}).status_code == 200
    assert client.get(f"/tokenizers/{hash}").json()["templates"].keys() == {"default"}
    assert len(threads) == 1
    assert threads[0].startswith("tokd-work")
