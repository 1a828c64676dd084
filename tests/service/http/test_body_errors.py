"""What is mistyped in a request is answered with what was meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.errors import ServiceError
from service.http.body_errors import name_mistyped
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tokenizer_core import Tokenizer

FIELDS = ("model", "prompt", "messages")


@pytest.mark.parametrize(
    ("body", "path", "wrong"),
    [
        (b'{"model": "m", "text": "a"}', "prompt", "text"),
        (b'{"model": "m", "promt": "a"}', "prompt", "promt"),
        (b'{"message": []}', "messages", "message"),
        (b'{"messages": [{"role": "user"}, {"role": "user", "contnet": "a"}]}', "messages[1].content", "contnet"),
    ],
)
def test_what_was_meant_is_named(body: bytes, path: str, wrong: str) -> None:
    error = ServiceError("missing_field", "this field is required", path)
    name_mistyped(error, body, FIELDS)
    right = path.rpartition(".")[2]
    assert error.detail == f"this field is required; {wrong!r} is not a field; did you mean {right!r}?"
    assert (error.code, error.path) == ("missing_field", path)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"model": "m"}', "prompt"),
        (b'{"model": "m", "colour": "red"}', "prompt"),
        (b'{"messages": [{"role": "user", "name": "a"}]}', "messages[0].content"),
        (b'{"messages": []}', "messages[3].content"),
        (b'{"messages": "a"}', "messages[0].content"),
        (b"[]", "prompt"),
        (b"{", "prompt"),
        (b"[" * 100_000, "prompt"),
        (b'{"prompt": 5, "text": "a"}', "prompt"),
    ],
)
def test_nothing_is_guessed(body: bytes, path: str) -> None:
    error = ServiceError("missing_field", "this field is required", path)
    name_mistyped(error, body, FIELDS)
    assert (error.code, error.detail, error.path) == ("missing_field", "this field is required", path)


@pytest.mark.parametrize(
    ("path", "body", "field", "meant"),
    [
        ("/encode", {"texts": ["a"]}, "texts", "text"),
        ("/encode", {"text": "a", "model": "bare"}, "model", "tokenizer"),
        ("/encode", {"text": "a", "special_token": "text"}, "special_token", "special_tokens"),
        ("/encode", {"text": "a", "parts": ["ids"]}, "parts", "return"),
        ("/encode", {"messages": [], "labels": True}, "labels", "return"),
        ("/count", {"prompt": "a"}, "prompt", "text"),
        ("/decode", {"input_ids": [1]}, "input_ids", "ids"),
        ("/decode", {"ids": [1], "skip_special_token": True}, "skip_special_token", "skip_special_tokens"),
        ("/render", {"messages": [], "add_generation_promt": True}, "add_generation_promt", "add_generation_prompt"),
        ("/train-job", {"corpus": {"text": ["a"]}}, "corpus.text", "texts"),
        ("/train-job", {"corpus": {"texts": ["a"]}, "settings": {"vocabsize": 9}}, "settings.vocabsize", "vocab_size"),
    ],
)
def test_a_mistyped_field_is_answered_with_the_one_that_was_meant(
    client: TestClient, path: str, body: dict[str, Any], field: str, meant: str
) -> None:
    problem = assert_problem(client.post(path, json=body), "unknown_field", field)
    assert problem["detail"].endswith(f"; did you mean {meant!r}?")


@pytest.mark.parametrize(
    ("field", "value", "path", "meant"),
    [
        ("return", ["ids", "token"], "return[1]", "; did you mean 'tokens'?"),
        ("truncation", "only_secnd", "truncation", "; did you mean 'only_second'?"),
        ("padding", "Longest", "padding", "; did you mean 'longest'?"),
        ("padding", True, "padding", " or 'max_length'"),
    ],
)
def test_a_mistyped_value_is_answered_with_the_one_that_was_meant(
    client: TestClient, field: str, value: Any, path: str, meant: str
) -> None:
    problem = assert_problem(client.post("/encode", json={"text": "a", field: value}), "invalid_value", path)
    assert problem["detail"].endswith(meant)


@pytest.mark.parametrize("wrong", ["rol", "roles"])
def test_a_message_without_a_role_is_answered_with_the_field_that_was_meant(
    make_client: MakeClient, framed: Tokenizer, tmp_path: Path, wrong: str
) -> None:
    template = "{% for m in messages %}{{ m.role + ': ' + m.content }}{% endfor %}"
    framed.with_template(template).save(tmp_path / "strict")
    client = make_client(artifacts=(str(tmp_path / "strict"),))
    messages = [{"role": "user", "content": "a"}, {wrong: "user", "content": "a"}]
    problem = assert_problem(client.post("/encode", json={"messages": messages}), "template_failed", "messages[1].role")
    assert problem["detail"].endswith(f"; {wrong!r} is not a field; did you mean 'role'?")


def test_a_field_that_is_near_to_none_is_answered_with_where_the_fields_are(client: TestClient) -> None:
    for field in ("frequency_penalty", "", "\x00"):
        problem = assert_problem(client.post("/encode", json={"text": "a", field: 1}), "unknown_field", field)
        assert problem["detail"].endswith("; see /docs")


@pytest.mark.parametrize(
    ("path", "meant"), [("/enocde", "/encode"), ("/encode/", "/encode"), ("/v1/encode", "/encode"), ("/Tokenizers", "")]
)
def test_an_unknown_route_is_answered_with_the_path_that_was_asked_and_the_nearest(
    client: TestClient, path: str, meant: str
) -> None:
    answer = client.post(path, json={})
    # Below /v1 clients read errors in OpenAI's shape.
    is_openai = path.startswith("/v1/")
    detail = answer.json()["error"]["message"] if is_openai else assert_problem(answer, "not_found")["detail"]
    assert answer.status_code == 404
    assert repr(path) in detail
    assert f"did you mean {meant or '/tokenizers'!r}?" in detail


@pytest.mark.parametrize(
    ("reference", "code"),
    [("frame", "tokenizer_not_found"), ("framd", "tokenizer_not_found"), ("Framed", "invalid_name")],
)
def test_a_mistyped_tokenizer_is_answered_with_the_one_that_was_meant(
    client: TestClient, reference: str, code: str
) -> None:
    problem = assert_problem(client.post("/encode", json={"text": "a", "tokenizer": reference}), code, "tokenizer")
    assert "did you mean 'framed'?" in problem["detail"]


def test_a_mistyped_filter_is_answered_with_the_one_that_was_meant(client: TestClient) -> None:
    problem = assert_problem(client.get("/train-job?stat=queued"), "unknown_field", "query stat")
    assert "did you mean 'state'?" in problem["detail"]
