"""``required_prefix_token_ids``: the answer begins with the ids that the engine saw; the template goes on."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from service.errors import ServiceError
from service.routes.compat import required_prefix
from tests.service.conftest import MakeClient
from tests.support.data import needs_data, shared
from tokenizer_core import Tokenizer

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
CHAT = [
    {"role": "user", "content": "the quick"},
    {"role": "assistant", "content": "brown fox"},
    {"role": "user", "content": "jumps"},
]


@pytest.fixture(scope="module")
def client(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path = tmp_path_factory.mktemp("prefix") / "turns"
    framed.with_template(TEMPLATE).save(path)
    return make_client(artifacts=(str(path),))


def tokens(client: TestClient, status: int = 200, **body: Any) -> Any:
    answer = client.post("/tokenize", json={"messages": CHAT, **body})
    assert answer.status_code == status, answer.text
    return answer.json()["tokens"] if status == 200 else answer.json()["error"]


@needs_data
def test_the_vectors_of_nemo_and_megatron_hold() -> None:
    cases = json.loads((shared("serving") / "vectors.json").read_bytes())["prefix_continuation"]
    assert cases
    for case in cases:
        prefix, past, whole = (
            np.array(case[name], np.uint32)
            for name in ("required_prefix_token_ids", "template_prefix_ids", "template_ids")
        )
        found = required_prefix.continued(prefix, past, whole, {case["eos"]})
        assert found.tolist() == case["megatron_count"], case["case"]


def test_the_ids_that_the_template_gives_are_continued_as_they_are(client: TestClient) -> None:
    whole = tokens(client)
    past = tokens(client, messages=CHAT[:2], add_generation_prompt=False)
    assert whole[: len(past)] == past
    for kept in (past, past[:-1], past[:-2]):
        # With the line break behind the turn, with the turn's end alone, and cut off before that.
        assert tokens(client, required_prefix_token_ids=kept) == whole


def test_other_ids_of_the_same_turns_stay_as_they_are(client: TestClient, framed: Tokenizer) -> None:
    whole, eos = tokens(client), framed.special_tokens["<|eos|>"]
    seen = [*framed.encode("anything at all").tolist(), eos]
    found = tokens(client, required_prefix_token_ids=seen)
    ends = [at for at, id in enumerate(whole) if id == eos]
    assert found == seen + whole[ends[1] + 1 :]
    cut = seen[:-1]
    assert tokens(client, required_prefix_token_ids=cut) == cut + whole[ends[1] :]


def test_what_cannot_be_continued_is_refused(client: TestClient, framed: Tokenizer) -> None:
    assert tokens(client, 400, required_prefix_token_ids=[1 << 30])["param"] == "required_prefix_token_ids[0]"
    assert tokens(client, 400, required_prefix_token_ids=[-1])["param"] == "required_prefix_token_ids[0]"
    answer = client.post("/tokenize", json={"prompt": "a", "required_prefix_token_ids": [1]})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "required_prefix_token_ids")
    ids = np.arange(4, dtype=np.uint32)
    for past, whole, ends in ((ids, ids, {9}), (ids, ids[:1], {1})):
        with pytest.raises(ServiceError) as caught:
            required_prefix.continued(ids, past, whole, ends)
        assert (caught.value.code, caught.value.path) == ("invalid_option", "required_prefix_token_ids")


def test_the_ids_of_an_answer_are_its_prefix(client: TestClient, framed: Tokenizer) -> None:
    eos = framed.special_tokens["<|eos|>"]
    kept = [CHAT[0], {**CHAT[1], "prompt_token_ids": [5, 6], "generation_token_ids": [7, eos]}, CHAT[2]]
    assert tokens(client, messages=kept) == tokens(client, required_prefix_token_ids=[5, 6, 7, eos])
    # The field goes before them.
    assert tokens(client, messages=kept, required_prefix_token_ids=[8]) == tokens(client, required_prefix_token_ids=[8])
    wrong = [CHAT[0], {**CHAT[1], "prompt_token_ids": [5], "generation_token_ids": ["7"]}, CHAT[2]]
    assert tokens(client, 400, messages=wrong)["param"] == "messages[1].generation_token_ids"


def test_the_ids_of_an_answer_are_found_however_their_names_are_written(client: TestClient, framed: Tokenizer) -> None:
    kept = [CHAT[0], {**CHAT[1], "prompt_token_ids": [5, 6], "generation_token_ids": [7]}, CHAT[2]]
    body = (
        json.dumps({"messages": kept}).replace("prompt_token", r"\u0070rompt_token").replace("ation_t", r"\u0061tion_t")
    )
    answer = client.post("/tokenize", content=body, headers={"content-type": "application/json"})
    assert answer.json()["tokens"] == tokens(client, messages=kept) != tokens(client)


def test_an_empty_prefix_is_none(client: TestClient) -> None:
    assert tokens(client, required_prefix_token_ids=[]) == tokens(client)
