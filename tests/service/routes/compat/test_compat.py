"""Drop-in routes: the wire shapes of vLLM and SGLang, to the byte where clients can see it."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import httpx
import pytest
import tokenizers
from fastapi.testclient import TestClient

from service.registry.registry import Registry
from service.registry.served import UNKNOWN_LENGTH, ServedTokenizer
from service.setting_values import InvalidSetting
from service.settings import Settings
from tests.service.conftest import MakeClient, RunServer, state_of
from tokenizer_core import Tokenizer

TEXTS = ["the quick brown fox", "", "naïve 🙂👍🏽 café\n\n\t", "a<|eos|>b", "\0\x7f\u00ad", "x" * 20_000]
MODEL = "Acme/Tiny-7B-Instruct"


@pytest.fixture(scope="module")
def served(make_client: MakeClient) -> TestClient:
    return make_client(models=(f"{MODEL}=bare", "tiny=framed"))


def vllm_error(answer: httpx.Response, status: int, kind: str, param: str | None) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body: dict[str, Any] = answer.json()
    assert list(body) == ["error"]
    error: dict[str, Any] = body["error"]
    assert list(error) == ["message", "type", "param", "code"]
    assert (error["type"], error["param"], error["code"]) == (kind, param, status)
    assert error["message"]
    return error


def sglang_error(answer: httpx.Response, status: int, kind: str, param: str | None) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()
    assert list(error) == ["object", "message", "type", "param", "code"]
    assert (error["object"], error["type"], error["param"], error["code"]) == ("error", kind, param, status)
    return error


@pytest.mark.parametrize("text", TEXTS)
def test_vllm_prompt_becomes_ids_and_text_again(served: TestClient, framed: Tokenizer, text: str) -> None:
    for add in (None, True, False):
        body = {"prompt": text} if add is None else {"prompt": text, "add_special_tokens": add}
        ids = framed.encode(text, special_tokens="parse", add_special_tokens=add is not False).tolist()
        answer = served.post("/tokenize", json=body)
        assert list(answer.json()) == ["count", "max_model_len", "tokens", "token_strs"]
        assert answer.json() == {
            "count": len(ids),
            "max_model_len": UNKNOWN_LENGTH,
            "tokens": ids,
            "token_strs": None,
        }
        assert served.post("/detokenize", json={"tokens": ids}).json() == {"prompt": framed.decode(ids)}


def test_token_strings_are_those_of_hugging_face(served: TestClient, framed: Tokenizer, artifacts: Any) -> None:
    hf = tokenizers.Tokenizer.from_file(f"{artifacts[0]}/tokenizer.json")
    for text in [*TEXTS, "".join(map(chr, range(0x500)))]:
        answer = served.post("/tokenize", json={"prompt": text, "return_token_strs": True}).json()
        assert answer["token_strs"] == [hf.id_to_token(id) for id in answer["tokens"]]
        assert answer == {
            **served.post("/tokenize", json={"prompt": text}).json(),
            "token_strs": hf.encode(text).tokens,
        }
    for id in range(framed.vocab_size):
        text = framed.decode([id])
        if "\ufffd" not in text:
            strings = served.post("/tokenize", json={"prompt": text, "return_token_strs": True}).json()["token_strs"]
            assert hf.id_to_token(id) in strings


def test_vllm_detokenize_keeps_special_tokens_and_sglang_drops_them_unless_told(
    served: TestClient, framed: Tokenizer
) -> None:
    ids = framed.encode("the fox", add_special_tokens=True).tolist()
    assert served.post("/detokenize", json={"tokens": ids}).json() == {"prompt": "<|bos|>the fox<|eos|>"}
    assert served.post("/v1/detokenize", json={"tokens": ids}).json() == {"text": "the fox"}
    kept = served.post("/v1/detokenize", json={"tokens": ids, "skip_special_tokens": False})
    assert kept.json() == {"text": "<|bos|>the fox<|eos|>"}


def test_sglang_takes_one_or_many(served: TestClient, framed: Tokenizer) -> None:
    singles = [served.post("/v1/tokenize", json={"prompt": text}).json() for text in TEXTS]
    for text, single in zip(TEXTS, singles, strict=True):
        ids = framed.encode(text, special_tokens="parse", add_special_tokens=True).tolist()
        assert single == {"tokens": ids, "count": len(ids), "max_model_len": UNKNOWN_LENGTH}
    many = served.post("/v1/tokenize", json={"prompt": TEXTS}).json()
    assert many == {
        "tokens": [single["tokens"] for single in singles],
        "count": [single["count"] for single in singles],
        "max_model_len": UNKNOWN_LENGTH,
    }
    texts = served.post("/v1/detokenize", json={"tokens": many["tokens"], "skip_special_tokens": False}).json()["text"]
    assert texts == [framed.decode(ids) for ids in many["tokens"]]
    assert served.post("/v1/tokenize", json={"prompt": []}).json()["tokens"] == []
    assert served.post("/v1/detokenize", json={"tokens": []}).json() == {"text": ""}


def test_heavy_requests_are_answered_as_light_ones(served: TestClient) -> None:
    many = served.post("/v1/tokenize", json={"prompt": ["the fox"] * 1000}).json()
    assert many["count"] == [served.post("/v1/tokenize", json={"prompt": "the fox"}).json()["count"]] * 1000
    assert served.post("/v1/detokenize", json={"tokens": many["tokens"]}).json()["text"] == ["the fox"] * 1000
    long = "the fox " * 40_000
    answer = served.post("/tokenize", json={"prompt": long, "return_token_strs": True}).json()
    assert len(answer["token_strs"]) == answer["count"] == len(answer["tokens"])
    assert answer["tokens"] == served.post("/tokenize", json={"prompt": long}).json()["tokens"]


def test_length_of_the_model_is_told(make_client: MakeClient, framed: Tokenizer, tmp_path: Any) -> None:
    framed.save(tmp_path / "long", name="long")
    config = tmp_path / "long" / "tokenizer_config.json"
    layout = tmp_path / "layout"
    layout.mkdir()
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (layout / file).write_bytes((tmp_path / "long" / file).read_bytes())
    text = config.read_text()
    (layout / "tokenizer_config.json").write_text(text.replace("{", '{"model_max_length": 4096,', 1))
    Tokenizer.from_hf(layout).save(tmp_path / "short", name="short")
    client = make_client(artifacts=(str(tmp_path / "short"),))
    for route in ("/tokenize", "/v1/tokenize"):
        assert client.post(route, json={"prompt": "a"}).json()["max_model_len"] == 4096


@pytest.mark.parametrize("route", ["/tokenize", "/v1/tokenize"])
def test_model_chooses_the_tokenizer(served: TestClient, framed: Tokenizer, bare: Tokenizer, route: str) -> None:
    def tokens(**body: Any) -> Any:
        return served.post(route, json={"prompt": "the fox", **body}).json()["tokens"]

    of_framed = framed.encode("the fox", add_special_tokens=True).tolist()
    of_bare = bare.encode("the fox", add_special_tokens=True).tolist()
    assert of_framed != of_bare
    assert tokens() == tokens(model="tiny") == tokens(model="framed") == tokens(model=framed.hash) == of_framed
    assert tokens(model=MODEL) == tokens(model="bare") == of_bare


def test_default_is_a_model_of_sglang_only(served: TestClient) -> None:
    assert served.post("/v1/tokenize", json={"prompt": "a", "model": "default"}).status_code == 200
    vllm_error(served.post("/tokenize", json={"prompt": "a", "model": "default"}), 404, "NotFoundError", "model")


def test_unknown_model_is_not_found_and_the_served_ones_are_named(served: TestClient) -> None:
    for model in ("someone/else", "", "../..", "sha256:" + "0" * 64):
        for route, body in (("/tokenize", {"prompt": "a"}), ("/detokenize", {"tokens": [40]})):
            answer = served.post(route, json={**body, "model": model})
            assert MODEL in vllm_error(answer, 404, "NotFoundError", "model")["message"]
            sglang_error(served.post(f"/v1{route}", json={**body, "model": model}), 404, "NotFoundError", "model")


BAD: list[tuple[str, bytes, str, str | None]] = [
    ("/tokenize", b"{}", "Bad Request", "prompt"),
    ("/tokenize", b"", "Bad Request", None),
    ("/tokenize", b"[]", "Bad Request", None),
    ("/tokenize", b'{"prompt":"a"', "Bad Request", None),
    ("/tokenize", b'{"prompt":7}', "Bad Request", "prompt"),
    ("/tokenize", b'{"prompt":null}', "Bad Request", "prompt"),
    ("/tokenize", b'{"prompt":"\\ud800"}', "Bad Request", "prompt"),
    ("/tokenize", b'{"prompt":"\xff"}', "Bad Request", None),
    ("/tokenize", b'{"prompt":' + b"[" * 100_000, "Bad Request", None),
    ("/tokenize", b'{"prompt":"a","add_special_tokens":"yes"}', "Bad Request", "add_special_tokens"),
    ("/tokenize", b'{"prompt":"a","chat_template":"{{ messages }}"}', "BadRequestError", "chat_template"),
    ("/tokenize", b'{"prompt":"a","chat_template":""}', "BadRequestError", "chat_template"),
    ("/detokenize", b"{}", "Bad Request", "tokens"),
    ("/detokenize", b'{"tokens":"1"}', "Bad Request", "tokens"),
    ("/detokenize", b'{"tokens":[1,"2"]}', "Bad Request", "tokens[1]"),
    ("/detokenize", b'{"tokens":[1,true]}', "Bad Request", "tokens[1]"),
    ("/detokenize", b'{"tokens":[1,-1]}', "Bad Request", "tokens[1]"),
    ("/detokenize", b'{"tokens":[1,18446744073709551616]}', "Bad Request", "tokens[1]"),
    ("/detokenize", b'{"tokens":[1,99999]}', "BadRequestError", "tokens[1]"),
]


@pytest.mark.parametrize(("route", "body", "kind", "param"), BAD, ids=[f"{r} {b[:40]!r}" for r, b, _, _ in BAD])
def test_bad_body_is_400_in_the_shape_of_the_peer(
    served: TestClient, route: str, body: bytes, kind: str, param: str | None
) -> None:
    headers = {"content-type": "application/json"}
    vllm_error(served.post(route, content=body, headers=headers), 400, kind, param)
    sglang_error(served.post(f"/v1{route}", content=body, headers=headers), 400, kind, param)


def test_places_in_many_are_told(served: TestClient) -> None:
    sglang_error(
        served.post("/v1/detokenize", json={"tokens": [[1], [2, 99_999]]}), 400, "BadRequestError", "tokens[1][1]"
    )
    sglang_error(served.post("/v1/tokenize", json={"prompt": ["a", 1]}), 400, "Bad Request", "prompt[1]")


def test_what_is_no_fault_of_a_body_has_the_shape_too(make_client: MakeClient) -> None:
    client = make_client(max_body_bytes=100, max_ids=3, max_items=3)
    text = {"content-type": "text/plain"}
    for route, check in (("/tokenize", vllm_error), ("/v1/tokenize", sglang_error)):
        check(client.post(route, content=b"{}", headers=text), 400, "Bad Request", "header content-type")
        check(client.get(route), 405, "Method Not Allowed", None)
        assert client.get(route).headers["allow"] == "POST"
        check(client.post(route, json={"prompt": "a" * 200}), 413, HTTPStatus(413).phrase, None)
    phrase = HTTPStatus(413).phrase
    sglang_error(client.post("/v1/detokenize", json={"tokens": [[40, 40], [40, 40]]}), 413, phrase, "tokens")
    sglang_error(client.post("/v1/tokenize", json={"prompt": ["a"] * 4}), 413, phrase, "prompt")
    for route, check in (("/detokenize", vllm_error), ("/v1/detokenize", sglang_error)):
        said = check(client.post(route, json={"tokens": [40] * 4}), 413, phrase, "tokens")
        assert "more than 3 ids" in said["message"]
    vllm_error(client.post("/tokenize", json={"messages": [{}] * 4}), 413, phrase, "messages")


def test_saturation_names_when_to_come_again(make_client: MakeClient) -> None:
    client = make_client(max_requests=1)
    state_of(client).limits.requests = 1
    answer = client.post("/tokenize", json={"prompt": "a"})
    vllm_error(answer, 503, "Service Unavailable", None)
    assert answer.headers["retry-after"] == "1"


def test_bug_says_nothing(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the text was: secret")

    monkeypatch.setattr("service.registry.registry.Registry.of_model", broken)
    answer = make_client().post("/tokenize", json={"prompt": "a"})
    assert "secret" not in vllm_error(answer, 500, "InternalServerError", None)["message"]


@pytest.mark.parametrize(
    ("route", "body"), [("/tokenize", {"prompt": "the fox"}), ("/detokenize", {"tokens": [40, 41]})]
)
def test_fields_of_the_peer_that_mean_nothing_here_are_ignored(
    served: TestClient, route: str, body: dict[str, Any]
) -> None:
    extra = {
        "mm_processor_kwargs": {"a": [1]},
        "request_id": "x",
        "priority": 3,
        "chat_template": None,
        "messages": None,
    }
    for path in (route, f"/v1{route}"):
        assert served.post(path, json={**body, **extra}).json() == served.post(path, json=body).json()


def test_error_is_small_and_ascii_however_large_the_request(served: TestClient) -> None:
    for body in ({"prompt": ["é"] * 50_000}, {"prompt": "a", "model": "é" * 100_000}, {"tokens": ["é"] * 50_000}):
        for route in ("/tokenize", "/detokenize", "/v1/tokenize", "/v1/detokenize"):
            answer = served.post(route, json=body)
            if answer.status_code != 200:
                assert 400 <= answer.status_code < 500
                assert answer.content.isascii()
                assert len(answer.content) <= 4096


@pytest.mark.parametrize("models", [("x",), ("=base",), ("x=nobody",), ("x=",)])
def test_model_that_leads_nowhere_stops_the_start(framed: Tokenizer, models: tuple[str, ...]) -> None:
    with pytest.raises(InvalidSetting, match="models has"):
        Registry([ServedTokenizer(framed, "path")], None, models)


def test_models_come_from_flags_and_variables() -> None:
    assert Settings.load({"TOKD_MODELS": "a/b:8b=base,c=base"}).models == ("a/b:8b=base", "c=base")
    assert Settings.load({}, {"models": ["a=base", "b=base"]}).models == ("a=base", "b=base")
    settings = Settings(models=("a/b:8b=base", "c=base"), artifacts=("x", "y"))
    assert Settings.load(settings.environment()) == settings
    assert Settings.load(Settings().environment()) == Settings()


@pytest.fixture(scope="module")
def engine(run_server: RunServer) -> Iterator[str]:
    """The address of a server that stands where an engine stood."""
    with run_server(models=(f"{MODEL}=framed",)) as server:
        yield server.url


def test_client_of_vllm_needs_only_another_address(engine: str, framed: Tokenizer) -> None:
    """As vLLM's documentation calls its two routes, with a plain HTTP client."""
    headers = {"Authorization": "Bearer EMPTY", "User-Agent": "Test Client"}
    prompt = "the quick brown fox"
    reply = httpx.post(f"{engine}/tokenize", headers=headers, json={"model": MODEL, "prompt": prompt})
    reply.raise_for_status()
    data = reply.json()
    assert data["count"] == len(data["tokens"]) <= data["max_model_len"]
    reply = httpx.post(f"{engine}/detokenize", headers=headers, json={"model": MODEL, "tokens": data["tokens"]})
    assert reply.json()["prompt"] == framed.decode(framed.encode(prompt, add_special_tokens=True))
