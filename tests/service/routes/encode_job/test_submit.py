"""What is asked of a job that encodes, and what is refused with its field, before anything is queued."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from service.auth.keys import entry, new_key
from service.jobs.store import JobStore
from tests.service.conftest import MakeClient, state_of
from tests.service.problems import assert_problem
from tokenizer_core import LayoutName, Tokenizer

BODY: dict[str, Any] = {"corpus": {"texts": ["low lower", "lowest"]}, "tokenizer": "framed"}


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "a.jsonl").write_text('{"text": "low"}\n')
    return tmp_path / "corpora"


@pytest.fixture
def client(make_client: MakeClient, corpora: Path) -> Any:
    trained = str(corpora.parent / "trained")
    return make_client(trained=trained, min_free_bytes=0, corpus_roots=(str(corpora),), corpus_schemes=("https",))


def test_a_job_is_queued_with_the_tokenizer_that_is_meant_now(client: Any, framed: Tokenizer, corpora: Path) -> None:
    asked = {**BODY, "corpus": {"files": [str(corpora)], "field": "body"}, "settings": {"format": "ds"}, "name": "n"}
    answer = client.post("/encode-job", json=asked)
    assert answer.status_code == 202
    job = answer.json()
    assert answer.headers["location"] == f"/encode-job/{job['id']}"
    assert (job["state"], job["name"], job["tokenizer"], job["owner"]) == ("queued", "n", framed.hash, "local")
    assert (job["settings"]["format"], job["settings"]["shard_bytes"]) == ("ds", 1 << 30)
    store = state_of(client).jobs
    assert isinstance(store, JobStore)
    recipe = store.get(job["id"], None).recipe
    assert recipe["corpus"] == {
        "paths": [str(corpora)],
        "format": None,
        "field": "body",
        "column": "text",
        "on_error": "stop",
    }
    assert client.get(answer.headers["location"]).json() == job
    assert [each["id"] for each in client.get("/encode-job").json()["jobs"]] == [job["id"]]


def test_the_kinds_of_jobs_do_not_see_each_other(client: Any) -> None:
    job = client.post("/encode-job", json=BODY).json()["id"]
    trained = client.post("/train-job", json={"corpus": {"texts": ["low"]}}).json()["id"]
    assert client.get("/train-job").json()["jobs"][0]["id"] == trained
    assert len(client.get("/train-job").json()["jobs"]) == len(client.get("/encode-job").json()["jobs"]) == 1
    for method, path in [
        ("GET", f"/train-job/{job}"),
        ("DELETE", f"/train-job/{job}"),
        ("GET", f"/train-job/{job}/events"),
        ("GET", f"/train-job/{job}/artifact"),
        ("GET", f"/encode-job/{trained}"),
        ("DELETE", f"/encode-job/{trained}"),
        ("GET", f"/encode-job/{trained}/manifest"),
        ("GET", f"/encode-job/{trained}/files/a"),
    ]:
        assert_problem(client.request(method, path), "job_not_found", None)
    page = client.get("/metrics").text
    assert 'tokd_jobs{kind="encode",state="queued"} 1.0' in page
    assert 'tokd_jobs{kind="train",state="queued"} 1.0' in page


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"tokenizer": "nope"}, "tokenizer_not_found", "tokenizer"),
        ({"corpus": {"files": ["/etc/passwd"]}}, "path_forbidden", "corpus.files[0]"),
        ({"corpus": {"urls": ["file:///etc/passwd"]}}, "scheme_forbidden", "corpus.urls[0]"),
        ({"corpus": {}}, "missing_field", "corpus"),
        ({"corpus": {"texts": [""]}}, "empty_corpus", "corpus.texts"),
        ({"corpus": {"urls": ["https://a.example/a"], "format": "counts"}}, "invalid_option", "corpus.format"),
        ({"settings": {"eos": 1 << 20}}, "invalid_option", "settings.eos"),
        ({"settings": {"dtype": "int64"}}, "invalid_option", "settings.dtype"),
        ({"settings": {"eos": "middle"}}, "invalid_option", "settings.eos"),
        ({"settings": {"eos": -1}}, "invalid_value", "settings.eos"),
        ({"settings": {"shard_bytes": 1}}, "invalid_value", "settings.shard_bytes"),
        ({"settings": {"train_on": "all"}}, "invalid_option", "settings.train_on"),
        ({"settings": {"messages": "m", "special_tokens": "parse"}}, "invalid_option", "settings.special_tokens"),
        ({"tokenizer": "bare", "settings": {"messages": "m"}}, "template_missing", "settings.messages"),
        ({"tokenizer": "bare"}, "invalid_option", "settings.eos"),
        ({"settings": {"form": "ds"}}, "unknown_field", "settings.form"),
        ({"name": "x" * 201}, "invalid_value", "name"),
    ],
)
def test_what_is_wrong_is_refused_with_its_field(
    client: Any, change: dict[str, Any], code: str, path: str | None
) -> None:
    if change.get("settings", {}).get("dtype") == "int64":
        change["settings"]["format"] = "nanogpt"
    assert_problem(client.post("/encode-job", json=BODY | change), code, path)
    assert client.get("/encode-job").json()["jobs"] == []


def test_an_unknown_format_is_answered_with_the_nearest(client: Any) -> None:
    problem = assert_problem(
        client.post("/encode-job", json=BODY | {"settings": {"format": "megatorn"}}), "invalid_value", "settings.format"
    )
    assert "did you mean 'megatron'?" in problem["detail"]
    assert all(name in problem["detail"] for name in get_args(LayoutName))
    answer = client.post("/encode-job", json=BODY | {"settings": {"format": "text"}})
    assert "-F format=text" in assert_problem(answer, "invalid_value", "settings.format")["detail"]


def test_a_form_is_refused_before_its_corpus_comes(client: Any) -> None:
    file = {"corpus": ("a.txt", b"low")}
    for part, code, path in [
        ({"settings": '{"format": "megatorn"}'}, "invalid_value", "settings.format"),
        ({"tokenizer": "nope"}, "tokenizer_not_found", "tokenizer"),
        ({"name": "x" * 201}, "invalid_value", "name"),
        ({"pattern": "x"}, "unknown_field", "pattern"),
    ]:
        answer = client.post("/encode-job", data={"tokenizer": "framed", **part}, files=file)
        assert_problem(answer, code, path)
    assert client.post("/encode-job", data={"tokenizer": "framed"}, files=file).status_code == 202


def test_the_same_request_under_one_key_is_one_job(client: Any) -> None:
    key = {"idempotency-key": "once"}
    first, second = (client.post("/encode-job", json=BODY, headers=key).json()["id"] for _ in range(2))
    assert first == second
    other = client.post("/encode-job", json=BODY | {"settings": {"format": "ds"}}, headers=key)
    assert_problem(other, "idempotency_conflict", "header idempotency-key")
    assert_problem(
        client.post("/train-job", json={"corpus": {"texts": ["low"]}}, headers=key),
        "idempotency_conflict",
        "header idempotency-key",
    )


def test_only_the_key_that_submitted_a_job_sees_it(make_client: MakeClient, tmp_path: Path) -> None:
    keys = {name: new_key() for name in ("ann", "bob", "eve")}
    scopes: dict[str, Any] = {"ann": ["train"], "bob": ["train"], "eve": ["encode"]}
    (tmp_path / "keys.toml").write_text("".join(entry(name, scopes[name], key) for name, key in keys.items()))
    client = make_client(trained=str(tmp_path / "trained"), min_free_bytes=0, keys=str(tmp_path / "keys.toml"))

    def ask(name: str, method: str, path: str) -> Any:
        return client.request(method, path, headers={"authorization": f"Bearer {keys[name]}"})

    assert_problem(client.post("/encode-job", json=BODY), "unauthorized", None)
    job = client.post("/encode-job", json=BODY, headers={"authorization": f"Bearer {keys['ann']}"}).json()
    assert job["owner"] == "ann"
    path = f"/encode-job/{job['id']}"
    for each in (path, f"{path}/events", f"{path}/manifest", f"{path}/files/manifest.json"):
        assert_problem(ask("bob", "GET", each), "job_not_found", None)
        assert_problem(ask("eve", "GET", each), "forbidden", None)
    assert_problem(ask("bob", "DELETE", path), "job_not_found", None)
    assert ask("bob", "GET", "/encode-job").json()["jobs"] == []
    assert_problem(ask("ann", "GET", f"{path}/manifest"), "no_artifact", None)
    assert ask("ann", "DELETE", path).json()["state"] == "cancelled"
