"""Deltas: with ``since`` an answer has the ids behind those that the caller has, if it begins with them."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tests.service.routes.compat.counting import TEMPLATE
from tokenizer_core import Tokenizer, prefix_hash

DYNAMO = {"scheme": "dynamo-xxh3/1", "block_size": 4}
RENDERS = "/v1/chat/completions/render"
COMPLETES = "/v1/completions/render"
TURNS = [
    {"role": ("user", "assistant")[at % 2], "content": f"turn {at} of a long talk about foxes, {'x' * at}"}
    for at in range(12)
]


@pytest.fixture(scope="module")
def client(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path = tmp_path_factory.mktemp("since") / "acme"
    framed.with_template(TEMPLATE).save(path)
    return make_client(artifacts=(str(path),))


def ask(client: TestClient, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    return found[0] if path == COMPLETES else found


@pytest.mark.parametrize("path", ["/encode", RENDERS])
@pytest.mark.parametrize("hashes", [{}, {"block_hashes": DYNAMO}], ids=["ids", "hashes"])
def test_a_growing_chat_is_told_by_its_new_ids(client: TestClient, path: str, hashes: dict[str, Any]) -> None:
    options = {"add_generation_prompt": False, **hashes}
    key = "ids" if path == "/encode" else "token_ids"
    kept: list[int] = []
    since: dict[str, Any] = {"count": 0}
    blocks: list[str] = []
    for count in range(1, len(TURNS) + 1):
        whole = ask(client, path, messages=TURNS[:count], **options)
        found = ask(client, path, messages=TURNS[:count], since=since, **options)
        assert found.get(key) is None
        assert found["since"] == {"hash": "", **since}
        assert count == 1 or len(found["new_ids"]) < len(whole[key])
        kept += found["new_ids"]
        assert kept == whole[key]
        assert found["prefix_hash"] == prefix_hash(kept)
        if hashes:
            del blocks[since["count"] // 4 :]
            blocks += found["block_hashes"]["blocks"]
            assert blocks == whole["block_hashes"]["blocks"]
        since = {"count": len(kept), "hash": found["prefix_hash"]}


@pytest.mark.parametrize("path", ["/encode", RENDERS, COMPLETES])
@pytest.mark.parametrize("change", ["edited", "shorter", "hash", "count", "empty"])
def test_ids_that_begin_otherwise_are_all_new(client: TestClient, path: str, change: str) -> None:
    def body(messages: list[Any]) -> dict[str, Any]:
        prompt = "".join(each["content"] for each in messages)
        return {"prompt": prompt} if path == COMPLETES else {"messages": messages}

    first = ask(client, path, **body(TURNS[:6]), since={"count": 0})
    since = {"count": len(first["new_ids"]), "hash": first["prefix_hash"]}
    then = TURNS[:8]
    if change == "edited":
        then = [{**TURNS[0], "content": "another"}, *TURNS[1:8]]
    elif change == "shorter":
        then = TURNS[:2]
    elif change == "hash":
        since["hash"] = "0" * 32
    elif change == "empty":
        del since["hash"]
    else:
        since["count"] -= 1
    found = ask(client, path, **body(then), since=since)
    whole = ask(client, path, **body(then))
    assert found["since"] is None
    assert found["new_ids"] == whole["ids" if path == "/encode" else "token_ids"]
    assert found["prefix_hash"] == prefix_hash(found["new_ids"])


def test_other_parts_are_of_all_ids(client: TestClient) -> None:
    text = "the quick brown fox"
    found = ask(client, "/encode", text=text, since={"count": 1, "hash": "0" * 32}, **{"return": ["ids", "spans"]})
    assert list(found) == ["tokenizer", "ids", "spans", "new_ids", "prefix_hash", "since"]
    assert len(found["spans"]) == len(found["ids"]) == len(found["new_ids"])
    since = {"count": 2, "hash": prefix_hash(found["ids"][:2])}
    padding = {"padding": "max_length", "max_length": 40, "pad_token": "<|eos|>", "padding_side": "left"}
    assert ask(client, "/encode", text=text, since=since, **padding)["new_ids"] == found["ids"][2:]


@pytest.mark.parametrize(
    ("body", "code", "place"),
    [
        ({"text": ["a", "b"], "since": {"count": 0}}, "invalid_option", "since"),
        ({"messages": [TURNS, TURNS], "since": {"count": 0}}, "invalid_option", "since"),
        ({"text": "a", "since": {"count": -1}}, "invalid_value", "since.count"),
        ({"text": "a", "since": {"hash": "0" * 32}}, "missing_field", "since.count"),
        ({"text": "a", "since": {"count": 1, "hash": "0" * 31}}, "invalid_value", "since.hash"),
        ({"text": "a", "since": {"count": 1, "hash": "G" * 32}}, "invalid_value", "since.hash"),
        ({"text": "a", "since": {"count": 1, "ids": []}}, "unknown_field", "since.ids"),
    ],
)
def test_a_wrong_since_is_refused_with_its_place(
    client: TestClient, body: dict[str, Any], code: str, place: str
) -> None:
    assert_problem(client.post("/encode", json=body), code, place)


def test_several_prompts_are_refused(client: TestClient) -> None:
    answer = client.post(COMPLETES, json={"prompt": ["a", "b"], "since": {"count": 0}})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "since"
