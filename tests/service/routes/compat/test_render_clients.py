"""The render routes of a server that really runs, asked with the bodies and headers of those who call them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.routes.compat.generation_models import GenerateRequest
from tests.service.conftest import SPECIALS, TEXTS
from tests.support.server import RunServer
from tests.support.tokenizers import write_layout
from tokenizer_core import Tokenizer

CHAT, COMPLETIONS = "/v1/chat/completions/render", "/v1/completions/render"
MESSAGES, RESPONSES = "/v1/messages/render", "/v1/responses/render"
HELLO = [{"role": "user", "content": "the quick brown fox"}]
LENGTH = 200
_TURNS = (
    "{% for m in messages %}REFUSED{{ bos_token }}{{ m.role }}\n{{ m.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}{{ bos_token }}assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>{% endif %}{% endif %}"
)
THINKING = _TURNS.replace("REFUSED", "")
ONE_SYSTEM = _TURNS.replace(
    "REFUSED", "{% if m.role == 'system' and not loop.first %}{{ raise_exception('one system') }}{% endif %}"
)
MIB = 1 << 20
GENERATION = {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "max_new_tokens": 7, "eos_token_id": [1, 2]}


@pytest.fixture(scope="module")
def http(run_server: RunServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server of ``acme``, whose model takes few ids, and of ``long``, which takes one system message."""
    base = tmp_path_factory.mktemp("clients")
    paths = []
    for name, config in (("acme", {"model_max_length": LENGTH}), ("long", {})):
        roles = {"bos_token": "<|bos|>", "eos_token": "<|eos|>", **config}
        layout = write_layout(
            base / f"{name}-layout", texts=TEXTS, vocab_size=400, min_frequency=2, specials=SPECIALS, config=roles
        )
        if name == "long":
            (layout / "generation_config.json").write_text(json.dumps(GENERATION))
        template = THINKING if name == "acme" else ONE_SYSTEM
        Tokenizer.from_hf(layout).with_template(template).save(base / name, name=name)
        paths.append(str(base / name))
    with run_server(artifacts=tuple(paths), models=("Acme/*=acme",), worker=False) as server:
        yield server.client


def rendered(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def tokenized(http: httpx.Client, **body: Any) -> Any:
    return rendered(http.post("/tokenize", json=body))["tokens"]


def refused(answer: httpx.Response, status: int) -> Any:
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    error = answer.json()["error"]
    assert (list(error), error["code"]) == (["message", "type", "param", "code"], status)
    return error


def test_llm_d_and_kserve_warm_up_and_probe(http: httpx.Client) -> None:
    assert http.get("/health").status_code == 200
    content: list[dict[str, Any]] = [{"type": "text", "text": "warmup"}]
    body = {"model": "Acme/one", "messages": [{"role": "user", "content": content}]}
    found = rendered(http.post(CHAT, json=body))
    assert found["token_ids"] == tokenized(http, messages=[{"role": "user", "content": "warmup"}])
    assert found["features"] is None
    content.append({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}})
    assert "image_url" in refused(http.post(CHAT, json=body), 400)["message"]
    assert len(rendered(http.post(COMPLETIONS, json={"model": "Acme/one", "prompt": "warmup"}))) == 1


def test_dynamo_sends_the_raw_body_and_bounds_the_answer(http: httpx.Client) -> None:
    # 260,000 ids are what 1 MB of tools makes, and Dynamo takes 16 MiB.
    raw = b'\n{ "stream" :true, "messages":[{"content":"%s","role":"user"}],\t"model":"long" }' % (b"\\u0000" * 260_000)
    answer = http.post(CHAT, content=raw, headers={"content-type": "application/json; charset=utf-8"})
    assert len(rendered(answer)["token_ids"]) >= 260_000
    assert int(answer.headers["content-length"]) == len(answer.content) < 16 * MIB
    assert "transfer-encoding" not in answer.headers


def test_small_and_large_answers_name_the_fingerprint_beside_the_usual_headers(http: httpx.Client) -> None:
    (model,) = [model for model in http.get("/v1/models").json()["data"] if model["id"] == "long"]
    for count in (1, 50_000):
        answer = http.post(COMPLETIONS, json={"model": "long", "prompt": "\0" * count})
        assert len(rendered(answer)[0]["token_ids"]) == count
        assert answer.headers.get_list("tokd-fingerprint") == [model["fingerprint"]]
        assert answer.headers.get_list("content-length") == [str(len(answer.content))]
        assert answer.headers.get_list("content-type") == ["application/json"]


def test_skyrl_forwards_the_whole_answer_to_the_engine(http: httpx.Client) -> None:
    body = {"model": "Acme/one", "messages": HELLO, "temperature": 0.7, "max_tokens": 8, "logprobs": True, "n": 2}
    found = rendered(http.post(CHAT, json=body))
    GenerateRequest.model_validate(found)
    assert found["sampling_params"].items() >= {"temperature": 0.7, "max_tokens": 8, "logprobs": 0, "n": 2}.items()
    assert found["model"] == "Acme/one"


