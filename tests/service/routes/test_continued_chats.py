"""``prefix_ids`` of ``/encode``: the answer begins with them, and says what it put behind."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.core.chat.conversations import built
from tests.core.test_exact_prefix import CHAT, CHATML, DROPS
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tokenizer_core import continue_chat

LAST = len(CHAT) - 1


@pytest.fixture(scope="module")
def client(make_client: MakeClient, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    paths = []
    for name, template in (("chatml", CHATML), ("drops", DROPS)):
        paths.append(tmp_path_factory.mktemp("prefix") / name)
        built(template).save(paths[-1])
    return make_client(artifacts=tuple(map(str, paths)))


def post(client: TestClient, **body: Any) -> Any:
    return client.post("/encode", json={"messages": CHAT, **body})


def test_the_answer_is_the_library_s(client: TestClient) -> None:
    end = built(CHATML).special_tokens["<|im_end|>"]
    for prefix in ([1, 2], [1, end], []):
        found = continue_chat(built(CHATML), CHAT, prefix, new_from=LAST, add_generation_prompt=True)
        parts = ["ids", "count", "assistant_mask"]
        answer = post(client, prefix_ids=prefix, new_from=LAST, add_generation_prompt=True, **{"return": parts})
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert list(body)[2:] == [*parts, "appended", "inserted", "retokenized_equal"]
        assert body["ids"] == found.ids.tolist()
        assert body["ids"][: len(prefix)] == prefix
        assert (body["count"], body["appended"]) == (len(found.ids), found.appended)
        assert (body["inserted"], body["retokenized_equal"]) == (list(found.inserted), found.retokenized_equal)
        assert body["assistant_mask"] == found.assistant_mask.tolist()


def test_hashes_are_of_the_continued_ids(client: TestClient) -> None:
    options = {"scheme": "dynamo-xxh3/1", "block_size": 4}
    body = post(client, prefix_ids=[1, 2, 3, 4, 5], new_from=LAST, block_hashes=options).json()
    other = client.post("/v1/completions/render", json={"prompt": body["ids"], "block_hashes": options}).json()
    assert body["block_hashes"] == other[0]["block_hashes"]


def test_a_rewritten_history_is_refused_with_its_message(client: TestClient) -> None:
    chat = [CHAT[0], {**CHAT[1], "reasoning_content": "hm"}, CHAT[2]]
    answer = post(client, tokenizer="drops", messages=chat, prefix_ids=[1], new_from=2)
    assert 'rewritten="keep"' in assert_problem(answer, "history_rewritten", "messages[1]")["detail"]
    kept = post(client, tokenizer="drops", messages=chat, prefix_ids=[1], new_from=2, rewritten="keep").json()
    found = continue_chat(built(DROPS), chat, [1], new_from=2, rewritten="keep")
    assert (kept["ids"], kept["inserted"]) == (found.ids.tolist(), list(found.inserted))


def test_every_step_tells_whether_it_extends_the_one_before(client: TestClient) -> None:
    body = post(client, **{"return": ["count", "prefix_stable"]}).json()
    assert body["prefix_stable"] == [True, True]
    chat = [CHAT[0], {**CHAT[1], "reasoning_content": "hm"}, *CHAT[2:]]
    body = post(client, tokenizer="drops", messages=chat, **{"return": ["prefix_stable"]}).json()
    assert body["prefix_stable"] == [False, True]


@pytest.mark.parametrize(
    ("wrong", "code", "path"),
    [
        ({"new_from": None}, "missing_field", "new_from"),
        ({"prefix_ids": None}, "missing_field", "prefix_ids"),
        ({"new_from": 0}, "invalid_option", "new_from"),
        ({"new_from": 99}, "invalid_option", "new_from"),
        ({"new_from": "2"}, "invalid_type", "new_from"),
        ({"prefix_ids": None, "new_from": None, "rewritten": "keep"}, "missing_field", "prefix_ids"),
        ({"rewritten": True}, "invalid_value", "rewritten"),
        ({"prefix_ids": [1, 1 << 30]}, "unknown_token_id", "prefix_ids[1]"),
        ({"prefix_ids": [1, "2"]}, "invalid_type", "prefix_ids[1]"),
        ({"padding": "longest"}, "invalid_option", "prefix_ids"),
        ({"max_length": 4}, "invalid_option", "prefix_ids"),
        ({"return": ["spans"]}, "invalid_option", "return"),
        ({"messages": [CHAT, CHAT]}, "invalid_option", "messages"),
    ],
    ids=str,
)
def test_what_is_wrong_is_refused_with_its_place(
    client: TestClient, wrong: dict[str, Any], code: str, path: str
) -> None:
    body = {"prefix_ids": [1], "new_from": 2, **wrong}
    assert_problem(post(client, **{name: value for name, value in body.items() if value is not None}), code, path)


def test_texts_and_bare_bytes_have_no_prefix(client: TestClient) -> None:
    answer = client.post("/encode", json={"text": "a", "prefix_ids": [1], "new_from": 1})
    assert_problem(answer, "invalid_option", "prefix_ids")
    answer = client.post("/encode", json={"text": "a", "rewritten": "keep"})
    assert_problem(answer, "invalid_option", "prefix_ids")
    answer = client.post("/encode", json={"text": "a", "return": ["prefix_stable"]})
    assert_problem(answer, "invalid_option", "return")
    body = {"messages": CHAT, "prefix_ids": [1], "new_from": 2}
    answer = client.post("/encode", json=body, headers={"accept": "application/octet-stream"})
    assert_problem(answer, "invalid_option", "prefix_ids")


def test_many_steps_stay_within_one_budget(client: TestClient) -> None:
    turns = [{"role": ("user", "assistant")[at % 2], "content": "x" * 300} for at in range(2001)]
    answer = post(client, messages=turns, **{"return": ["prefix_stable"]})
    assert_problem(answer, "template_limit", "messages")
