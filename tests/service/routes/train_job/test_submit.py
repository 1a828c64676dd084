"""Submission as JSON: what becomes a job, and what is refused with the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from service.schemas.training import TrainingSettings, TrainJobRequest
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tests.service.routes.train_job.conftest import (
    BODY,
    SETTINGS,
    TEXTS,
    Board,
    MakeBoard,
    form,
    json_refused,
    settings_part,
)
from tokenizer_core import Recipe, Tokenizer, TrainingRun, train
from tokenizer_core.training.families import ALL_FIELDS, FIELDS


def test_texts_become_a_queued_job_whose_corpus_lies_on_the_disk(board: Board) -> None:
    job = board.submit({**BODY, "name": "mine"})
    assert (job["state"], job["phase"], job["name"], job["owner"]) == ("queued", None, "mine", "local")
    assert job["settings"]["vocab_size"] == 260
    assert job["attempts"] == 0
    assert job["created_at"].endswith("Z")
    assert job["progress"] is job["error"] is job["artifact"] is job["started_at"] is job["finished_at"] is None
    assert board.client.get(f"/train-job/{job['id']}").json() == job
    assert board.files() == [f"{job['id']}/corpus.jsonl"]
    lines = (board.store.directory / board.files()[0]).read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == TEXTS
    recipe = board.store.get(job["id"], None).recipe
    assert Recipe.from_dict(recipe).to_dict() == recipe


def test_where_a_corpus_lies_is_told_to_nobody(board: Board) -> None:
    job = board.submit()
    assert str(board.trained) not in json.dumps(board.client.get(f"/train-job/{job['id']}").json())


def test_directory_that_cannot_be_written_is_told_as_such(
    make_client: MakeClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client(trained=str(tmp_path / "file"))
    (tmp_path / "file").write_text("no directory")
    for sent in ({"json": BODY}, {"files": {"corpus": ("a.txt", b"low lower lowest")}}):
        answer = client.post("/train-job", **sent)
        assert_problem(answer, "jobs_unavailable")
        assert answer.headers["retry-after"].isdigit()
    assert f"the store of jobs: {tmp_path / 'file' / '.jobs'}" in caplog.text
    assert "Not a directory" in caplog.text


def test_settings_are_those_of_the_library() -> None:
    core = Recipe.from_dict({"corpus": {"texts": ["a"]}}).to_dict()
    ours = TrainingSettings.model_validate({}).model_dump()
    others = ("corpus", "name", "extends_hash")
    of_other_models = {name for name in ALL_FIELDS if name not in FIELDS["bpe"]}
    assert ours == {name: value for name, value in core.items() if name not in others} | dict.fromkeys(of_other_models)


def test_null_in_a_setting_that_is_none_by_default_is_as_if_it_were_not_sent(board: Board) -> None:
    schema = board.client.get("/openapi.json").json()["components"]["schemas"]["TrainingSettings"]["properties"]
    nothing = {name for name, field in schema.items() if field.get("default") in (None, [])}
    assert nothing >= {"normalizer", "special_tokens", "initial_merges", "extends", "max_token_length", "pad"}
    assert all({"type": "null"} in schema[name]["anyOf"] for name in nothing)
    headers = {"idempotency-key": "k"}
    first = board.submit(headers=headers)
    nulls = {"corpus": BODY["corpus"], "settings": SETTINGS | dict.fromkeys(nothing)}
    assert board.submit(nulls, headers=headers) == first
    sent, form_headers = form(settings_part(**dict.fromkeys(nothing)), ("corpus", "a.txt", b"low lower lowest"))
    answer = board.client.post("/train-job", content=sent, headers=form_headers)
    assert answer.json()["settings"] == first["settings"]
    extending = {"extends": "framed", "vocab_size": 500, "normalizer": None, "special_tokens": None}
    assert board.submit({"corpus": BODY["corpus"], "settings": extending})["settings"]["extends"] == "framed"


@pytest.mark.parametrize(
    "setting", [{"initial_merges": [["a" * (1 << 20), "b"]]}, {"special_tokens": ["<" * 1000] * 1100}], ids=min
)
def test_settings_that_are_too_long_are_refused_before_they_are_taken_apart(
    refusing: Board, monkeypatch: pytest.MonkeyPatch, setting: dict[str, Any]
) -> None:
    taken_apart: list[object] = []
    monkeypatch.setattr(Recipe, "from_dict", taken_apart.append)
    json_refused(refusing, {"corpus": {"texts": TEXTS}, "settings": setting}, "body_too_large", "settings")
    assert taken_apart == []


@pytest.mark.parametrize(
    ("settings", "code", "path"),
    [
        ({"vocab_size": 255}, "invalid_settings", "settings.vocab_size"),
        ({"vocab_size": 10**9}, "invalid_settings", "settings.vocab_size"),
        ({"vocab_size": 2**40}, "invalid_value", "settings.vocab_size"),
        ({"vocab_size": -1}, "invalid_value", "settings.vocab_size"),
        ({"vocab_size": "260"}, "invalid_type", "settings.vocab_size"),
        ({"vocab_size": 260.0}, "invalid_type", "settings.vocab_size"),
        ({"vocab_size": True}, "invalid_type", "settings.vocab_size"),
        ({"vocab_size": None}, "invalid_type", "settings.vocab_size"),
        ({"special_tokens": [""]}, "invalid_settings", "settings.special_tokens[0]"),
        ({"special_tokens": ["<|a|>", "<|a|>"]}, "invalid_settings", "settings.special_tokens[1]"),
        ({"special_tokens": ["<|a|>", 3]}, "invalid_type", "settings.special_tokens[1]"),
        ({"special_tokens": ["x"] * 10_001}, "too_many_items", "settings.special_tokens"),
        ({"tie_break": "random"}, "invalid_value", "settings.tie_break"),
        ({"pattern": "("}, "invalid_settings", "settings.pattern"),
        ({"pattern": 3}, "invalid_type", "settings.pattern"),
        ({"normalizer": ["nfx"]}, "invalid_value", "settings.normalizer[0]"),
        ({"max_token_length": 0}, "invalid_settings", "settings.max_token_length"),
        ({"initial_merges": [["a", "b"], ["ab", "€"]]}, "invalid_settings", "settings.initial_merges[1]"),
        ({"initial_merges": [["a"]]}, "missing_field", "settings.initial_merges[0][1]"),
        ({"eos": "<|ghost|>"}, "invalid_settings", "settings.eos"),
        ({"chat_template": "{% for %}"}, "invalid_settings", "settings.chat_template"),
        ({"chat_template": "{% if a %}" * 5_000}, "invalid_settings", "settings.chat_template"),
        ({"chat_template": "{% include 'a' %}"}, "invalid_settings", "settings.chat_template"),
        ({"extends": "nobody"}, "tokenizer_not_found", "settings.extends"),
        ({"extends": "../../etc"}, "invalid_name", "settings.extends"),
        ({"extends": "framed", "vocab_size": 257}, "invalid_settings", "settings.vocab_size"),
        ({"extends": "framed", "vocab_size": 500, "pattern": "gpt2"}, "invalid_settings", "settings.pattern"),
        ({"threads": 64}, "unknown_field", "settings.threads"),
        ({"vocab_sise": 260}, "unknown_field", "settings.vocab_sise"),
        ("large", "invalid_type", "settings"),
    ],
)
def test_bad_settings_are_refused_with_the_field(refusing: Board, settings: Any, code: str, path: str) -> None:
    merged = SETTINGS | settings if isinstance(settings, dict) else settings
    json_refused(refusing, {"corpus": {"texts": TEXTS}, "settings": merged}, code, path)


@pytest.mark.parametrize(
    ("wrong", "meant"), [({"vocab_size": 270}, "'settings.vocab_size'"), ({"corpus": {"paths": ["a"]}}, "'files'")]
)
def test_a_setting_in_the_wrong_place_is_told_its_place(refusing: Board, wrong: dict[str, Any], meant: str) -> None:
    answer = refusing.client.post("/train-job", json={"corpus": {"texts": TEXTS}, **wrong})
    assert f"did you mean {meant}?" in answer.text


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ({}, "missing_field", "corpus"),
        ([], "invalid_type", None),
        ({"corpus": {}}, "missing_field", "corpus"),
        ({"corpus": "text"}, "invalid_type", "corpus"),
        ({"corpus": ["text"]}, "invalid_type", "corpus"),
        ({"corpus": {"texts": "text"}}, "invalid_type", "corpus.texts"),
        ({"corpus": {"texts": ["a", 3]}}, "invalid_type", "corpus.texts[1]"),
        ({"corpus": {"texts": []}}, "invalid_value", "corpus.texts"),
        ({"corpus": {"texts": ["", ""]}}, "empty_corpus", "corpus.texts"),
        ({"corpus": {"texts": ["a"], "files": ["/a"]}}, "invalid_option", "corpus"),
        ({"corpus": {"texts": ["a"], "language": "file"}}, "invalid_option", "corpus.language"),
        ({"corpus": {"texts": ["a"], "parallel": ["/a"]}}, "invalid_option", "corpus.parallel"),
        ({"corpus": {"texts": ["a"]}, "settings": {"parity": True}}, "invalid_settings", "corpus.language"),
        ({"corpus": {"texts": ["a"], "path": "/etc"}}, "unknown_field", "corpus.path"),
        ({"corpus": {"texts": ["a"]}, "corpora": 3}, "unknown_field", "corpora"),
        ({"corpus": {"texts": ["a"], "format": "csv"}}, "invalid_value", "corpus.format"),
        ({"corpus": {"texts": ["a"]}, "name": "../x"}, "invalid_settings", "name"),
        ({"corpus": {"texts": ["a"]}, "name": ""}, "invalid_settings", "name"),
        ({"corpus": {"texts": ["a"]}, "name": 3}, "invalid_type", "name"),
    ],
)
def test_bad_request_is_refused_with_the_field(refusing: Board, body: Any, code: str, path: str | None) -> None:
    json_refused(refusing, body, code, path)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b'{"corpus":{"texts":["\\ud800"]}}', "invalid_unicode"),
        (b'{"corpus":{"texts":["\xff"]}}', "invalid_unicode"),
        (b'{"corpus":{"texts":["a"]},"settings":{"vocab_size":NaN}}', "invalid_json"),
        (b'{"corpus":' * 300, "invalid_json"),
    ],
)
def test_what_is_no_json_is_refused(refusing: Board, body: bytes, code: str) -> None:
    answer = refusing.client.post("/train-job", content=body, headers={"content-type": "application/json"})
    assert answer.json()["code"] == code
    assert answer.status_code < 500
    assert refusing.directories() == []


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"content-type": "text/plain"}, "unsupported_media_type"),
        ({"content-type": "application/x-www-form-urlencoded"}, "unsupported_media_type"),
        ({"content-type": "multipart/mixed; boundary=x"}, "unsupported_media_type"),
        ({}, "unsupported_media_type"),
        ({"content-type": "application/json; charset=utf-16"}, "unsupported_charset"),
        ({"content-type": "application/json", "content-encoding": "gzip"}, "unsupported_encoding"),
        ({"content-type": "multipart/form-data; boundary=x", "content-encoding": "gzip"}, "unsupported_encoding"),
    ],
)
def test_other_media_types_are_refused(refusing: Board, headers: dict[str, str], code: str) -> None:
    answer = refusing.client.post("/train-job", content=b"{}", headers=headers)
    assert answer.json()["code"] == code
    assert answer.status_code == 415


def test_corpus_over_the_limit_is_refused(make_board: MakeBoard) -> None:
    board = make_board(max_corpus_bytes=20)
    json_refused(board, {"corpus": {"texts": ["a" * 10, "ü" * 6]}, "settings": SETTINGS}, "corpus_too_large", "corpus")
    board.submit({"corpus": {"texts": ["a" * 10, "ü" * 5]}, "settings": SETTINGS})


def test_vocabulary_over_the_limit_of_the_server_is_refused(make_board: MakeBoard) -> None:
    board = make_board(max_vocab_size=300)
    body = {"corpus": {"texts": TEXTS}, "settings": {"vocab_size": 301}}
    assert "at most 300" in json_refused(board, body, "invalid_settings", "settings.vocab_size")["detail"]
    body["settings"] = {"vocab_size": 1}
    detail = json_refused(board, body, "invalid_settings", "settings.vocab_size")["detail"]
    assert "at least 256" in detail
    assert "4194304" not in detail


def test_settings_that_would_fill_the_store_are_refused(refusing: Board) -> None:
    literals = [f"<{number:01000}>" for number in range(1100)]
    body = {"corpus": {"texts": TEXTS}, "settings": SETTINGS | {"special_tokens": literals, "vocab_size": 2000}}
    json_refused(refusing, body, "body_too_large", "settings")


def test_disk_without_room_takes_no_corpus(make_board: MakeBoard) -> None:
    json_refused(make_board(min_free_bytes=1 << 52), BODY, "disk_full", None)


def test_tokenizer_can_be_extended_by_name(board: Board) -> None:
    job = board.submit({"corpus": {"texts": TEXTS}, "settings": {"extends": "framed", "vocab_size": 450}})
    assert job["settings"]["extends"] == "framed"
    assert "/" not in job["settings"]["extends"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("as_form", [False, True])
def test_trained_tokenizer_can_be_extended_by_hash(board: Board, tmp_path: Path, *, named: bool, as_form: bool) -> None:
    recipe = Recipe.from_dict({"corpus": {"texts": TEXTS}, "vocab_size": 260, "name": "first"})
    place = TrainingRun(tmp_path / "run", recipe).publish_under(board.trained)[0]
    settings = {"extends": f"{'first@' if named else ''}{Tokenizer.open(place).hash}", "vocab_size": 262}
    if as_form:
        parts = ("settings", None, json.dumps(settings).encode()), ("corpus", "a.txt", b"new newer")
        body, headers = form(*parts)
        answer = board.client.post("/train-job", content=body, headers=headers)
    else:
        answer = board.client.post("/train-job", json={"corpus": {"texts": TEXTS}, "settings": settings})
    assert answer.status_code == 202, answer.text
    assert answer.json()["settings"]["extends"] == settings["extends"]
    kept = board.store.get(answer.json()["id"], None).recipe
    assert (kept["extends"], kept["extends_hash"]) == (str(place), Tokenizer.open(place).hash)

    # By the time that the next is submitted another one lies there, and the server still has the first open.
    train(iter(["wide wider widest"]), 258).save(place)
    answer = board.client.post("/train-job", json={"corpus": {"texts": TEXTS}, "settings": settings})
    assert_problem(answer, "artifact_damaged", "settings.extends")


def test_a_tokenizer_of_another_model_is_not_extended(board: Board, tmp_path: Path) -> None:
    recipe = {"corpus": {"texts": TEXTS}, "model": "character", "unk": "<unk>", "special_tokens": ["<unk>"]}
    run = TrainingRun(tmp_path / "run", Recipe.from_dict({**recipe, "vocab_size": 60, "name": "letters"}))
    place = run.publish_under(board.trained)[0]
    body = {"corpus": {"texts": TEXTS}, "settings": {"extends": Tokenizer.open(place).hash, "vocab_size": 300}}
    problem = json_refused(board, body, "invalid_settings", "settings.extends")
    assert "only byte-level BPE" in problem["detail"]


def test_tokenizer_that_is_to_be_extended_and_is_not_there_is_named(refusing: Board) -> None:
    settings = {"extends": f"sha256:{'0' * 64}", "vocab_size": 262}
    json_refused(
        refusing, {"corpus": {"texts": TEXTS}, "settings": settings}, "tokenizer_not_found", "settings.extends"
    )


def test_same_request_under_one_key_is_one_job(board: Board) -> None:
    headers = {"idempotency-key": "k1"}
    first = board.submit(headers=headers)
    assert board.submit(headers=headers) == first
    assert board.submit({"settings": SETTINGS, "corpus": {"texts": TEXTS}}, headers=headers) == first
    assert board.submit()["id"] != first["id"]
    assert board.submit(headers={"idempotency-key": "k2"})["id"] != first["id"]
    assert len(board.directories()) == 3
    for other in [
        {"corpus": {"texts": [*TEXTS, "x"]}, "settings": SETTINGS},
        {"corpus": {"texts": TEXTS}, "settings": {"vocab_size": 261}},
        {**BODY, "name": "other"},
    ]:
        answer = board.client.post("/train-job", json=other, headers=headers)
        assert answer.json()["code"] == "idempotency_conflict"
        assert answer.status_code == 409
    assert len(board.directories()) == 3


@pytest.mark.parametrize("key", ["", " ", "a b", "ä", "x" * 201])
def test_bad_idempotency_key_is_refused(refusing: Board, key: str) -> None:
    answer = refusing.client.post("/train-job", json=BODY, headers={b"idempotency-key": key.encode("latin-1")})
    assert_problem(answer, "invalid_value", "header idempotency-key")
    twice = [("idempotency-key", "a"), ("idempotency-key", "a")]
    assert_problem(
        refusing.client.post("/train-job", json=BODY, headers=twice), "invalid_value", "header idempotency-key"
    )


def test_full_queue_says_when_to_come_again(make_board: MakeBoard) -> None:
    board = make_board(max_jobs=2)
    board.submit()
    job = board.submit()
    answer = board.client.post("/train-job", json=BODY)
    assert_problem(answer, "queue_full")
    assert int(answer.headers["retry-after"]) >= 1
    assert len(board.directories()) == 2
    board.client.delete(f"/train-job/{job['id']}")
    board.submit()


def test_every_example_gets_the_status_that_it_documents(board: Board) -> None:
    assert {example.status for example in TrainJobRequest.EXAMPLES.values()} == {202, 422}
    for name, example in TrainJobRequest.EXAMPLES.items():
        answer = board.client.post("/train-job", json=example.body)
        assert answer.status_code == example.status, (name, answer.text)
