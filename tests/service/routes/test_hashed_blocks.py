"""``block_hashes`` of answers are those of the library over the ids that the answer has, without padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tests.service.routes.compat.counting import TEMPLATE
from tokenizer_core import Tokenizer, block_hashes

TEXT = "the quick brown fox jumps over the lazy dog " * 4
DYNAMO = {"scheme": "dynamo-xxh3/1", "block_size": 4}
VLLM = {"scheme": "vllm-sha256-cbor/2", "block_size": 4, "cache_salt": "s"}
SGLANG = {"scheme": "sglang-sha256/1", "block_size": 4}
CHAT = [{"role": "user", "content": TEXT}]


@pytest.fixture(scope="module")
def client(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path = tmp_path_factory.mktemp("hashed") / "acme"
    framed.with_template(TEMPLATE).save(path)
    return make_client(artifacts=(str(path),))


def ask(client: TestClient, options: dict[str, Any], path: str = "/encode", **body: Any) -> Any:
    answer = client.post(path, json={"block_hashes": options, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def expected(ids: list[int], options: dict[str, Any]) -> dict[str, Any]:
    found = block_hashes(ids, **options)
    row: dict[str, Any] = {"scheme": found.scheme, "block_size": found.block_size}
    row["blocks"] = [str(value) for value in found.values.tolist()]
    if found.digests is not None:
        row["digests"] = [digest.tobytes().hex() for digest in found.digests]
    if found.sequence is not None:
        row["sequence"] = [str(value) for value in found.sequence.tolist()]
    return row


@pytest.mark.parametrize("options", [DYNAMO, VLLM, SGLANG], ids=str)
def test_texts_and_chats_have_the_hashes_of_their_ids(client: TestClient, options: dict[str, Any]) -> None:
    one = ask(client, options, text=TEXT)
    assert one["block_hashes"] == expected(one["ids"], options)
    assert one["block_hashes"]["blocks"]
    many = ask(client, options, text=[TEXT, "", "fox"], padding="longest", max_length=20, pad_token="<|eos|>")
    ids = ask(client, options, text=[TEXT, "", "fox"], max_length=20)["ids"]
    assert many["block_hashes"] == [expected(row, options) for row in ids]
    chat = ask(client, options, messages=CHAT)
    assert chat["block_hashes"] == expected(chat["ids"], options)
    pair = ask(client, options, text="the fox", text_pair=TEXT)
    assert pair["block_hashes"] == expected(pair["ids"], options)


def test_the_render_routes_have_them_too(client: TestClient) -> None:
    found = ask(client, DYNAMO, "/v1/chat/completions/render", messages=CHAT)
    assert found["block_hashes"] == expected(found["token_ids"], DYNAMO)
    for each in ask(client, VLLM, "/v1/completions/render", prompt=[TEXT, "a"]):
        assert each["block_hashes"] == expected(each["token_ids"], VLLM)
    answer = client.post("/v1/completions/render", json={"prompt": "a", "block_hashes": {**DYNAMO, "seed": "0"}})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "block_hashes.seed")


@pytest.mark.parametrize("options", [DYNAMO, SGLANG], ids=str)
def test_bare_bytes_hold_the_hashes_in_place_of_the_ids(client: TestClient, options: dict[str, Any]) -> None:
    texts = [TEXT, "fox", TEXT + TEXT]
    body = {"text": texts, "block_hashes": options}
    answer = client.post("/encode", json=body, headers={"accept": "application/octet-stream"})
    rows = ask(client, options, text=texts)["block_hashes"]
    values = [int(value) % (1 << 64) for row in rows for value in row["blocks"]]
    assert np.frombuffer(answer.content, "<u8").tolist() == values
    assert answer.headers["tokd-row-lengths"] == ",".join(str(len(row["blocks"])) for row in rows)


@pytest.mark.parametrize(
    ("wrong", "code", "path"),
    [
        ({"scheme": "dynamo"}, "invalid_option", "block_hashes.scheme"),
        ({"block_size": 0}, "invalid_option", "block_hashes.block_size"),
        ({"block_size": "4"}, "invalid_option", "block_hashes.block_size"),
        ({"block_size": 1 << 20}, "invalid_option", "block_hashes.block_size"),
        ({"seed": "0"}, "invalid_option", "block_hashes.seed"),
        ({"sed": "0"}, "invalid_option", "block_hashes.sed"),
        ({"scheme": "llmd-xxh64/1"}, "invalid_option", "block_hashes.model"),
        ({"scheme": ["a"]}, "invalid_option", "block_hashes.scheme"),
        ({"lora": {"a": 1}}, "invalid_option", "block_hashes.lora"),
        ({"ids": [1]}, "invalid_option", "block_hashes.ids"),
    ],
)
def test_what_is_wrong_is_refused_with_its_option(
    client: TestClient, wrong: dict[str, Any], code: str, path: str
) -> None:
    answer = client.post("/encode", json={"text": TEXT, "block_hashes": {**DYNAMO, **wrong}})
    assert_problem(answer, code, path)


def test_a_scheme_and_a_size_are_required(client: TestClient) -> None:
    for missing in DYNAMO:
        options = {name: value for name, value in DYNAMO.items() if name != missing}
        answer = client.post("/encode", json={"text": TEXT, "block_hashes": options})
        assert_problem(answer, "missing_field", f"block_hashes.{missing}")
