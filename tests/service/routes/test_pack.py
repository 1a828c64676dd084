"""``POST /pack`` answers the packs of the library, and places errors in the examples."""

from __future__ import annotations

import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.schemas.packing import PackAnswer
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tokenizer_core import Tokenizer, base_artifact, pack

CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
EXAMPLES: list[dict[str, Any]] = [
    {"messages": CHAT},
    {"text": "naïve 東京"},
    {"prompt": "1 + 1 =", "completion": " 2"},
    {"input_ids": [3, 4, 5, 6], "labels": [-100, 4, 5, -100]},
]


@pytest.fixture(scope="module")
def client(make_client: MakeClient) -> TestClient:
    return make_client(artifacts=(str(base_artifact()),))


@pytest.mark.parametrize(
    "options",
    [
        {"length": 64},
        {"length": 32, "pad": True, "seed": 5},
        {"length": 16, "overflow": "split", "align": 4},
        {"length": 8, "method": "wrapped"},
        {"length": 64, "train_on": "all", "eos": False, "add_special_tokens": True},
    ],
)
def test_the_answer_holds_the_packs_of_the_library(client: TestClient, options: dict[str, Any]) -> None:
    answer = client.post("/pack", json={"examples": EXAMPLES, **options})
    assert answer.status_code == 200, answer.text
    body = PackAnswer.model_validate(answer.json())
    packs = pack(EXAMPLES, Tokenizer.open(base_artifact()), **options)
    block = packs.block(0, len(packs))
    assert [id for row in body.packs for id in row.input_ids] == block.input_ids.tolist()
    assert [label for row in body.packs for label in row.labels] == block.labels.tolist()
    assert [at for row in body.packs for at in row.position_ids] == block.position_ids.tolist()
    assert [row.cu_seqlens for row in body.packs] == [block.cu_seqlens(at).tolist() for at in range(len(block))]
    assert [size for row in body.packs for size in row.seq_lengths] == block.seq_lengths.tolist()
    assert [source for row in body.packs for source in row.source_rows] == block.source_rows.tolist()
    plan = packs.plan
    assert (body.tokens, body.full, body.split) == (plan.tokens, plan.full, plan.split)
    assert body.trained == packs.trained == sum(label != -100 for row in body.packs for label in row.labels)


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ({"examples": [], "length": 0}, "invalid_value", "length"),
        ({"examples": [{"text": "a"}] * 3, "length": 1, "eos": True}, "row_too_long", "examples[0]"),
        ({"examples": [{"text": "a"}, {"text": 1}], "length": 8}, "invalid_option", "examples[1].text"),
        ({"examples": [{"text": "a"}, {}], "length": 8}, "invalid_option", "examples[1]"),
        ({"examples": [{"text": "<|im_end|>"}], "length": 8}, "reserved_literal", "examples[0].text"),
        ({"examples": [{"text": "a"}], "length": 8, "train_on": "last"}, "invalid_option", "train_on"),
        ({"examples": [{"text": "a"}], "length": 8, "align": 3}, "invalid_option", "length"),
        (
            {"examples": [{"messages": [{"role": "user", "content": 7}]}], "length": 8},
            "invalid_option",
            "examples[0].messages[0].content",
        ),
    ],
)
def test_what_cannot_be_packed_is_a_problem_with_its_place(client: TestClient, body: Any, code: str, path: str) -> None:
    assert_problem(client.post("/pack", json=body), code, path)


def test_padding_that_would_be_too_much_is_refused_before_it_is_made(make_client: MakeClient) -> None:
    small = make_client(artifacts=(str(base_artifact()),), max_held_bytes=1 << 26, max_body_bytes=1 << 20)
    body = {"examples": [{"text": "a"}] * 4, "length": 1 << 24, "method": "none", "pad": True}
    begin = time.process_time()
    assert_problem(small.post("/pack", json=body), "answer_too_large")
    assert time.process_time() - begin < 1


def test_a_lone_surrogate_is_refused_at_its_example(client: TestClient) -> None:
    body = rb'{"examples": [{"text": "\ud800"}], "length": 8}'
    answer = client.post("/pack", content=body, headers={"content-type": "application/json"})
    assert_problem(answer, "invalid_unicode", "examples[0].text")
