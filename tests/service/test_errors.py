"""The table of errors, and what no answer may hold."""

from __future__ import annotations

import ast
import errno
import json
import os

import pytest
from fastapi.testclient import TestClient

import tokenizer_core
from service.errors import PROBLEMS, ServiceError, from_core, refusal
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tests.support.server import ROOT
from tokenizer_core import InputError, InternalError, TokdError


def leaves(cls: type[TokdError]) -> list[type[TokdError]]:
    return [leaf for sub in cls.__subclasses__() for leaf in (leaves(sub) or [sub])]


def test_every_error_about_a_caller_s_input_has_a_status() -> None:
    codes = {code for cls in leaves(InputError) for code in cls.codes}
    assert codes
    assert codes <= set(PROBLEMS)
    assert all(400 <= PROBLEMS[code].status < 500 for code in codes)


def test_every_code_that_the_service_raises_is_in_the_table_and_every_code_of_the_table_is_raised() -> None:
    raised = {code for cls in (*leaves(InputError), InternalError) for code in cls.codes}
    for file in (ROOT / "service").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            by_name = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ServiceError"
            if by_name or (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "__init__" and node.args):
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    raised.add(first.value)
    assert raised == set(PROBLEMS)


def test_every_code_is_documented() -> None:
    text = (ROOT / "docs" / "errors.md").read_text("utf-8")
    for code, problem in PROBLEMS.items():
        assert f"\n- `{code}` ({problem.status}): " in text


def test_error_of_an_artifact_is_a_bug_of_the_server_and_says_nothing() -> None:
    for cls in leaves(tokenizer_core.ArtifactError):
        refused = refusal(cls("secret path /etc/x"))
        assert (refused.status, refused.code) == (500, "internal")
        assert b"secret" not in refused.body


def test_unexpected_exception_says_nothing(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the text was: " + "secret".upper())

    monkeypatch.setattr("service.routes.encode.shape", broken)
    monkeypatch.setattr("service.routes.tokenizers.described", broken)
    monkeypatch.setattr("tokenizer_core.Responder.answer_texts", broken)
    modelled = client.post("/encode", json={"text": "SECRET", "return": ["tokens"]})
    for answer in (modelled, client.post("/count", json={"text": "SECRET"}), client.get("/tokenizers")):
        assert_problem(answer, "internal")
        assert "SECRET" not in answer.text
        assert caplog.text.count(f"bug {answer.json()['detail'].rpartition(' ')[2]}: RuntimeError") == 1
    assert "RuntimeError" in caplog.text
    assert "SECRET" not in caplog.text


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_no_file_descriptor_left_is_no_bug(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    client = make_client()

    def as_it_comes(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "/secret")

    def as_the_core_says_it(*_: object, **__: object) -> None:
        try:
            as_it_comes()
        except OSError:
            raise tokenizer_core.errors.InvalidArtifact("tokenizer.json cannot be opened") from None

    for broken in (as_it_comes, as_the_core_says_it):
        caplog.clear()
        monkeypatch.setattr("service.routes.tokenizers.described", broken)
        answer = client.get("/tokenizers")
        assert_problem(answer, "saturated")
        assert answer.headers["retry-after"] == "1"
        assert "ulimit -n" in caplog.text
        assert "secret" not in answer.text + caplog.text


def test_too_little_memory_is_no_bug(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client()

    def refused(*_: object, **__: object) -> None:
        raise MemoryError("secret")

    monkeypatch.setattr("tokenizer_core.Responder.answer_texts", refused)
    answer = client.post("/encode", json={"text": "a"})
    assert_problem(answer, "saturated")
    assert answer.headers["retry-after"] == "1"
    assert "memory is short" in caplog.text
    assert "secret" not in answer.text + caplog.text


def test_place_of_the_core_becomes_a_path() -> None:
    assert from_core(TokdError("m", code="invalid_option", field="max_length")).path == "max_length"
    assert from_core(TokdError("m", code="unknown_token_id", index=3), "ids").path == "ids[3]"
    assert from_core(TokdError("m", code="unknown_token_id", index=3), "ids[2]").path == "ids[2][3]"
    assert from_core(TokdError("m", code="step_limit"), "text[1]").path == "text[1]"


@pytest.mark.parametrize(
    "word", ["é" * 9000, "é" * 900, "\ud800" * 9000, "\0" * 9000, '"\\' * 9000, "\U0010ffff" * 9000]
)
def test_error_is_ascii_and_small_whatever_it_quotes(word: str) -> None:
    error = ServiceError("invalid_option", word, word, members={"literal": word[:80]})
    refused = refusal(error)
    assert refused.body.isascii()
    assert len(refused.body) <= 4096
    json.loads(refused.body)


def test_problem_links_to_its_explanation(client: TestClient) -> None:
    page = client.get("/docs").text
    for code in PROBLEMS:
        assert f"id={code}>" in page
