"""What frames many short texts is counted before it is made, on every route that makes ids of a list of texts."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.core.formats.small import document, template, write
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tokenizer_core import Tokenizer
from tokenizer_core.config import MAX_FRAME

SHORT = [""] * 5000
"""A body of 15 kB, whose frames would be more than a million ids."""


@pytest.fixture(scope="module")
def client(make_client: MakeClient, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    folder = tmp_path_factory.mktemp("framed")
    whole = template(["S", "A"], ["S", "A", "B"], S=[264] * (MAX_FRAME - 2))
    Tokenizer.from_hf(write(folder / "read", document(post_processor=whole))).save(folder / "wide", name="wide")
    return make_client(artifacts=(str(folder / "wide"),))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the calls that made ids."""
    calls: list[str] = []

    def watch(name: str) -> None:
        call = getattr(Tokenizer, name)

        def watched(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            return call(*arguments, **options)

        monkeypatch.setattr(Tokenizer, name, watched)

    for name in ("encode", "encode_batch", "encode_pair_batch", "offsets", "nbest"):
        watch(name)
    return calls


@pytest.mark.parametrize(
    "body",
    [
        {"text": SHORT},
        {"text": SHORT, "return": ["ids"]},
        {"text": SHORT, "return": ["spans", "tokens", "special_tokens_mask"]},
        {"text": SHORT, "text_pair": SHORT},
        {"text": SHORT, "return": ["type_ids"]},
        {"text": SHORT, "max_length": 1},
    ],
)
def test_frames_of_more_ids_than_may_be_are_refused_before_any_is_made(
    client: TestClient, made: list[str], body: dict[str, Any]
) -> None:
    assert_problem(client.post("/encode", json=body), "too_many_ids", path="text")
    assert made == []


@pytest.mark.parametrize("pair", [{}, {"text_pair": SHORT}])
def test_offsets_refuse_them_too(client: TestClient, made: list[str], pair: dict[str, Any]) -> None:
    assert_problem(client.post("/offsets", json={"text": SHORT} | pair), "too_many_ids", path="text")
    assert made == []


@pytest.mark.parametrize("route", ["/tokenize", "/v1/tokenize", "/v1/completions/render"])
def test_the_routes_of_engines_refuse_them_too(client: TestClient, made: list[str], route: str) -> None:
    answer = client.post(route, json={"model": "wide", "prompt": SHORT})
    assert answer.status_code in (400, 413, 422), answer.text
    assert made == []


def test_texts_without_a_frame_and_fewer_texts_are_answered(client: TestClient) -> None:
    bare = client.post("/encode", json={"text": SHORT, "add_special_tokens": False}).json()
    assert bare["count"] == [0] * len(SHORT)
    few = client.post("/encode", json={"text": SHORT[:1000]}).json()
    assert few["count"] == [MAX_FRAME - 2] * 1000


def test_an_ordinary_frame_costs_nobody_a_text(make_client: MakeClient) -> None:
    client = make_client(max_ids=100)
    texts = ["a fox"] * 400
    assert len(client.post("/encode", json={"text": texts}).json()["ids"]) == len(texts)
