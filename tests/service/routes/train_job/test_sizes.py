"""Several sizes of one job: submitted, refused, served, and fetched one by one."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.client import Client, Refused
from service.reports.fertility import fertility
from service.reports.training import document
from tests.service.conftest import RunServer, Server
from tests.service.routes.train_job.conftest import BODY, TEXTS, Board, MakeBoard, form, json_refused, settings_part
from tokenizer_core import Recipe, Tokenizer, TrainingRun

OF_BPE = {"vocab_size": 270, "sizes": [260, 265], "special_tokens": ["<|end|>"]}
OF_UNIGRAM = {"model": "unigram", "vocab_size": 17, "sizes": [13, 15]}


@pytest.fixture(scope="module")
def server(run_server: RunServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    trained = str(tmp_path_factory.mktemp("trained"))
    with run_server(trained=trained, min_free_bytes=0, access_log=False, lease_seconds=60) as running:
        yield running
        running.stop()


def submit_and_wait(server: Server, body: dict[str, Any]) -> dict[str, Any]:
    answer = httpx.post(f"{server.url}/train-job", json=body)
    assert answer.status_code == 202, answer.text
    place = httpx.URL(server.url).join(answer.headers["location"])
    with httpx.stream("GET", f"{place}/events", timeout=120) as events:
        events.read()
    job: dict[str, Any] = httpx.get(place).json()
    assert job["state"] == "succeeded", job["error"]
    return job


def unpacked(archive: bytes, into: Path) -> Tokenizer:
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(into, filter="data")
    (directory,) = into.iterdir()
    return Tokenizer.open(directory)


@pytest.mark.nightly
@pytest.mark.parametrize("settings", [OF_BPE, OF_UNIGRAM], ids=["bpe", "unigram"])
def test_every_size_is_named_served_and_fetched(server: Server, tmp_path: Path, settings: dict[str, Any]) -> None:
    name = settings.get("model", "bpe")
    body = {"corpus": {"texts": TEXTS}, "settings": settings, "name": name}
    job = submit_and_wait(server, body)
    run = TrainingRun(tmp_path / "run", Recipe.from_dict({"corpus": {"texts": TEXTS}, **settings, "name": name}))
    first, *others = run.tokenizers()
    artifact = job["artifact"]
    assert job["settings"]["sizes"] == settings["sizes"]
    assert (artifact["tokenizer"], artifact["name"]) == (first.hash, name)
    assert [(one["size"], one["tokenizer"], one["name"]) for one in artifact["sizes"]] == [
        (size, one.hash, f"{name}-{size}") for size, one in zip(settings["sizes"], others, strict=True)
    ]
    assert len({first.hash, *(one.hash for one in others)}) == 3
    for number, (told, truth) in enumerate(zip([artifact, *artifact["sizes"]], [first, *others], strict=True)):
        answer = httpx.get(httpx.URL(server.url).join(told["href"]))
        assert answer.headers["etag"] == f'"{truth.hash}"'
        made = unpacked(answer.content, tmp_path / str(number))
        assert (made.hash, made.name, made.vocab_size) == (truth.hash, told["name"], truth.vocab_size)
        for reference in (told["tokenizer"], told["name"]):
            encoded = httpx.post(f"{server.url}/encode", json={"text": "lowest newest", "tokenizer": reference}).json()
            assert encoded["ids"] == truth.encode("lowest newest").tolist()
    report = httpx.get(f"{server.url}/train-job/{job['id']}/report").json()
    assert (report["hash"], report["vocab_size"]) == (first.hash, first.vocab_size)
    assert report["sizes"] == [
        {"wanted": size, "vocab_size": one.vocab_size, "hash": one.hash}
        for size, one in zip(settings["sizes"], others, strict=True)
    ]
    assert 0 < report["learning_seconds"] < report["seconds"] < 120
    charts = {"fertility.svg", *(["frequencies.svg", "merges.svg", "compression.svg"] if name == "bpe" else [])}
    assert {*report["charts"]} == charts
    assert all(svg.startswith("<svg") for svg in report["charts"].values())
    assert report["fertility"]["english"]["per_word"] == fertility([first])[0]["english"]["per_word"]
    assert report["advice"] == document(first, run.report(), {}, fertility([first]), named=str)["advice"] != []
    with Client(server.url) as tokd:
        for size, one in zip(settings["sizes"], others, strict=True):
            assert unpacked(tokd.artifact(job["id"], size=size), tmp_path / f"client-{size}").hash == one.hash
        with pytest.raises(Refused) as refused:
            tokd.artifact(job["id"], size=999)
        assert (refused.value.code, refused.value.path) == ("invalid_value", "query size")
    assert httpx.get(f"{server.url}/train-job/{job['id']}/artifact?size=x").json()["path"] == "query size"


def test_sizes_stand_in_the_answer_and_null_is_none(board: Board) -> None:
    sent = {**BODY, "settings": {"vocab_size": 300, "sizes": [260, 400]}}
    job = board.submit(sent)
    assert job["settings"]["sizes"] == [260, 400]
    assert Recipe.from_dict(board.store.get(job["id"], None).recipe).sizes == (260, 400)
    for nothing in ({}, {"sizes": None}, {"sizes": []}):
        assert board.submit({**BODY, "settings": nothing})["settings"]["sizes"] == []
    body, headers = form(settings_part(sizes=[265]), ("corpus", "a.txt", b"low lower"))
    assert board.client.post("/train-job", content=body, headers=headers).json()["settings"]["sizes"] == [265]


def test_other_sizes_under_one_idempotency_key_are_another_request(board: Board) -> None:
    headers = {"idempotency-key": "k"}
    sent = {**BODY, "settings": {"vocab_size": 300, "sizes": [260]}}
    first = board.submit(sent, headers=headers)
    assert board.submit(sent, headers=headers) == first
    for other in ({"vocab_size": 300, "sizes": [261]}, {"vocab_size": 300}, {"vocab_size": 300, "sizes": [260, 261]}):
        answer = board.client.post("/train-job", json={**BODY, "settings": other}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")


@pytest.mark.parametrize(
    ("settings", "code", "path"),
    [
        ({"sizes": 260}, "invalid_type", "settings.sizes"),
        ({"sizes": "260"}, "invalid_type", "settings.sizes"),
        ({"sizes": {}}, "invalid_type", "settings.sizes"),
        ({"sizes": [260, "261"]}, "invalid_type", "settings.sizes[1]"),
        ({"sizes": [260.0]}, "invalid_type", "settings.sizes[0]"),
        ({"sizes": [True]}, "invalid_type", "settings.sizes[0]"),
        ({"sizes": [None]}, "invalid_type", "settings.sizes[0]"),
        ({"sizes": [-1]}, "invalid_value", "settings.sizes[0]"),
        ({"sizes": [2**40]}, "invalid_value", "settings.sizes[0]"),
        ({"sizes": [300, 255]}, "invalid_settings", "settings.sizes[1]"),
        ({"sizes": [300, 256], "special_tokens": ["<a>"]}, "invalid_settings", "settings.sizes[1]"),
        ({"sizes": [10**9]}, "invalid_settings", "settings.sizes[0]"),
        ({"sizes": [70_000], "sixteen_bit": True}, "invalid_settings", "settings.sizes[0]"),
        ({"sizes": list(range(300, 364))}, "invalid_settings", "settings.sizes"),
        ({"sizes": [300] * 100_000}, "invalid_settings", "settings.sizes"),
        ({"sizes": [0], "model": "unigram"}, "invalid_settings", "settings.sizes[0]"),
        ({"sizes": [500], "extends": "framed", "vocab_size": 600}, "invalid_settings", "settings.sizes"),
    ],
)
def test_bad_sizes_are_refused_with_their_place(
    refusing: Board, settings: dict[str, Any], code: str, path: str
) -> None:
    json_refused(refusing, {**BODY, "settings": {"vocab_size": 300, **settings}}, code, path)


def test_the_largest_size_is_under_the_limit_of_the_server(make_board: MakeBoard) -> None:
    board = make_board(max_vocab_size=300)
    body = {**BODY, "settings": {"vocab_size": 260, "sizes": [300, 301]}}
    detail = json_refused(board, body, "invalid_settings", "settings.sizes[1]")["detail"]
    assert detail == "sizes[1] is at most 300 on this server, not 301"


def test_a_name_that_is_too_long_with_its_size_is_refused(refusing: Board) -> None:
    body = {**BODY, "settings": {"vocab_size": 300, "sizes": [260]}, "name": "n" * 125}
    assert "<name>-<size>" in json_refused(refusing, body, "invalid_settings", "name")["detail"]
