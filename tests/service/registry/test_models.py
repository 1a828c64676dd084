"""The setting ``models``: further names of a tokenizer and patterns of names, on every route."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.client import Client
from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.setting_values import InvalidSetting
from tests.service.conftest import MakeClient, RunServer
from tests.service.problems import assert_problem
from tokenizer_core import Tokenizer

MODELS = ("Qwen/Qwen2.5-7B=bare", "Qwen/*=framed", "Qwen/Qwen2*=chat", "chat=bare", "a[b?=bare", "*-[ct]at=bare")
FOUND = {
    "Qwen/Qwen2.5-7B": "bare",
    "Qwen/Qwen3-8B": "framed",
    "Qwen/": "framed",
    "Qwen/Qwen2-1B": "bare",
    "Qwen/\n": "framed",
    "chat": "bare",
    "a[b?": "bare",
    "x-[ct]at": "bare",
    "framed": "framed",
}
UNKNOWN = ("qwen/Qwen3-8B", "xQwen/Qwen3", "x-cat", "a[bc", "Mistral/7B", "Qwen")


@pytest.fixture(scope="module")
def served(make_client: MakeClient) -> TestClient:
    return make_client(models=MODELS)


def asked(client: TestClient, model: str) -> list[tuple[int, Any]]:
    """Ask every kind of route about a model; return statuses, and the hash or number of ids that show who answered."""
    native = [
        client.post("/encode", json={"text": "a fox", "tokenizer": model}),
        client.post("/encode", json={"text": "a fox", "tokenizer": model, "return": ["tokens"]}),
        client.post("/count", json={"text": "a fox", "tokenizer": model}),
        client.post("/offsets", json={"text": "a fox", "tokenizer": model}),
        client.post("/decode", json={"ids": [40], "tokenizer": model}),
    ]
    foreign = [
        client.post("/tokenize", json={"prompt": "a fox", "model": model}),
        client.post("/v1/tokenize", json={"prompt": "a fox", "model": model}),
    ]
    return [(answer.status_code, answer.json().get("tokenizer")) for answer in native] + [
        (answer.status_code, answer.json().get("count")) for answer in foreign
    ]


@pytest.mark.parametrize("model", FOUND)
def test_a_model_is_answered_by_its_tokenizer_on_every_route(
    served: TestClient, framed: Tokenizer, bare: Tokenizer, model: str
) -> None:
    meant = framed if FOUND[model] == "framed" else bare
    count = meant.count("a fox", add_special_tokens=True)
    assert asked(served, model) == [(200, meant.hash)] * 5 + [(200, count)] * 2
    assert asked(served, f"{model}@{meant.hash}") == asked(served, model)


@pytest.mark.parametrize("model", UNKNOWN)
def test_a_name_that_nothing_matches_is_refused_on_every_route(served: TestClient, model: str) -> None:
    assert all(status in (400, 404, 422) for status, _ in asked(served, model))


def test_the_counting_routes_take_models(make_client: MakeClient, framed: Tokenizer) -> None:
    client = make_client(models=("openai/*=framed", "claude-*=framed"))
    openai = client.post("/v1/responses/input_tokens", json={"model": "openai/x", "input": "a fox"})
    claude = {"model": "claude-x", "messages": [{"role": "user", "content": "a fox"}]}
    anthropic = client.post("/v1/messages/count_tokens", json=claude)
    assert openai.json()["input_tokens"] == anthropic.json()["input_tokens"] > framed.count("a fox")
    for route, body in (("/v1/responses/input_tokens", {"input": "a"}), ("/v1/messages/count_tokens", claude)):
        assert client.post(route, json={**body, "model": "else/x"}).status_code == 404


def test_a_pattern_never_takes_another_hash(make_client: MakeClient, framed: Tokenizer, bare: Tokenizer) -> None:
    client = make_client(models=("*=framed",))
    other = "sha256:" + "0" * 64
    pinned = (("bare", other), ("x/y", other), ("x/y", bare.hash), (other, framed.hash), ("", framed.hash))
    for reference in (other, *(f"{name}@{hash}" for name, hash in pinned)):
        answer = client.post("/count", json={"text": "a", "tokenizer": reference})
        assert answer.status_code in (400, 404), reference
    for reference, meant in (("anything at all", framed), (f"x@{framed.hash}", framed), (f"bare@{bare.hash}", bare)):
        assert client.post("/count", json={"text": "a", "tokenizer": reference}).json()["tokenizer"] == meant.hash


def test_models_are_listed_with_their_tokenizer_and_found_by_path(
    served: TestClient, framed: Tokenizer, bare: Tokenizer
) -> None:
    listed = {each["name"]: each["models"] for each in served.get("/tokenizers").json()["tokenizers"]}
    assert listed == {
        "framed": ["Qwen/*"],
        "bare": ["Qwen/Qwen2.5-7B", "Qwen/Qwen2*", "chat", "a[b?", "*-[ct]at"],
    }
    assert served.get("/tokenizers/Qwen/Qwen2.5-7B").json()["tokenizer"] == bare.hash
    assert served.get("/tokenizers/Qwen%2FQwen3").json()["tokenizer"] == framed.hash
    assert served.get("/tokenizers/Qwen/Qwen2.5-7B/check").json()["tokenizer"] == bare.hash
    assert_problem(served.get("/tokenizers/Mistral/7B"), "tokenizer_not_found", "tokenizer")
    assert_problem(served.get("/tokenizers/Mistral/7B/check"), "tokenizer_not_found", "tokenizer")


def test_the_default_tokenizer_may_be_a_model(make_client: MakeClient, bare: Tokenizer) -> None:
    client = make_client(models=("Qwen/x=bare",), default_tokenizer="Qwen/x")
    assert client.post("/count", json={"text": "a"}).json()["tokenizer"] == bare.hash


def test_a_chain_of_names_is_followed(framed: Tokenizer, bare: Tokenizer) -> None:
    registry = Registry([ServedTokenizer(framed, "a"), ServedTokenizer(bare, "b")], None, ("x=y", "y=z", "z=bare"))
    assert {registry.get(name).name for name in "xyz"} == {"bare"}
    assert registry.models.of(registry.get("x")) == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("models", "wrong"),
    [
        (("x=y", "y=x"), r"goes round in a circle: x = y = x"),
        (("x=x",), r"goes round in a circle: x = x"),
        (("a=x", "x=y", "y=z", "z=x"), r"goes round in a circle: a = x = y = z = x"),
        (("x=framed", "x=bare"), r"gives 'x' both to framed and to bare"),
        (("Q/*=framed", "Q/*=bare"), r"gives 'Q/\*' both"),
        (("bare=framed",), r"gives 'bare' to another tokenizer"),
        (("x=Q/*", "Q/*=bare"), r"has 'x=Q/\*'; write model=tokenizer"),
        ((f"sha256:{'0' * 64}=bare",), r"has '.*', a hash, which means one tokenizer"),
        ((f"x@sha256:{'0' * 64}=bare",), r"has '.*', a hash, which means one tokenizer"),
    ],
)
def test_names_with_two_meanings_or_none_stop_the_start(
    framed: Tokenizer, bare: Tokenizer, models: tuple[str, ...], wrong: str
) -> None:
    with pytest.raises(InvalidSetting, match=rf"^models {wrong}"):
        Registry([ServedTokenizer(framed, "a"), ServedTokenizer(bare, "b")], None, models)


def test_stars_take_no_longer_than_letters(framed: Tokenizer) -> None:
    registry = Registry([ServedTokenizer(framed, "a")], None, ("*a" * 40 + "*b=framed",))
    assert registry.models.matching("a" * 100_000) is None


def test_a_client_finds_models_on_a_real_server(run_server: RunServer, bare: Tokenizer) -> None:
    with run_server(models=("Qwen/*=bare",)) as server, Client(server.url) as tokd:
        assert tokd.encode("a fox", tokenizer="Qwen/Qwen2.5-7B").ids == bare.encode("a fox").tolist()
        found = tokd.tokenizer("Qwen/Qwen2.5-7B")
        assert (found.tokenizer, found.models) == (bare.hash, ["Qwen/*"])
