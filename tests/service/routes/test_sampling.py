"""``/encode`` with segmentations that are drawn: the library's ids, and refusals by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tokenizers import Tokenizer as Peer
from tokenizers.models import Unigram

from service.routes.encode import MAX_DRAWN
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tests.support import families
from tokenizer_core import Tokenizer

TEXTS = ["the quick brown fox", "", "naïve café", "the quick brown fox"]


def test_drawn_ids_are_those_of_the_library(client: TestClient, framed: Tokenizer) -> None:
    options: dict[str, Any] = {"dropout": 0.4, "seed": 2**64 - 1}
    rows = framed.encode_batch(TEXTS, add_special_tokens=True, **options)
    answer = client.post("/encode", json={"text": TEXTS, **options}).json()
    assert answer["ids"] == [row.tolist() for row in rows]
    assert answer["ids"][0] != answer["ids"][3]
    shaped = {"padding": "longest", "return": ["ids", "labels", "tokens"]}
    padded = client.post("/encode", json={"text": TEXTS, **options, **shaped}).json()
    assert [[id for id in row if id != framed.pad_id] for row in padded["ids"]] == answer["ids"]
    one = client.post("/encode", json={"text": TEXTS[0], **options, "return": ["ids"]}).json()
    assert one["ids"] == answer["ids"][0]


def test_a_unigram_model_draws_among_its_best(make_client: MakeClient, tmp_path: Path) -> None:
    peer = Peer(Unigram([("<unk>", 0.0), ("a", -2.0), ("b", -2.5), ("ab", -3.0), ("aba", -4.0)], 0))
    tokenizer = families.opened(peer, tmp_path)
    tokenizer.save(tmp_path / "artifact")
    client = make_client(artifacts=(str(tmp_path / "artifact"),))
    texts = ["abababa"] * 20
    for options in ({"alpha": 0.5}, {"alpha": 0.5, "nbest": -1}, {"alpha": 0, "nbest": 3}):
        answer = client.post("/encode", json={"text": texts, "seed": 3, **options}).json()
        rows = tokenizer.encode_batch(texts, seed=3, **options)  # type: ignore[arg-type]
        assert answer["ids"] == [row.tolist() for row in rows]
        assert len({tuple(row) for row in answer["ids"]}) > 1


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"dropout": 0.1}, "seed"),
        ({"seed": 1}, "seed"),
        ({"alpha": 0.1, "seed": 1}, "alpha"),
        ({"nbest": 2, "seed": 1}, "nbest"),
        ({"dropout": 0.1, "alpha": 0.1, "seed": 1}, "alpha"),
        ({"dropout": 0.1, "seed": 1, "text_pair": "b"}, "dropout"),
        ({"dropout": 0.1, "seed": 1, "return": ["spans"]}, "return"),
        ({"dropout": 0.1, "seed": 1, "return": ["ids", "type_ids"]}, "return"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(client: TestClient, fields: dict[str, Any], path: str) -> None:
    assert_problem(client.post("/encode", json={"text": "abc", **fields}), "invalid_option", path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("dropout", 1.5), ("dropout", -0.1), ("seed", -1), ("seed", 2**64), ("nbest", 513), ("alpha", -1)],
)
def test_a_value_out_of_range_is_refused(client: TestClient, field: str, value: float) -> None:
    body = {"text": "abc", "dropout": 0.1, "seed": 1, field: value}
    assert_problem(client.post("/encode", json=body), "invalid_value", field)


def test_a_text_that_would_take_much_memory_is_refused_with_its_place(client: TestClient) -> None:
    long, options = "ab " * (MAX_DRAWN // 3 + 1), {"dropout": 0.1, "seed": 1}
    assert_problem(client.post("/encode", json={"text": long, **options}), "invalid_option", "text")
    assert_problem(client.post("/encode", json={"text": ["a", long], **options}), "invalid_option", "text[1]")
    assert client.post("/encode", json={"text": long[:MAX_DRAWN], **options}).status_code == 200


def test_chats_are_not_drawn(client: TestClient) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "dropout": 0.1, "seed": 1}
    assert_problem(client.post("/encode", json=body), "invalid_option", "dropout")
