"""Every answer that depends on a tokenizer names its fingerprint in a header, by whatever way it comes about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.routes.json_route import JsonRoute
from tests.service.conftest import MakeClient, RunServer, app_of
from tokenizer_core import Tokenizer

CHAT = [{"role": "user", "content": "the fox"}]
TEXTS: dict[str, Any] = {"text": "the fox"}
CHATS: dict[str, Any] = {"messages": CHAT}
GENERATED = {"request_id": "one", "choices": [{"index": 0, "token_ids": [5, 6]}]}
BODIES: dict[str, list[dict[str, Any]]] = {
    "/encode": [
        TEXTS,
        CHATS,
        {"text": ["the", "fox"], "padding": "longest"},
        {"text": "the", "text_pair": "fox"},
        {"text": "the fox " * 50_000},
        {"text": "\0" * 300_000},
    ],
    "/count": [TEXTS, CHATS],
    "/offsets": [TEXTS],
    "/render": [CHATS],
    "/explain": [TEXTS],
    "/pack": [{"examples": [{"text": "the fox"}], "length": 16}],
    "/decode": [{"ids": [5, 6]}, {"ids": [[5], [6]]}, {"ids": [5], "pending": ""}],
    "/compare": [{"texts": {"one": "the fox"}}],
    "/tokenize": [{"prompt": "the fox"}, CHATS],
    "/detokenize": [{"tokens": [5, 6]}],
    "/v1/tokenize": [{"prompt": "the fox"}, CHATS],
    "/v1/detokenize": [{"tokens": [5, 6]}],
    "/v1/responses/input_tokens": [{"input": "the fox"}],
    "/v1/messages/count_tokens": [CHATS],
    "/v1/chat/completions/render": [CHATS],
    "/v1/completions/render": [{"prompt": "the fox"}],
    "/v1/messages/render": [{**CHATS, "max_tokens": 8}],
    "/v1/responses/render": [{"input": "the fox"}],
    "/v1/chat/completions/derender": [{"generate_response": GENERATED}],
    "/v1/completions/derender": [{"generate_responses": [GENERATED]}],
    "/parse": [
        {"outputs": [{"text": "the fox"}], "response_template": {"start_anchor": "a", "fields": {"content": {}}}}
    ],
}
OTHER_FORMS = ("application/octet-stream", "application/vnd.apache.arrow.stream")


@pytest.fixture(scope="module")
def http(run_server: RunServer) -> Iterator[httpx.Client]:
    with run_server(literals=("bare=engine",)) as server, httpx.Client(base_url=server.url, timeout=30) as client:
        yield client


def named(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return answer.headers.get_list("tokd-fingerprint")


@pytest.mark.parametrize("path", BODIES)
def test_every_answer_names_the_fingerprint_once(http: httpx.Client, path: str) -> None:
    listed = {each["name"]: each["fingerprint"] for each in http.get("/tokenizers").json()["tokenizers"]}
    assert len(set(listed.values())) == 2
    for body in BODIES[path]:
        assert named(http.post(path, json=body)) == [listed["framed"]], body


def test_the_bodies_are_those_of_every_route_with_a_tokenizer(make_client: MakeClient) -> None:
    routes = {each.path for each in app_of(make_client()).routes if isinstance(each, JsonRoute)}
    assert routes == BODIES.keys()


@pytest.mark.parametrize("form", OTHER_FORMS)
@pytest.mark.parametrize("body", [TEXTS, CHATS], ids=["text", "chat"])
def test_binary_answers_name_it(http: httpx.Client, form: str, body: dict[str, Any]) -> None:
    if form == OTHER_FORMS[1]:
        pytest.importorskip("pyarrow")
    answer = http.post("/encode", json={**body, "return": ["ids"]}, headers={"accept": form})
    assert named(answer) == [http.get("/tokenizers/framed").json()["fingerprint"]]


def test_a_comparison_names_one_for_each_tokenizer_in_their_order(http: httpx.Client) -> None:
    body = {"texts": {"one": "the fox"}, "tokenizers": ["bare", "framed"]}
    wanted = [http.get(f"/tokenizers/{name}").json()["fingerprint"] for name in body["tokenizers"]]
    assert named(http.post("/compare", json=body)) == wanted


def test_routes_of_engines_name_that_of_the_model_whose_literals_are_the_engine_s(http: httpx.Client) -> None:
    """The native routes keep to their own setting, and so to another fingerprint."""
    models = {each["id"]: each["fingerprint"] for each in http.get("/v1/models").json()["data"]}
    own = http.get("/tokenizers/bare").json()["fingerprint"]
    assert named(http.post("/encode", json={**TEXTS, "tokenizer": "bare"})) == [own] != [models["bare"]]
    for path in ("/tokenize", "/v1/tokenize", "/v1/completions/render"):
        assert named(http.post(path, json={"model": "bare", "prompt": "the fox"})) == [models["bare"]]
    for path in ("/detokenize", "/v1/detokenize"):
        assert named(http.post(path, json={"model": "bare", "tokens": [5]})) == [models["bare"]]


def test_a_trained_tokenizer_is_named_as_it_would_be_among_the_artifacts(
    make_client: MakeClient, artifacts: tuple[str, str], bare: Tokenizer, tmp_path: Path
) -> None:
    bare.save(tmp_path / f"{bare.hash.removeprefix('sha256:')}-bare", name="bare")
    found = []
    for given in (artifacts[:1], artifacts):
        client = make_client(chat_literals="reject", trained=str(tmp_path), artifacts=given)
        found.append(named(client.post("/encode", json={**TEXTS, "tokenizer": f"bare@{bare.hash}"})))
    assert found[0] == found[1] != named(make_client().post("/encode", json={**TEXTS, "tokenizer": bare.hash}))
