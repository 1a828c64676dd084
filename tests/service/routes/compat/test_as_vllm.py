"""What vLLM 0.32 makes of requests, recorded from its renderer (``python -m benchmarks engines``): it needs none here.

Templates that print what they are given show the form of messages; parameters and statuses need no template.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.service.conftest import MakeClient
from tokenizer_core import Tokenizer

TOKENIZE, CHAT = "/tokenize", "/v1/chat/completions/render"
RESPONSES, MESSAGES, COMPLETIONS = "/v1/responses/render", "/v1/messages/render", "/v1/completions/render"
USER = {"role": "user", "content": "u"}
TEMPLATES = {
    "text": "{{ messages | tojson }}",
    "parts": "{% for m in messages %}{% for p in m.content %}{% endfor %}{% endfor %}{{ messages | tojson }}",
    "tools": "{{ tools | tojson }}",
    "knowing": "{{ messages | tojson }}{# 'developer' #}",
    "chatml": "{% for m in messages %}{% if m.role in ['system', 'user'] %}<{{ m.role }}>{{ m.content }}{% endif %}"
    "{% endfor %}",
    "macro": "{% macro show(content) %}{% if content is string %}{{ content }}{% else %}{% for p in content %}"
    "{{ p.text }}{% endfor %}{% endif %}{% endmacro %}{% for m in messages %}{% set c = m.content %}{{ show(c) }}"
    "{% endfor %}",
    "handed": "{% macro show(x) %}{% if x is string %}{{ x }}{% else %}{% for p in x %}<{{ p.text }}>{% endfor %}"
    "{% endif %}{% endmacro %}{% for m in messages %}{{ show(m.content) }}{% endfor %}",
    "variables": "{{ [enable_thinking is defined, reasoning_effort is defined, tool_choice is defined] }}",
}


@pytest.fixture(scope="module")
def client(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    directory = tmp_path_factory.mktemp("as_vllm")
    for name, template in TEMPLATES.items():
        framed.with_template(template).save(directory / name)
    return make_client(
        artifacts=tuple(str(directory / name) for name in TEMPLATES), max_model_len=("*=40960", "short=20")
    )


def rendered(client: TestClient, model: str, route: str, **body: Any) -> str:
    """Return the text that a template made of a request."""
    needed = {"max_tokens": 5} if route == MESSAGES else {}
    answer = client.post(route, json={"model": model, **needed, **body})
    assert answer.status_code == 200, answer.text
    ids = answer.json()["tokens" if route == TOKENIZE else "token_ids"]
    return str(client.post("/detokenize", json={"model": model, "tokens": ids}).json()["prompt"])


def call(arguments: str, **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}, **more}


def said(content: Any = "x", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def a_call(arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "c1", "function": {"arguments": arguments, "name": "f"}, "type": "function", **more}


R = {"reasoning": "r", "reasoning_content": "r"}
FORMS: list[tuple[str, Any, Any]] = [
    (TOKENIZE, {"role": "user"}, {"role": "user", "content": ""}),
    (TOKENIZE, {"role": "weird", "content": "x", "extra": 1}, {"role": "weird", "content": "x"}),
    (
        TOKENIZE,
        {"role": "function", "content": None, "name": "x"},
        {"role": "function", "content": "", "name": "x"},
    ),
    (
        TOKENIZE,
        said(None, tool_calls=[call('{"a":1}', index=0), call(""), call("{bad"), call("[1]")]),
        said("", tool_calls=[a_call({"a": 1}, index=0), a_call({}), a_call({}), a_call({})]),
    ),
    (TOKENIZE, said(tool_calls=[]), said()),
    (TOKENIZE, {**USER, "tool_calls": [call("{}")]}, USER),
    (TOKENIZE, said(reasoning="r"), said(**R)),
    (TOKENIZE, said(reasoning_content="r"), said()),
    (TOKENIZE, said(thinking="r"), said()),
    (TOKENIZE, {**USER, "reasoning": "r"}, USER),
    (CHAT, said(reasoning="r", reasoning_content="q"), said(**R)),
    (CHAT, said(reasoning_content="r"), said(**R)),
    (CHAT, said(reasoning_content="r", reasoning=None), said(**R)),
    (CHAT, {**USER, "name": "n", "task": "t"}, {**USER, "name": "n", "task": "t"}),
    (
        TOKENIZE,
        {"role": "tool", "content": "x", "tool_call_id": "i", "name": "n"},
        {"role": "tool", "content": "x", "tool_call_id": "i", "name": "n"},
    ),
    (
        TOKENIZE,
        {"role": "tool", "content": "x", "tool_call_id": None},
        {"role": "tool", "content": "x", "tool_call_id": None},
    ),
    (TOKENIZE, {"role": "user", "content": []}, {"role": "user", "content": ""}),
    (TOKENIZE, said([{"type": "refusal", "refusal": "a"}, {"type": "text", "text": "q"}]), said("a\nq")),
    (TOKENIZE, said([{"type": "thinking", "thinking": "a"}]), said("a")),
    (
        TOKENIZE,
        {"role": "system", "content": "x-anthropic-billing-header: 1\nrest"},
        {"role": "system", "content": "rest"},
    ),
    (TOKENIZE, {"role": "system", "content": "x-anthropic-billing-header: 1"}, {"role": "system", "content": ""}),
]


@pytest.mark.parametrize(("route", "sent", "given"), FORMS)
def test_a_message_has_the_fields_that_vllm_gives_it_in_its_order(
    client: TestClient, route: str, sent: Any, given: Any
) -> None:
    assert rendered(client, "text", route, messages=[sent]) == json.dumps([given])


def parts(*texts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, **more} for text in texts]


PARTS: list[tuple[Any, Any]] = [
    (USER, {"role": "user", "content": parts("u")}),
    ({"role": "user"}, {"role": "user", "content": []}),
    (said(None, tool_calls=[call("{}")]), said([], tool_calls=[a_call({})])),
    (
        {"role": "user", "content": parts("a", "", extra=1, cache_control={"type": "e"}, name="z")},
        {"role": "user", "content": parts("a", "", extra=1, cache_control={"type": "e"})},
    ),
    (
        {"role": "tool", "content": parts("a", "", "b"), "tool_call_id": "i"},
        {"role": "tool", "content": "a\n\nb", "tool_call_id": "i"},
    ),
    (
        {"role": "system", "content": parts("x-anthropic-billing-header: 1", "k")},
        {"role": "system", "content": parts("k")},
    ),
]


@pytest.mark.parametrize(("sent", "given"), PARTS)
def test_parts_keep_the_fields_that_are_the_caller_s_own(client: TestClient, sent: Any, given: Any) -> None:
    assert rendered(client, "parts", TOKENIZE, messages=[sent]) == json.dumps([given])


SYSTEM, DEVELOPER = {"role": "system", "content": "s"}, {"role": "developer", "content": "d"}


def system(content: Any) -> dict[str, Any]:
    return {"role": "system", "content": content}


@pytest.mark.parametrize("route", [TOKENIZE, CHAT])
@pytest.mark.parametrize(
    ("sent", "given"),
    [
        ([DEVELOPER, USER], [system("d"), USER]),
        ([{**DEVELOPER, "tools": [{}]}, SYSTEM, USER], [system("d\n\ns"), USER]),
        ([USER, DEVELOPER, said(), SYSTEM], [system("d\n\ns"), USER, said()]),
        ([SYSTEM, USER, {**DEVELOPER, "content": ""}], [system("s"), USER]),
        ([USER, {**DEVELOPER, "content": parts("a", "b")}], [system("a\nb"), USER]),
        ([SYSTEM, USER, SYSTEM], [SYSTEM, USER, SYSTEM]),
    ],
)
def test_a_developer_is_the_system_of_a_template_that_does_not_know_it(
    client: TestClient, route: str, sent: Any, given: Any
) -> None:
    assert rendered(client, "text", route, messages=sent) == json.dumps(given)
    known = rendered(client, "knowing", route, messages=[DEVELOPER, USER])
    assert known == json.dumps([{**DEVELOPER, "tools": None}, USER])
    whole = rendered(client, "parts", route, messages=[SYSTEM, USER, DEVELOPER])
    assert whole == json.dumps([system("s\n\nd"), {"role": "user", "content": parts("u")}])


def test_responses_have_the_same_rule_and_anthropic_s_system_messages_their_own(client: TestClient) -> None:
    items = [DEVELOPER, {"role": "system", "content": [{"type": "input_text", "text": "s"}]}, USER]
    given = [system("I\n\nd\n\ns"), USER]
    assert rendered(client, "text", RESPONSES, input=items, instructions="I") == json.dumps(given)
    kept = [system("I"), SYSTEM, USER, SYSTEM]
    assert rendered(client, "text", RESPONSES, input=kept[1:], instructions="I") == json.dumps(kept)
    made = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}
    called = {"id": "c", "function": {"name": "f", "arguments": {"a": 1}}, "type": "function"}
    result = {"type": "function_call_output", "call_id": "c", "output": "o"}
    given = [said("", tool_calls=[called]), {"role": "tool", "content": "o", "tool_call_id": "c"}]
    assert rendered(client, "text", RESPONSES, input=[made, result]) == json.dumps(given)
    assert rendered(client, "text", MESSAGES, messages=[USER, SYSTEM]) == json.dumps([USER, SYSTEM])


def test_native_routes_take_a_developer_whom_the_template_leaves_out(
    client: TestClient, capfd: pytest.CaptureFixture[str]
) -> None:
    chat = {"messages": [USER, DEVELOPER, SYSTEM]}
    (left_out, text) = ({"tokenizer": name, **chat} for name in ("chatml", "text"))
    assert client.post("/render", json=left_out).json()["text"] == "<system>d\n\ns<user>u"
    assert client.post("/encode", json={**left_out, "return": ["ids", "spans"]}).status_code == 200
    assert client.post("/count", json=left_out).status_code == 200
    assert client.post("/encode", json=left_out).status_code == 200
    assert "panicked" not in capfd.readouterr().err
    # What a template writes stays as it is.
    assert client.post("/render", json=text).json()["text"] == json.dumps(chat["messages"])


def test_content_that_a_macro_is_given_is_looked_for_as_in_vllm(client: TestClient) -> None:
    body = {"messages": [{"role": "user", "content": parts("hi", "there")}]}
    assert rendered(client, "macro", TOKENIZE, **body) == "hi\nthere"
    assert rendered(client, "handed", TOKENIZE, **body) == "<hi><there>"
    assert client.post("/render", json={"tokenizer": "macro", **body}).json()["text"] == "hithere"


def test_a_tool_may_be_deferred_and_its_choice_is_no_variable(client: TestClient) -> None:
    sent = {"type": "function", "function": {"name": "f", "strict": None, "x": 1}, "defer_loading": True, "y": 1}
    function = {"name": "f", "description": None, "parameters": None, "defer_loading": True}
    given = [{"type": "function", "function": function, "defer_loading": True}]
    assert rendered(client, "tools", TOKENIZE, messages=[USER], tools=[sent]) == json.dumps(given)
    more = {"tools": [sent], "tool_choice": "none", "reasoning_effort": "low"}
    assert rendered(client, "variables", CHAT, messages=[USER], **more) == "[True, True, False]"
    overlaid = {"chat_template_kwargs": {"add_generation_prompt": False}}
    assert rendered(client, "variables", TOKENIZE, messages=[USER], **overlaid) == "[False, False, False]"


REFUSED: list[tuple[str, dict[str, Any]]] = [
    *((TOKENIZE, {"messages": [{"role": role, "content": None}]}) for role in ("user", "system", "tool", "weird")),
    (TOKENIZE, {"messages": [{**USER, "name": 5}]}),
    (TOKENIZE, {"messages": [USER], "tools": [{"type": "custom", "function": {"name": "f"}}]}),
    *(
        (CHAT, {"messages": [USER], **each})
        for each in ({"tools": []}, {"tool_choice": "auto"}, {"documents": [{"a": 1}]})
    ),
    (CHAT, {"tools": [{"function": {"name": "f"}}], "tool_choice": {"function": {"name": "g"}}}),
    *((CHAT, each) for each in ({"min_tokens": 9, "max_tokens": 5}, {"max_tokens": 0}, {"max_tokens": 40961})),
    *((CHAT, {"temperature": value}) for value in (-0.5, 2.5)),
    *((CHAT, {"top_p": value}) for value in (0, -0.5, 1.5)),
    *((CHAT, {"min_p": value}) for value in (-0.5, 1.5)),
    *((CHAT, {"presence_penalty": value}) for value in (-2.5, 3)),
    *((CHAT, {"repetition_penalty": value}) for value in (0, -0.5)),
    *((CHAT, {"n": value}) for value in (0, -2, 1 << 40)),
    *((CHAT, each) for each in ({"n": 2, "temperature": 0}, {"top_k": -2}, {"min_tokens": -1}, {"stop": ["", "x"]})),
    *((CHAT, each) for each in ({"bad_words": [""]}, {"thinking_token_budget": -2}, {"prompt_logprobs": -2})),
    *((CHAT, each) for each in ({"top_logprobs": 1}, {"top_logprobs": -2, "logprobs": True}, {"cache_salt": "a/b"})),
    *((CHAT, each) for each in ({"stream_options": {"include_usage": True}}, {"truncate_prompt_tokens": 40961})),
    (CHAT, {"stream": True, "prompt_logprobs": 1}),
    *((CHAT, {"structured_outputs": each}) for each in ({}, {"regex": "a", "choice": ["b"]})),
    *((CHAT, {"response_format": {"type": "json_schema", **each}}) for each in ({}, {"json_schema": {"name": "x"}})),
    (COMPLETIONS, {"prompt": "the", "logprobs": -2}),
    (MESSAGES, {"messages": [USER], "max_tokens": 0}),
    (MESSAGES, {"messages": [USER], "max_tokens": 99, "thinking": {"type": "enabled", "budget_tokens": 2048}}),
]


@pytest.mark.parametrize(("route", "body"), REFUSED)
def test_what_vllm_refuses_is_refused(client: TestClient, route: str, body: dict[str, Any]) -> None:
    body = {"messages": [USER], **body} if route == CHAT else body
    answer = client.post(route, json={"model": "text", **body})
    assert answer.status_code == 400, answer.text


ALWAYS = {
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "temperature": 1.0,
    "top_p": 1.0,
    "min_p": 0.0,
    "stop": [],
    "stop_token_ids": [],
    "bad_words": [],
    "skip_clone": True,
    "output_kind": 2,
    "skip_reading_prefix_cache": False,
}
OUTPUTS = {
    **dict.fromkeys(("json", "regex", "choice", "grammar", "json_object")),
    "disable_any_whitespace": False,
    "disable_additional_properties": False,
    "whitespace_pattern": None,
    "structural_tag": None,
    "_backend": None,
    "_backend_was_auto": False,
}
DEFAULTS = {
    "n": 1,
    "top_k": 0,
    "min_tokens": 0,
    "ignore_eos": False,
    "include_stop_str_in_output": False,
    "skip_special_tokens": True,
    "spaces_between_special_tokens": True,
    "seed": -1,
    "thinking_token_budget": -1,
}
WRITTEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    (DEFAULTS, {}),
    ({"max_tokens": 16}, {"max_tokens": ...}),
    ({"max_tokens": 17}, {"max_tokens": 17}),
    ({"temperature": 0, "top_p": 0.5, "top_k": 5, "min_p": 0.1}, {"temperature": 0.0, "top_p": ..., "min_p": ...}),
    ({"temperature": 0.001}, {"temperature": 0.01}),
    ({"temperature": 1, "top_k": -1}, {"top_k": -1}),
    ({"stop_token_ids": [3, 1, 3], "bad_words": ["x", "x"]}, {"stop_token_ids": [3, 1], "bad_words": ["x"]}),
    ({"stop": ["x", "end"]}, {"stop": ["x", "end"], "output_text_buffer_length": 2}),
    ({"stop": "x"}, {"stop": ["x"]}),
    ({"logit_bias": {"5": 200}}, {"logit_bias": {"5": 100.0}}),
    ({"prompt_logprobs": 0}, {"prompt_logprobs": 0, "skip_reading_prefix_cache": True}),
    ({"echo": True}, {"prompt_logprobs": 0, "skip_reading_prefix_cache": True}),
    ({"kv_transfer_params": {"x": None}}, {"extra_args": {"kv_transfer_params": {"x": None}}}),
    ({"vllm_xargs": {"a": 1}, "kv_transfer_params": {}}, {"extra_args": {"a": 1}}),
    ({"structured_outputs": {"regex": "a"}}, {"structured_outputs": {**OUTPUTS, "regex": "a"}}),
    ({"response_format": {"type": "json_object"}}, {"structured_outputs": {**OUTPUTS, "json_object": True}}),
    ({"allowed_token_ids": [], "stop": None}, {"allowed_token_ids": []}),
]


@pytest.mark.parametrize(("sent", "given"), WRITTEN)
def test_parameters_are_written_as_vllm_writes_them(
    client: TestClient, sent: dict[str, Any], given: dict[str, Any]
) -> None:
    answer = client.post(CHAT, json={"model": "text", "messages": [USER], **sent})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    left = 40_960 - len(found["token_ids"])
    expected = {**ALWAYS, "max_tokens": left, **given}
    assert found["sampling_params"] == {name: value for name, value in expected.items() if value is not ...}
    assert found["stream_options"] is None
    assert type(found["sampling_params"]["temperature"]) is float


def test_responses_ignore_what_they_do_not_know_and_copy_transfers(client: TestClient) -> None:
    sent: Any = {"input": "the", "n": 0, "min_tokens": -1, "bad_words": [""], "top_logprobs": 3}
    found = client.post(RESPONSES, json={"model": "text", **sent, "kv_transfer_params": {"x": 1}}).json()
    left = 40_960 - len(found["token_ids"])
    assert found["sampling_params"] == {**ALWAYS, "max_tokens": left, "extra_args": {"kv_transfer_params": {"x": 1}}}
    assert found["kv_transfer_params"] == {"x": 1}
    assert client.post(RESPONSES, json={"model": "text", "input": "the"}).json()["sampling_params"]["extra_args"] == {}


def test_a_prompt_is_cut_at_its_beginning_and_leaves_room_for_an_answer(client: TestClient) -> None:
    def ids(**body: Any) -> list[int]:
        found = client.post(COMPLETIONS, json={"model": "text", "prompt": [1, 2, 3], **body})
        return list(found.json()[0]["token_ids"])

    assert ids(truncate_prompt_tokens=1) == [3]
    assert ids(truncate_prompt_tokens=1, truncation_side="right") == [1]