def test_openai_s_and_anthropic_s_clients_are_answered_with_their_headers(http: httpx.Client) -> None:
    openai = {"authorization": "Bearer none", "x-stainless-lang": "python", "x-stainless-retry-count": "0"}
    ids = tokenized(http, messages=HELLO)
    body = {"model": "Acme/one", "messages": HELLO, "stream": True, "stream_options": {"include_usage": True}}
    found = rendered(http.post(CHAT, json=body, headers=openai))
    assert (found["token_ids"], found["stream"], found["stream_options"]) == (ids, True, {"include_usage": True})
    found = rendered(http.post(RESPONSES, json={"model": "Acme/one", "input": HELLO[0]["content"]}, headers=openai))
    assert found["token_ids"] == ids
    assert rendered(http.get("/v1/models", headers=openai))["object"] == "list"
    anthropic = {"x-api-key": "none", "anthropic-version": "2023-06-01", "anthropic-beta": "tools"}
    body = {"model": "Acme/one", "messages": HELLO, "max_tokens": 9, "metadata": {"user_id": "u"}}
    assert rendered(http.post(MESSAGES, json=body, headers=anthropic))["token_ids"] == ids


def test_no_effort_is_no_thinking_unless_the_caller_s_variable_says_otherwise(http: httpx.Client) -> None:
    def ids(**body: Any) -> Any:
        return rendered(http.post(CHAT, json={"messages": HELLO, **body}))["token_ids"]

    off = ids(chat_template_kwargs={"enable_thinking": False})
    assert ids(reasoning_effort="none") == off != ids(reasoning_effort="high") == ids()
    assert ids(reasoning_effort="none", chat_template_kwargs={"enable_thinking": True}) == ids()
    body = {"messages": HELLO, "max_tokens": 9, "thinking": {"type": "disabled"}}
    assert rendered(http.post(MESSAGES, json=body))["token_ids"] == off


def test_the_most_tokens_are_what_the_model_s_length_leaves(http: httpx.Client) -> None:
    def most(**body: Any) -> Any:
        return rendered(http.post(CHAT, json={"messages": HELLO, **body}))["sampling_params"]["max_tokens"]

    size = len(tokenized(http, messages=HELLO))
    assert (most(), most(max_tokens=5), most(max_tokens=LENGTH)) == (LENGTH - size, 5, LENGTH - size)
    prompt = "\0" * (LENGTH + 1)
    error = refused(http.post(COMPLETIONS, json={"prompt": prompt}), 400)
    assert error["message"] == f"Input length ({LENGTH + 1}) exceeds model's maximum context length ({LENGTH})."
    (cut,) = rendered(http.post(COMPLETIONS, json={"prompt": prompt, "truncate_prompt_tokens": -1}))
    assert (len(cut["token_ids"]), cut["sampling_params"]["max_tokens"]) == (LENGTH - 1, 1)


def test_what_the_caller_leaves_out_is_that_of_the_model(http: httpx.Client) -> None:
    def params(path: str = CHAT, **body: Any) -> Any:
        found = rendered(http.post(path, json={"model": "long", **body}))
        return (found[0] if isinstance(found, list) else found)["sampling_params"]

    own = {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "max_tokens": 7, "repetition_penalty": 1.0}
    assert params(messages=HELLO).items() >= own.items()
    sent = {"temperature": 0.5, "top_k": 3, "max_tokens": 90}
    assert params(messages=HELLO, **sent).items() >= {**sent, "top_p": 0.95}.items()
    greedy = params(messages=HELLO, temperature=0)
    assert (greedy["temperature"], greedy.keys() & {"top_p", "top_k", "min_p"}) == (0, set())
    completed = params(COMPLETIONS, prompt="a")
    assert (completed["temperature"], "max_tokens" in completed) == (0.6, False)
    assert "top_k" not in params(model="acme", messages=HELLO)


def test_wrong_requests_are_told_as_vllm_does(http: httpx.Client) -> None:
    wrong = http.post(CHAT, content=json.dumps({"messages": HELLO}), headers={"content-type": "text/plain"})
    assert refused(wrong, 400)["param"] == "header content-type"
    assert refused(http.post(CHAT, json={"model": "nobody", "messages": HELLO}), 404)["type"] == "NotFoundError"
    beams = refused(http.post(CHAT, json={"messages": HELLO, "use_beam_search": True}), 400)
    assert beams["message"] == "Beam search is not supported by the render endpoint"
    template = {"messages": HELLO, "chat_template": "{{ messages }}"}
    assert refused(http.post(CHAT, json=template), 400)["param"] == "chat_template"


def test_a_system_message_within_stays_where_the_template_takes_it(http: httpx.Client) -> None:
    system = {"role": "system", "content": "be brief"}
    later = {"role": "system", "content": " and kind"}
    sent = {"messages": [*HELLO, later, *HELLO], "system": "be brief", "max_tokens": 9}

    def ids(model: str) -> Any:
        return rendered(http.post(MESSAGES, json={**sent, "model": model}))["token_ids"]

    assert ids("acme") == tokenized(http, model="acme", messages=[system, *HELLO, later, *HELLO])
    both = {"role": "system", "content": "be brief and kind"}
    assert ids("long") == tokenized(http, model="long", messages=[both, *HELLO, *HELLO])
    fixed = {"messages": HELLO, "max_tokens": 9, "chat_template_kwargs": {"add_generation_prompt": False}}
    assert rendered(http.post(MESSAGES, json=fixed))["token_ids"] == tokenized(http, messages=HELLO)
