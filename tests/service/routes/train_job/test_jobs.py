"""Lists, states and cancelling: page by page, and never another caller's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from service.jobs.job import Artifact, JobError, JobProgress, JobRequest
from service.jobs.leases import Lease, Leases
from service.jobs.states import Event
from service.schemas.training import TrainingSettings
from tests.service.problems import assert_problem
from tests.service.routes.train_job.conftest import BODY, TEXTS, Board, MakeBoard, form, settings_part
from tokenizer_core.training.families import FIELDS

ROUTES = [("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/artifact"), ("GET", "/report")]


def leases(board: Board) -> Leases:
    return Leases(board.store.database, seconds=60, max_attempts=5)


def taken(board: Board) -> Lease:
    """Take the oldest job, as a worker does."""
    lease = leases(board).take("worker")
    assert lease is not None
    return lease


def succeeded(board: Board) -> str:
    job = board.submit()["id"]
    held, lease = leases(board), taken(board)
    for happening in (Event.MERGE, Event.PUBLISH, Event.COMMIT):
        held.advance(lease, happening)
    held.succeed(lease, Artifact("sha256:" + "0" * 64, "mine", "0" * 64 + "-mine"))
    return str(job)


def test_jobs_are_listed_newest_first_page_by_page(board: Board) -> None:
    assert board.client.get("/train-job").json() == {"jobs": [], "next": None}
    made = [board.submit()["id"] for _ in range(5)][::-1]
    found: list[str] = []
    before: dict[str, Any] = {}
    for size in (2, 2, 1):
        page = board.client.get("/train-job", params={"limit": 2, **before}).json()
        assert len(page["jobs"]) == size
        found += [job["id"] for job in page["jobs"]]
        before = {"before": page["next"]}
    assert found == made
    assert before == {"before": None}
    assert "settings" not in page["jobs"][0]


EVERY: dict[str, Any] = {
    "model": "bpe",
    "sizes": [300, 500],
    "vocab_size": 270,
    "pattern": "gpt2",
    "superwords_from": 0.75,
    "superwords_pattern": "\\S+|\\s+",
    "normalizer": ["nfc"],
    "special_tokens": ["<a>", "<b>", "<c>"],
    "tie_break": "lowest_ids",
    "min_frequency": 2,
    "max_token_length": 9,
    "max_piece_length": 99,
    "min_count": 1,
    "id_layout": "specials_first",
    "initial_merges": [["l", "o"], ["lo", "w"]],
    "sixteen_bit": True,
    "parity": False,
    "global_merges": 0,
    "parity_window": None,
    "bos": "<a>",
    "eos": "<b>",
    "pad": "<c>",
    "chat_template": "{{ messages[0].content }}",
    "replace_invalid": True,
}
OF_WORD_PIECES: dict[str, Any] = {
    "model": "wordpiece",
    "vocab_size": 60,
    "normalizer": ["bert_cased"],
    "pretokenizer": "whitespace",
    "special_tokens": ["<a>", "<unk>"],
    "unk": "<unk>",
    "score": "likelihood",
    "prefix": "@@",
    "limit_alphabet": 30,
    "min_frequency": 2,
    "max_token_length": 9,
    "max_piece_length": 99,
    "min_count": 1,
    "pad": "<a>",
}
OF_UNIGRAM: dict[str, Any] = {
    "model": "unigram",
    "vocab_size": 300,
    "required_characters": "é",
    "byte_fallback": True,
    "seed_size": 1000,
    "shrinking_factor": 0.5,
    "n_sub_iterations": 1,
}
OF_SENTENCEPIECE: dict[str, Any] = {
    "style": "sentencepiece",
    "vocab_size": 300,
    "character_coverage": 0.98,
    "byte_fallback": True,
    "remove_extra_whitespaces": False,
    "allow_whitespace_only_pieces": True,
    "split_by_unicode_script": False,
    "split_by_number": False,
    "split_digits": True,
    "add_dummy_prefix": False,
    "split_by_whitespace": False,
    "tie_break": "shortest",
}
OF_WORDS: dict[str, Any] = {
    "model": "word",
    "style": "sentencepiece",
    "treat_whitespace_as_suffix": True,
    "user_defined_symbols": ["<sep>"],
    "hard_vocab_limit": True,
}
EXTENDING = {
    name: EVERY[name] for name in ("min_frequency", "tie_break", "max_token_length", "max_piece_length", "min_count")
}


@pytest.mark.parametrize(
    "settings",
    [
        EVERY,
        {**EXTENDING, "vocab_size": 450, "extends": "framed"},
        {},
        OF_WORD_PIECES,
        OF_UNIGRAM,
        OF_SENTENCEPIECE,
        OF_WORDS,
    ],
)
def test_every_setting_comes_back_from_every_route_as_it_was_sent(board: Board, settings: dict[str, Any]) -> None:
    every = [*EVERY, *OF_WORD_PIECES, *OF_UNIGRAM, *OF_SENTENCEPIECE, *OF_WORDS, "extends"]
    assert TrainingSettings.model_fields.keys() == set(every)
    told = board.submit({**BODY, "settings": settings})
    assert {name: told["settings"][name] for name in settings} == settings
    if "extends" in settings:
        of_any = {"sizes", "bos", "eos", "pad", "chat_template", "replace_invalid"}
        assert told["settings"].keys() == settings.keys() | of_any
    else:
        beside = {"sizes", "extends", "bos", "eos", "pad", "chat_template", "replace_invalid"}
        style = " in the style of sentencepiece" if "style" in settings else ""
        model = settings.get("model", "bpe") + style
        assert told["settings"].keys() == {*FIELDS[model], "model"} | beside
    where = f"/train-job/{told['id']}"
    assert board.client.get(where).json() == told
    short = {name: value for name, value in told.items() if name not in ("settings", "owner")}
    assert board.client.get("/train-job").json()["jobs"] == [short]
    cancelled = board.client.delete(where).json()
    ended = {name: cancelled[name] for name in ("state", "finished_at")}
    assert (ended["state"], cancelled) == ("cancelled", told | ended)
    events = board.client.get(f"{where}/events").text
    assert [json.loads(line[5:]) for line in events.splitlines() if line.startswith("data:")] == [short | ended]


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ({"extends_as": "base", "extends_hash": "sha256:5", "extends": "/srv/artifacts/base-2"}, "base"),
        ({"extends_hash": "sha256:5", "extends": "/srv/artifacts/base-2"}, "sha256:5"),
        ({"extends_hash": None, "extends": "/srv/artifacts/base-2"}, "base-2"),
        ({"extends": "/srv/artifacts/base-2"}, "base-2"),
        ({"extends_hash": None, "extends": None}, None),
        ({}, None),
    ],
)
def test_what_a_job_of_an_earlier_version_extends_is_shown_without_its_place(
    board: Board, kept: dict[str, Any], shown: str | None
) -> None:
    recipe = {"corpus": {"texts": TEXTS}, "vocab_size": 450, **kept}
    job, _ = board.store.submit(JobRequest(recipe=recipe, owner="local"))
    answer = board.client.get(f"/train-job/{job.id}")
    assert answer.json()["settings"] == {"vocab_size": 450, "extends": shown}
    assert "/srv" not in answer.text


def test_jobs_are_filtered_by_state(board: Board) -> None:
    ids = [board.submit()["id"] for _ in range(3)]
    board.client.delete(f"/train-job/{ids[1]}")
    taken(board)

    def of(*states: str) -> list[str]:
        return [job["id"] for job in board.client.get("/train-job", params={"state": states}).json()["jobs"]]

    assert of("queued") == [ids[2]]
    assert of("cancelled") == [ids[1]]
    assert of("running") == [ids[0]]
    assert of("running", "cancelled") == [ids[1], ids[0]]
    assert of("failed", "succeeded") == []
    assert of() == ids[::-1]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ({"state": "done"}, "query state[0]"),
        ({"limit": "0"}, "query limit"),
        ({"limit": "201"}, "query limit"),
        ({"limit": "many"}, "query limit"),
        ({"before": "../x"}, "query before"),
        ({"before": "' OR 1=1"}, "query before"),
    ],
)
def test_bad_question_is_refused(board: Board, query: dict[str, str], path: str) -> None:
    board.submit()
    assert_problem(board.client.get("/train-job", params=query), "invalid_value", path)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [("/train-job", "GET, HEAD, POST"), ("/train-job/x", "DELETE, GET, HEAD"), ("/train-job/x/events", "GET, HEAD")],
)
def test_wrong_method_names_all_that_the_path_has(board: Board, path: str, allowed: str) -> None:
    answer = board.client.put(path)
    assert_problem(answer, "method_not_allowed")
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("name", ["states", "status", "Limit", "", "\ud7ff"])
def test_question_that_is_none_is_refused_by_name(board: Board, name: str) -> None:
    answer = board.client.get("/train-job", params={"state": "failed", name: "failed"})
    assert_problem(answer, "unknown_field", f"query {name}")


def test_running_job_tells_its_phase_and_progress(board: Board) -> None:
    job = board.submit()["id"]
    held, lease = leases(board), taken(board)
    held.renew(lease, JobProgress(25, 100, "bytes", 5.0, seconds_left=15.0))
    told = board.client.get(f"/train-job/{job}").json()
    assert (told["state"], told["phase"], told["attempts"]) == ("running", "counting", 1)
    assert told["progress"] == {
        "done": 25,
        "total": 100,
        "unit": "bytes",
        "rate": 5.0,
        "seconds_left": 15.0,
        "tokens_per_byte": None,
        "newest": [],
    }
    assert told["started_at"] is not None


def test_failed_job_tells_why_and_succeeded_one_where_its_artifact_is(board: Board) -> None:
    done = succeeded(board)
    told = board.client.get(f"/train-job/{done}").json()
    assert told["artifact"] == {
        "tokenizer": "sha256:" + "0" * 64,
        "name": "mine",
        "href": f"/train-job/{done}/artifact",
        "sizes": [],
    }
    assert told["finished_at"] is not None
    failed = board.submit()["id"]
    leases(board).fail(taken(board), JobError("empty_corpus", "no text", "corpus"))
    told = board.client.get(f"/train-job/{failed}").json()
    assert (told["state"], told["error"]) == (
        "failed",
        {"code": "empty_corpus", "message": "no text", "path": "corpus"},
    )
    for rest in ("artifact", "report"):
        assert_problem(board.client.get(f"/train-job/{failed}/{rest}"), "no_artifact")


def test_queued_and_running_jobs_are_cancelled_once_and_for_all(board: Board) -> None:
    queued, running = board.submit()["id"], board.submit()["id"]
    assert taken(board).job.id == queued
    for job in (queued, running):
        for _ in range(2):
            answer = board.client.delete(f"/train-job/{job}")
            assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    done = succeeded(board)
    assert_problem(board.client.delete(f"/train-job/{done}"), "job_finished")


@pytest.mark.parametrize("job", ["x", "0" * 32, "..%2f..%2fetc", "%00", "a" * 5000, "' OR '1'='1"])
@pytest.mark.parametrize(("method", "rest"), ROUTES)
def test_job_that_is_not_there_is_not_found(refusing: Board, job: str, method: str, rest: str) -> None:
    answer = refusing.client.request(method, f"/train-job/{job}{rest}")
    assert answer.status_code == 404, answer.text


def test_job_of_another_key_is_not_there(
    make_board: MakeBoard, tmp_path: Path, keys: dict[str, dict[str, str]]
) -> None:
    board = make_board(keys=str(tmp_path / "keys.toml"))
    client = board.client
    ann = board.submit(headers=keys["ann"])["id"]
    body, kind = form(("corpus", "a.txt", b"text"), settings_part())
    bob = client.post("/train-job", content=body, headers=kind | keys["bob"]).json()["id"]

    def listed(name: str) -> list[str]:
        return [job["id"] for job in client.get("/train-job", headers=keys[name]).json()["jobs"]]

    assert (listed("ann"), listed("bob"), listed("boss")) == ([ann], [bob], [bob, ann])
    for method, rest in ROUTES[::-1]:
        mine = client.request(method, f"/train-job/{bob}{rest}", headers=keys["ann"])
        nobody = client.request(method, f"/train-job/{'0' * 32}{rest}", headers=keys["ann"])
        assert mine.status_code == nobody.status_code == 404
        assert mine.text.replace(bob, "") == nobody.text.replace("0" * 32, "")
    assert client.get(f"/train-job/{bob}", headers=keys["bob"]).json()["state"] == "queued"
    assert client.get(f"/train-job/{bob}", headers=keys["boss"]).json()["owner"] == "bob"
    assert client.delete(f"/train-job/{bob}", headers=keys["boss"]).json()["state"] == "cancelled"
    assert_problem(client.get("/train-job"), "unauthorized")


def test_one_idempotency_key_of_two_callers_is_two_jobs(
    make_board: MakeBoard, tmp_path: Path, keys: dict[str, dict[str, str]]
) -> None:
    board = make_board(keys=str(tmp_path / "keys.toml"))

    def submit(name: str) -> str:
        submitted: str = board.submit(headers=keys[name] | {"idempotency-key": "k"})["id"]
        return submitted

    assert submit("ann") == submit("ann") != submit("bob")


def test_encoding_key_may_not_train(make_board: MakeBoard, tmp_path: Path) -> None:
    from service.auth.keys import entry, new_key

    key = new_key()
    (tmp_path / "keys.toml").write_text(entry("reader", ["encode"], key))
    board = make_board(keys=str(tmp_path / "keys.toml"))
    headers = {"authorization": f"Bearer {key}"}
    assert_problem(board.client.post("/train-job", json=BODY, headers=headers), "forbidden")
    for method, rest in ROUTES:
        assert_problem(board.client.request(method, f"/train-job/{'0' * 32}{rest}", headers=headers), "forbidden")
    assert board.directories() == []
