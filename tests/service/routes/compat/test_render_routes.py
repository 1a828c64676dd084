"""The render routes: what an engine generates from, in the shapes of vLLM and of sglang-renderer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.registry.engines import Engines
from service.registry.served import IdOptions, ServedTokenizer
from service.routes.compat.generation_models import GenerateRequest, SglangGenerateRequest
from service.settings import Settings
from tests.service.conftest import MakeClient
from tests.service.routes.compat.counting import FUNCTION, SCHEMA, TEMPLATE, TOOLS, call
from tests.service.routes.compat.test_as_vllm import ALWAYS
from tokenizer_core import Tokenizer

CHAT, COMPLETIONS = "/v1/chat/completions/render", "/v1/completions/render"
MESSAGES, RESPONSES = "/v1/messages/render", "/v1/responses/render"
HELLO = [{"role": "user", "content": "the quick brown fox"}]

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def client(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path = tmp_path_factory.mktemp("render") / "acme"
    framed.with_template(TEMPLATE).save(path)
    return make_client(
        artifacts=(str(path),),
        models=("Acme/*=acme", "Acme/one=acme"),
        render=("Acme/sglang=sglang",),
        literals=("Acme/engine*=engine",),
    )


@pytest.fixture(scope="module")
def ask(client: TestClient) -> Ask:
    def post(path: str, status: int = 200, headers: dict[str, str] | None = None, **body: Any) -> Any:
        answer = client.post(path, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        if status != 200:
            assert list(answer.json()) == ["error"]
            assert list(answer.json()["error"]) == ["message", "type", "param", "code"]
            assert answer.json()["error"]["code"] == status
            return answer.json()["error"]
        return answer.json()

    return post


def test_a_chat_has_the_ids_of_tokenize_and_the_members_of_vllm(ask: Ask) -> None:
    bodies: list[dict[str, Any]] = [
        {"messages": HELLO},
        {"messages": HELLO, "tools": TOOLS},
        {"messages": [*HELLO, {"role": "assistant", "content": "jumps"}], "continue_final_message": True},
        {"messages": HELLO, "add_generation_prompt": False},
        {"messages": HELLO, "add_special_tokens": True},
        {"messages": [{"role": "assistant", "content": None, "tool_calls": [call("c", '{"b": 1, "a": 2}')]}]},
        {"messages": HELLO, "chat_template_kwargs": {"reasoning_effort": "x"}},
    ]
    for body in bodies:
        found = ask(CHAT, **body)
        assert list(found) == [name for name, field in GenerateRequest.model_fields.items() if field.is_required()]
        GenerateRequest.model_validate(found)
        assert found["token_ids"] == ask("/tokenize", **body)["tokens"]
        assert (found["features"], found["output_mode"], found["model"]) == (None, "tokens", "acme")


def test_the_warm_up_of_llm_d_is_answered_and_its_image_refused_by_name(ask: Ask) -> None:
    text = [{"role": "user", "content": [{"type": "text", "text": "warmup"}]}]
    assert ask(CHAT, model="Acme/one", messages=text)["token_ids"]
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]}]
    error = ask(CHAT, 400, model="Acme/one", messages=image)
    assert (error["type"], error["param"]) == ("BadRequestError", "messages[0].content[0].type")
    assert "image_url" in error["message"]


def test_what_an_engine_needs_is_copied_and_what_nobody_knows_ignored(ask: Ask) -> None:
    sent = {
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_salt": "salt",
        "priority": 3,
        "kv_transfer_params": {"a": [1]},
        "ec_transfer_params": {"b": None},
    }
    found = ask(CHAT, messages=HELLO, tools=TOOLS, tool_choice="auto", mm_payload="none", nobody="knows", **sent)
    assert {name: found[name] for name in sent} == sent
    assert found["sampling_params"]["output_kind"] == 1
    plain = ask(CHAT, messages=HELLO)
    assert plain["sampling_params"] == ALWAYS | {"max_tokens": (1 << 31) - 1 - len(plain["token_ids"])}


def test_sampling_is_that_of_the_caller(ask: Ask) -> None:
    sent = {"temperature": 0.5, "top_k": 4, "seed": 7, "stop": "x", "stop_token_ids": [1], "min_p": 0.1, "top_p": 0.3}
    params = ask(CHAT, messages=HELLO, logprobs=True, top_logprobs=2, max_tokens=5, max_completion_tokens=3, **sent)
    params = params["sampling_params"]
    assert params.items() >= {**sent, "stop": ["x"], "logprobs": 2, "max_tokens": 3}.items()
    greedy = ask(CHAT, messages=HELLO, temperature=0, top_p=0.3, top_k=9, min_p=0.5, seed=-1)["sampling_params"]
    assert greedy["temperature"] == 0
    assert not greedy.keys() & {"seed", "top_p", "top_k", "min_p"}


def test_constraints_are_those_of_the_caller_by_vllm_s_names(ask: Ask) -> None:
    schema = {"type": "object", "properties": {"b": {}, "a": {"maximum": 10**30}}}
    for form, outputs in (
        ({"type": "json_object"}, {"json_object": True}),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}, {"json": schema}),
        ({"type": "text"}, None),
    ):
        params = ask(CHAT, messages=HELLO, response_format=form)["sampling_params"]
        given = params.get("structured_outputs")
        assert (given and {name: value for name, value in given.items() if value}) == outputs
    sent = {"allowed_token_ids": [1, 2], "thinking_token_budget": 9}
    params = ask(CHAT, messages=HELLO, logit_bias={"7": 500, "8": -1}, vllm_xargs={"a": 1}, **sent)["sampling_params"]
    assert params.items() >= {**sent, "logit_bias": {"7": 100.0, "8": -1.0}, "extra_args": {"a": 1}}.items()
    thinking = {"type": "enabled", "budget_tokens": 1024}
    params = ask(MESSAGES, messages=HELLO, max_tokens=2000, thinking=thinking)["sampling_params"]
    assert params["thinking_token_budget"] == 1024


def test_effort_sets_thinking_unless_the_caller_does(ask: Ask) -> None:
    def ids(**body: Any) -> Any:
        return ask(CHAT, messages=HELLO, **body)["token_ids"]

    def by_variables(**variables: Any) -> Any:
        return ask("/tokenize", messages=HELLO, chat_template_kwargs=variables)["tokens"]

    assert ids(reasoning_effort="none") == by_variables(reasoning_effort="none", enable_thinking=False)
    assert ids(reasoning_effort="low") == by_variables(reasoning_effort="low", enable_thinking=True)
    both = ids(reasoning_effort="none", chat_template_kwargs={"enable_thinking": 5})
    assert both == by_variables(reasoning_effort="none", enable_thinking=5)
    assert ids(reasoning_effort="low", chat_template_kwargs={"reasoning_effort": "high"}) == ids(reasoning_effort="low")


def test_the_order_of_keys_is_that_of_the_text(ask: Ask) -> None:
    turned = dict(reversed(SCHEMA.items()))
    other = [{"type": "function", "function": {**FUNCTION, "parameters": turned}}]
    assert ask(CHAT, messages=HELLO, tools=TOOLS)["token_ids"] != ask(CHAT, messages=HELLO, tools=other)["token_ids"]
    # The order of a tool's own fields is vLLM's, whatever the caller's is.
    swapped = [{"function": dict(reversed(FUNCTION.items())), "type": "function"}]
    assert ask(CHAT, messages=HELLO, tools=TOOLS)["token_ids"] == ask(CHAT, messages=HELLO, tools=swapped)["token_ids"]


def test_prompts_and_ids_are_a_list_of_requests(ask: Ask, framed: Tokenizer) -> None:
    ids = framed.encode("the fox").tolist()
    for prompt, count in (("the fox", 1), (["the fox", "a"], 2), (ids, 1), ([ids, ids[:1], ids], 3)):
        found = ask(COMPLETIONS, prompt=prompt, headers={"x-request-id": "r"}, add_special_tokens=False)
        names = ["cmpl-r"] if count == 1 else [f"cmpl-r-{at}" for at in range(count)]
        assert [each["request_id"] for each in found] == names
        assert found[0]["token_ids"] == ids
        # vLLM's own default, which it does not write.
        assert "max_tokens" not in found[0]["sampling_params"]
    (found,) = ask(COMPLETIONS, prompt="the fox", return_token_offsets=True, add_special_tokens=False)
    assert found["token_offsets"] == framed.offsets("the fox").spans.tolist()
    assert "max_tokens" not in ask(COMPLETIONS, prompt="the fox", max_tokens=None)[0]["sampling_params"]
    assert ask(COMPLETIONS, 400, prompt=[])["param"] == "prompt"
    assert ask(COMPLETIONS, 400, prompt=[[1], [1 << 29]])["param"] == "prompt[1][0]"
    assert ask(COMPLETIONS, 400, prompt="", add_special_tokens=False)["message"] == "No token_ids rendered"


def test_the_id_is_of_the_header_then_of_the_body(ask: Ask) -> None:
    assert ask(CHAT, messages=HELLO, request_id="b", headers={"x-request-id": "h"})["request_id"] == "chatcmpl-h"
    assert ask(CHAT, messages=HELLO, request_id="b")["request_id"] == "chatcmpl-b"
    assert ask(CHAT, messages=HELLO)["request_id"] != ask(CHAT, messages=HELLO)["request_id"]


def test_ids_are_truncated_on_the_side_that_is_asked_for(ask: Ask) -> None:
    whole = ask(CHAT, messages=HELLO, return_token_offsets=True)
    ids, spans = whole["token_ids"], whole["token_offsets"]
    assert len(spans) == len(ids)
    left = ask(CHAT, messages=HELLO, return_token_offsets=True, truncate_prompt_tokens=3, truncation_side="left")
    right = ask(CHAT, messages=HELLO, return_token_offsets=True, truncate_prompt_tokens=3, truncation_side="right")
    assert (left["token_ids"], left["token_offsets"]) == (ids[-3:], spans[-3:])
    assert (right["token_ids"], right["token_offsets"]) == (ids[:3], spans[:3])
    assert ask(CHAT, messages=HELLO, truncate_prompt_tokens=-1)["token_ids"] == ids
    assert ask(CHAT, 400, messages=HELLO, truncate_prompt_tokens=0)["message"] == "No token_ids rendered"
    assert ask(CHAT, 400, messages=HELLO, truncate_prompt_tokens=-2)["param"] == "truncate_prompt_tokens"
    assert ask(CHAT, 400, messages=HELLO, truncate_prompt_tokens=1 << 40)["param"] == "truncate_prompt_tokens"


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"use_beam_search": True}, "use_beam_search"),
    ({"chat_template": "{{ messages }}"}, "chat_template"),
    ({"required_prefix_token_ids": [1]}, "required_prefix_token_ids"),
    ({"prefix_ids": [1], "new_from": 1}, "prefix_ids"),
    ({"response_format": {"type": "xml"}}, "response_format.type"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    ({"logit_bias": {"a": 1}}, "logit_bias"),
    ({"add_generation_prompt": True, "continue_final_message": True}, "continue_final_message"),
    ({"reasoning_effort": "loud"}, "reasoning_effort"),
    ({"temperature": "hot"}, "temperature"),
    ({"max_tokens": -1}, "max_tokens"),
    ({"cache_salt": ""}, "cache_salt"),
    ({"priority": 1 << 63}, "priority"),
    ({"seed": -(1 << 63) - 1}, "seed"),
    ({"stop_token_ids": [1, 10**30]}, "stop_token_ids[1]"),
    ({"top_logprobs": 10**30, "logprobs": True}, "top_logprobs"),
    ({"block_hashes": {"scheme": "dynamo-xxh3/1", "block_size": 10**30}}, "block_hashes.block_size"),
    ({"tools": [{"type": "function"}]}, "tools[0].function"),
    ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
    ({"messages": [{"content": "no role"}]}, "messages[0].role"),
    ({"messages": [{"role": 5, "content": "no role"}]}, "messages[0].role"),
    ({"tool_choice": "any"}, "tool_choice"),
    ({"tool_choice": "auto"}, "tool_choice"),
    ({"tools": TOOLS, "tool_choice": ""}, "tool_choice"),
]


@pytest.mark.parametrize(("wrong", "param"), REFUSED)
def test_what_is_wrong_is_400_in_vllm_s_shape(ask: Ask, wrong: dict[str, Any], param: str) -> None:
    error = ask(CHAT, 400, **{"messages": HELLO, **wrong})
    assert (error["param"], error["type"]) == (param, "BadRequestError")


def test_numbers_of_any_size_are_copied_and_those_that_are_infinite_refused(client: TestClient, ask: Ask) -> None:
    large = {"a": [10**30, -(10**25)], "b": 0.1}
    for name in ("stream_options", "kv_transfer_params", "ec_transfer_params"):
        assert ask(CHAT, messages=HELLO, stream=True, **{name: large})[name] == large
    params = ask(COMPLETIONS, prompt="a", structured_outputs={"json": large})[0]["sampling_params"]
    assert params["structured_outputs"]["json"] == large
    for field, param in (('"temperature":1e999', "temperature"), ('"vllm_xargs":{"a":1e999}', "vllm_xargs")):
        body = '{"messages":[{"role":"user","content":"a"}],' + field + "}"
        answer = client.post(CHAT, content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_a_model_that_is_not_there_and_another_media_type(ask: Ask, client: TestClient) -> None:
    error = ask(CHAT, 404, model="nobody", messages=HELLO)
    assert (error["type"], error["param"]) == ("NotFoundError", "model")
    assert error["message"].startswith("The model `nobody` does not exist.")
    answer = client.post(CHAT, content=b'{"messages":[]}', headers={"content-type": "text/plain"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, 400)
    assert answer.json()["error"]["type"] == "BadRequestError"


def test_anthropic_s_messages_are_read_as_vllm_reads_them(ask: Ask) -> None:
    def ids(messages: list[dict[str, Any]], **body: Any) -> Any:
        return ask(MESSAGES, messages=messages, max_tokens=9, **body)["token_ids"]

    def chat(messages: list[dict[str, Any]], **body: Any) -> Any:
        return ask(CHAT, messages=messages, **body)["token_ids"]

    billing = {"type": "text", "text": "x-anthropic-billing-header: cc=1"}
    system = [billing, {"type": "text", "text": "be "}, {"type": "text", "text": "brief"}]
    assert ids(HELLO, system=system) == chat([{"role": "system", "content": "be brief"}, *HELLO])
    assert ids([*HELLO, *HELLO]) == chat([*HELLO, *HELLO])
    use = {"type": "tool_use", "id": "t", "name": "weather", "input": {"b": 1, "a": 2}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "sun"}]}
    turns = [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "text", "text": "q"}, result]},
    ]
    assert ids(turns) == chat(
        [
            {"role": "assistant", "content": [], "tool_calls": [call("t", '{"b": 1, "a": 2}')]},
            {"role": "tool", "tool_call_id": "t", "content": "sun"},
            {"role": "user", "content": "q"},
        ]
    )
    last = [*HELLO, {"role": "assistant", "content": "jumps"}]
    assert ids(last) == chat(last)
    assert ids(HELLO, thinking={"type": "disabled"}) == chat(HELLO, reasoning_effort="none")
    assert ids(HELLO, output_config={"effort": "low"}) == chat(HELLO, reasoning_effort="low")
    found = ask(MESSAGES, messages=HELLO, max_tokens=9, stop_sequences=["a", "b"])
    assert found["sampling_params"].items() >= {"max_tokens": 9, "stop": ["a", "b"]}.items()
    assert ask(MESSAGES, 400, messages=HELLO)["param"] == "max_tokens"
    image = [{"role": "user", "content": [{"type": "image", "source": {}}]}]
    assert "image" in ask(MESSAGES, 400, messages=image, max_tokens=9)["message"]


def test_openai_s_items_are_read_as_vllm_reads_them(ask: Ask) -> None:
    found = ask(RESPONSES, input="the quick brown fox", instructions="be brief", max_output_tokens=4)
    chat = [{"role": "system", "content": "be brief"}, *HELLO]
    assert found["token_ids"] == ask(CHAT, messages=chat)["token_ids"]
    assert found["sampling_params"]["max_tokens"] == 4
    error = ask(RESPONSES, 400, input="a", previous_response_id="r")
    assert (error["type"], error["param"]) == ("invalid_request_error", "previous_response_id")


def test_a_model_of_sglang_has_its_answer(ask: Ask) -> None:
    found = ask(CHAT, model="Acme/sglang", messages=HELLO, logprobs=True, top_logprobs=2, max_tokens=5)
    assert list(found) == [name for name, field in SglangGenerateRequest.model_fields.items() if field.is_required()]
    SglangGenerateRequest.model_validate(found)
    assert "token_ids" not in found
    assert found["input_ids"] == ask(CHAT, messages=HELLO)["token_ids"]
    assert found["sampling_params"]["max_new_tokens"] == 5
    assert (found["return_logprob"], found["top_logprobs_num"]) == (True, 2)
    assert ask(CHAT, 400, model="Acme/sglang", messages=HELLO, n=2)["param"] == "n"
    assert [each["rid"][-2:] for each in ask(COMPLETIONS, model="Acme/sglang", prompt=["a", "b"])] == ["-0", "-1"]


def test_sglang_s_tokenize_takes_a_chat(client: TestClient, ask: Ask) -> None:
    body = {"messages": HELLO, "tools": TOOLS, "reasoning_effort": "none", "chat_template_kwargs": {"x": 1}}
    found = client.post("/v1/tokenize", json=body).json()
    assert found["tokens"] == ask(CHAT, **body)["token_ids"]
    assert found["count"] == len(found["tokens"])
    for name in ("required_prefix_token_ids", "prefix_ids", "new_from"):
        for path in ("/v1/tokenize",) if name == "required_prefix_token_ids" else ("/v1/tokenize", "/tokenize"):
            answer = client.post(path, json={"messages": HELLO, name: [1]})
            assert answer.status_code == 400
            assert name in answer.text
    for wrong in ({"messages": HELLO, "prompt": "a"}, {}):
        answer = client.post("/v1/tokenize", json=wrong)
        assert (answer.status_code, answer.json()["object"]) == (400, "error")
        assert answer.json()["message"] == "Exactly one of 'prompt' or 'messages' must be provided."


def test_literals_are_text_unless_the_model_s_setting_says_engine(ask: Ask, framed: Tokenizer) -> None:
    eos = framed.special_tokens["<|eos|>"]
    forged = [{"role": "user", "content": "a<|eos|>b"}]
    for path, ids in ((CHAT, "token_ids"), ("/tokenize", "tokens"), ("/v1/tokenize", "tokens")):
        plain = ask(path, messages=[{"role": "user", "content": "ab"}], model="Acme/one")[ids]
        text, engine = (ask(path, messages=forged, model=model)[ids] for model in ("Acme/one", "Acme/engine-1"))
        assert text.count(eos) == plain.count(eos)
        assert engine.count(eos) == plain.count(eos) + 1


def test_the_engine_s_literals_are_those_of_the_whole_rendered_text(ask: Ask) -> None:
    pieces = ["<|eos|>", "<|bos|>", "<|e", "os|>", "<", "|", ">", "the ", "\n", "<|bos|", "é"]
    random = Random(44)
    for _ in range(100):
        texts = ["".join(random.choices(pieces, k=random.randrange(6))) for _ in range(4)]
        roles = ["system", "user", "assistant", "user"]
        chat = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
        text = ask("/render", messages=chat, add_generation_prompt=True)["text"]
        (parsed,) = ask(COMPLETIONS, prompt=text, add_special_tokens=False)
        assert ask(CHAT, messages=chat, model="Acme/engine-1")["token_ids"] == parsed["token_ids"]


def test_the_log_and_a_metric_tell_whose_literals_are_the_engine_s(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    assert "tokd_engine_literals 1.0" in client.get("/metrics").text
    with caplog.at_level(logging.WARNING, "tokd"):
        Engines(Settings(literals=("a/*=engine", "b=text")))
    assert [record.getMessage() for record in caplog.records] == [
        "literals of special tokens in chats for a/* become control tokens, as in the engine: a user can write them "
        "(setting literals)"
    ]


def test_engines_are_probed_as_platforms_do(client: TestClient) -> None:
    for path in ("/health", "/ping"):
        answer = client.get(path)
        assert (answer.status_code, answer.content) == (200, b"")
    ready = client.get("/_sglang_renderer/ready")
    assert (ready.status_code, ready.headers["x-sglang-renderer"]) == (204, "ready")
    assert list(client.get("/version").json()) == ["version"]
    models = client.get("/v1/models").json()
    assert [model["id"] for model in models["data"]] == ["acme", "Acme/one"]
    assert {model["root"] for model in models["data"]} == {"acme"}
    info = client.get("/tokenizer_info").json()
    assert (info["chat_template"], info["eos_token"]) == (TEMPLATE, "<|eos|>")


def test_a_fingerprint_changes_with_whatever_changes_ids(client: TestClient, framed: Tokenizer) -> None:
    listed = {model["id"]: model["fingerprint"] for model in client.get("/v1/models").json()["data"]}
    assert set(listed.values()) == {client.get("/tokenizers/acme").json()["fingerprint"]}

    def of_answer(path: str, **body: Any) -> str:
        return str(client.post(path, json=body).headers["tokd-fingerprint"])

    assert of_answer(CHAT, messages=HELLO) == listed["acme"] == of_answer(COMPLETIONS, prompt="a", model="Acme/one")
    assert of_answer(CHAT, messages=HELLO, model="Acme/engine") not in listed.values()
    templated = framed.with_template(TEMPLATE)
    tokenizers = [templated, framed, framed.with_template(TEMPLATE + " ")]
    options = [IdOptions(), IdOptions(chat_literals="reject"), IdOptions(content_format="string")]
    found = [ServedTokenizer(each, "").fingerprint for each in tokenizers]
    found += [ServedTokenizer(templated, "", options=each).fingerprint for each in options[1:]]
    assert len(set(found)) == len(found)
    assert ServedTokenizer(templated, "elsewhere", options=IdOptions.of(Settings(port=1))).fingerprint == found[0]
