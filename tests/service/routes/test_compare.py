"""``/compare``: the library's numbers, under limits."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.client import calls
from service.routes.compare import MAX_CHARACTERS, MAX_TOKENIZERS, CompareAnswer, CompareRequest
from tests.service.conftest import MakeClient, state_of
from tests.service.problems import assert_problem
from tokenizer_core import Tokenizer, compare


def test_numbers_are_those_of_the_library(client: TestClient, framed: Tokenizer) -> None:
    texts = {"prose": ["the quick brown fox", "naïve café"], "one": "Hello"}
    body = {"tokenizers": [framed.hash, framed.name], "texts": texts, "context": 100}
    answer = client.post("/compare", json=body)
    assert answer.status_code == 200, answer.text
    CompareAnswer.model_validate(answer.json())
    listed = {"prose": ["the quick brown fox", "naïve café"], "one": ["Hello"]}
    expected = compare([framed, framed], listed, context=100).to_dict()
    assert answer.json()["texts"] == expected["texts"]
    assert answer.json()["tokenizers"][1]["shared"] == [1.0, 1.0]


def test_it_never_runs_on_the_event_loop(framed: Tokenizer) -> None:
    assert CompareRequest(tokenizers=[framed.name]).heavy()


def test_each_reference_counts_as_a_large_request(make_client: MakeClient, framed: Tokenizer) -> None:
    client = make_client(max_work_bytes=8 << 20)
    # Others are under way: a request alone is always taken.
    state_of(client).limits.work_bytes = 1 << 20
    assert client.post("/compare", json={"tokenizers": [framed.name] * 7}).status_code == 200
    assert_problem(client.post("/compare", json={"tokenizers": [framed.name] * 8}), "saturated", None)


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ({"tokenizers": []}, "invalid_value", "tokenizers"),
        ({"tokenizers": ["x"] * (MAX_TOKENIZERS + 1)}, "too_many_items", "tokenizers"),
        ({"tokenizers": ["nothing"]}, "tokenizer_not_found", "tokenizers[0]"),
        ({"texts": {}}, "invalid_value", "texts"),
        ({"texts": {"a": 1}}, "invalid_type", "texts.a"),
        ({"texts": {"a": "b", "c": ["d", 1]}}, "invalid_type", "texts.c[1]"),
        ({"texts": {"a": [""] * 9000, "b": [""] * 9000}}, "too_many_items", "texts"),
        ({"texts": {"a": ["b" * MAX_CHARACTERS, "c"]}}, "too_many_items", "texts"),
        ({"context": 0}, "invalid_value", "context"),
        ({"text": "a"}, "unknown_field", "text"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(
    client: TestClient, framed: Tokenizer, body: dict[str, Any], code: str, path: str
) -> None:
    assert_problem(client.post("/compare", json={"tokenizers": [framed.hash], **body}), code, path)


def test_the_client_reads_the_answer(make_client: MakeClient, framed: Tokenizer) -> None:
    client = make_client()
    call = calls.compare([framed.hash], {"one": "Hello"}, context=100)
    assert isinstance(call.body, dict)
    answer = client.post(call.path, content=calls.to_json(call.body), headers={"content-type": "application/json"})
    found = call.read(answer.json())
    assert found.context == 100
    assert found.texts == compare([framed], {"one": ["Hello"]}, context=100).to_dict()["texts"]
    assert calls.to_json(calls.compare(["base"]).body or {}) == b'{"tokenizers":["base"]}'
