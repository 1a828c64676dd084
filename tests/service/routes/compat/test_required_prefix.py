"""``required_prefix_token_ids``: the answer begins with the ids that the engine saw; the template goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.core.chat.conversations import built
from tests.core.test_exact_prefix import CHAT as LONG
from tests.core.test_exact_prefix import CHATML, DROPS, RETURNS
from tests.service.conftest import MakeClient
from tests.support.data import needs_data, shared
from tokenizer_core import Tokenizer, continue_ids

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
    others = {
        "chatml": CHATML,
        "drops": DROPS,
        "returns": RETURNS,
        "endless": "{% for m in messages %}{{ m.content }}{% endfor %}",
    }
    for name, template in others.items():
        built(template).save(path.parent / name)
    return make_client(artifacts=(str(path), *(str(path.parent / name) for name in others)))


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
            case[name] for name in ("required_prefix_token_ids", "template_prefix_ids", "template_ids")
        )
        if not prefix:
            assert case["megatron_count"] == whole  # The route's own rule.
            continue
        assert past.index(case["eos"]) == len(past) - 1
        # A template that ends only the assistant's turns, and ids that are letters.
        tokenizer = built(
            "{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}</s>{% endif %}{% endfor %}"
        )
        end = tokenizer.special_tokens["</s>"]
        letters = {id: 97 + at for at, id in enumerate(sorted({*past, *whole, *prefix} - {case["eos"]}))}
        ids = {**letters, case["eos"]: end}
        said = ["".join(chr(letters[id]) for id in part) for part in (past[:-1], whole[len(past) :])]
        chat = [{"role": "assistant", "content": said[0]}, {"role": "user", "content": said[1]}]
        chats = tokenizer.encode_chat(chat[:1]), tokenizer.encode_chat(chat)
        assert chats[1].ids.tolist() == [ids[id] for id in whole]
        found = continue_ids(tokenizer, [ids[id] for id in prefix], *chats)
        assert found.tolist() == [ids[id] for id in case["megatron_count"]], case["case"]


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
    answer = client.post("/tokenize", json={"model": "endless", "messages": CHAT, "required_prefix_token_ids": [1]})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, "required_prefix_token_ids")
    assert "no special token" in error["message"]


REASONED = [LONG[0], {**LONG[1], "reasoning_content": "hm"}, LONG[2]]


@pytest.mark.parametrize(
    ("model", "chat"),
    [("drops", REASONED), ("returns", LONG[:3]), ("chatml", LONG)],
    ids=["rewritten", "other", "same"],
)
def test_the_native_route_goes_on_alike(client: TestClient, model: str, chat: list[dict[str, Any]]) -> None:
    past = client.post("/encode", json={"tokenizer": model, "messages": chat[:-1]}).json()["ids"]
    for kept in (past, past[:-1], past[:-2], [5, 6]):
        body = {"tokenizer": model, "messages": chat, "prefix_ids": kept, "new_from": len(chat) - 1}
        native = client.post("/encode", json={**body, "add_generation_prompt": True, "rewritten": "keep"})
        assert native.status_code == 200, native.text
        assert native.json()["ids"] == tokens(client, model=model, messages=chat, required_prefix_token_ids=kept)


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
