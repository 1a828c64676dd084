"""Chats as vLLM's clients send them, in OpenAI's form: the ids are those of what vLLM gives to the template."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.core.chat.conversations import tokenizer
from tests.service.conftest import MakeClient, state_of
from tests.support.data import needs_data
from tokenizer_core import Tokenizer

CALLS = "{% for c in m.tool_calls %}<{{ c.function.name }} {{ c.function.arguments | tojson }}>{% endfor %}"
TEXT = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ bos_token }}{{ m.role + '\n' + m.content }}"
    f"{CALLS}{{% if m.tool_calls is defined %}} called{{% endif %}}{{{{ eos_token }}}}{{% endfor %}}"
)
PARTS = (
    "{% for m in messages %}{{ bos_token }}{{ m.role }}{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for part in m['content'] %}|{{ part.type }} {{ part.text }}{% endfor %}{% endif %}"
    f"{CALLS}{{{{ eos_token }}}}{{% endfor %}}"
)
USER = {"role": "user", "content": "the quick brown fox"}
TWO = [{"type": "text", "text": "the fox"}, {"type": "text", "text": ""}, {"type": "input_text", "text": "jumps"}]


@pytest.fixture(scope="module")
def served(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    paths = []
    for name, template in (("text", TEXT), ("parts", PARTS)):
        paths.append(tmp_path_factory.mktemp("vllm") / name)
        framed.with_template(template).save(paths[-1])
    return make_client(artifacts=tuple(map(str, paths)))


def call(arguments: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}}


def assert_rendered(
    client: TestClient,
    model: str,
    sent: list[dict[str, Any]],
    given: list[dict[str, Any]],
    tools: Any = None,
    given_tools: Any = None,
) -> None:
    answer = client.post("/tokenize", json={"model": model, "messages": sent, "tools": tools})
    assert answer.status_code == 200, answer.text
    body = {"tokenizer": model, "messages": given, "tools": given_tools, "add_generation_prompt": True}
    expected = client.post("/encode", json=body)
    assert expected.status_code == 200, expected.text
    assert answer.json()["tokens"] == expected.json()["ids"]


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ('{"city": "Köln", "days": [1, 2.5]}', {"city": "Köln", "days": [1, 2.5]}),
        ({"city": "Köln"}, {"city": "Köln"}),
        *((nothing, {}) for nothing in ("", None, "no JSON", "[1]", '"a"', "3", [1])),
    ],
)
@pytest.mark.parametrize("content", [{}, {"content": None}, {"content": ""}])
def test_arguments_of_calls_are_objects(served: TestClient, content: Any, arguments: Any, given: Any) -> None:
    said: Any = {"role": "assistant", **content}
    result = {"role": "tool", "tool_call_id": "c1", "content": "3 deg"}
    sent = [USER, {**said, "tool_calls": [call(arguments), call("{}")]}, result]
    calls = {"role": "assistant", "content": "", "tool_calls": [call(given), call({})]}
    assert_rendered(served, "text", sent, [USER, calls, result])


@pytest.mark.parametrize("calls", [None, []])
def test_calls_that_are_none_are_left_out(served: TestClient, calls: Any) -> None:
    said = {"role": "assistant", "content": "a"}
    assert_rendered(served, "text", [USER, {**said, "tool_calls": calls}, USER], [USER, said, USER])


def test_parts_are_one_text_for_a_template_of_texts(served: TestClient) -> None:
    refused = {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}
    sent: Any = [{"role": "user", "content": TWO}, refused]
    given = [{"role": "user", "content": "the fox\njumps"}, {"role": "assistant", "content": "no"}]
    assert_rendered(served, "text", sent, given)


def test_parts_are_parts_for_a_template_that_loops_over_them(served: TestClient) -> None:
    texts = [{"type": "text", "text": text} for text in ("the fox", "", "jumps")]
    one = {"role": "user", "content": [{"type": "text", "text": USER["content"]}]}
    said: Any = {"role": "assistant", "content": []}
    sent: Any = [{"role": "user", "content": TWO}, {"role": "assistant", "content": None}, USER]
    assert_rendered(served, "parts", sent, [{"role": "user", "content": texts}, said, one])
    result = {"role": "tool", "tool_call_id": "c1", "content": TWO}
    joined = {**result, "content": "the fox\n\njumps"}
    assert_rendered(served, "parts", [USER, result], [one, joined])


@pytest.mark.parametrize(
    ("function", "given"),
    [
        ({"name": "f"}, {"name": "f", "description": None, "parameters": None}),
        (
            {"strict": True, "parameters": {"b": 1, "a": 2}, "mine": 1, "description": "d", "name": "f"},
            {"name": "f", "description": "d", "parameters": {"b": 1, "a": 2}, "strict": True},
        ),
    ],
)
def test_tools_have_the_fields_of_vllm_in_its_order(served: TestClient, function: Any, given: Any) -> None:
    sent = [{"function": function, "type": "function", "mine": 1}]
    assert_rendered(served, "text", [USER], [USER], sent, [{"type": "function", "function": given}])


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [7]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": ["a"]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": [{"image_url": "x"}]}]}, "messages[0].content[0].type"),
        ({"messages": [{"role": "user", "content": [{"type": "new"}]}]}, "messages[0].content[0].type"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": {}}]}, "messages[1].tool_calls"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [1]}]}, "messages[1].tool_calls[0]"),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [{}]}]}, "messages[1].tool_calls[0].function"),
        ({"messages": [USER], "tools": [{"type": "function"}]}, "tools[0].function"),
        ({"messages": [USER], "tools": [{"function": {}}]}, "tools[0].function.name"),
    ],
)
def test_what_vllm_does_not_take_is_refused_with_its_place(served: TestClient, body: Any, param: str) -> None:
    answer = served.post("/tokenize", json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param), answer.text


def test_json_in_arguments_is_held_to_the_bound_of_a_body(served: TestClient) -> None:
    arguments = '{"a":[' + "{}," * 100_000 + "1]}"
    answer = served.post("/tokenize", json={"messages": [{"role": "assistant", "tool_calls": [call(arguments)]}]})
    assert (answer.status_code, answer.json()["error"]["param"]) == (413, "messages")


@needs_data
@pytest.mark.parametrize("content", ["be brief", [{"type": "text", "text": "be brief"}]])
def test_system_message_of_gemma_is_printed_as_text_on_native_routes(
    make_client: MakeClient, tmp_path: Path, content: str | list[dict[str, str]]
) -> None:
    """Gemma 4 loops over the parts of users, and prints the list that a system message is; in vLLM it does."""
    gemma = tokenizer("google-gemma-4-31B-it")
    gemma.save(tmp_path / "gemma")
    client = make_client(artifacts=(str(tmp_path / "gemma"),))
    rest = [{"role": "user", "content": "hi"}]
    as_text = [{"role": "system", "content": "be brief"}, *rest]
    expected = gemma.encode_chat(as_text, add_generation_prompt=True).ids.tolist()
    body = {"messages": [{"role": "system", "content": content}, *rest], "add_generation_prompt": True}
    as_parts = [{**each, "content": [{"type": "text", "text": each["content"]}]} for each in as_text]
    printed = gemma.encode_chat(as_parts, add_generation_prompt=True).ids.tolist()
    assert client.post("/tokenize", json=body).json()["tokens"] == printed != expected
    assert client.post("/encode", json=body).json()["ids"] == expected
    assert client.post("/count", json=body).json()["count"] == len(expected)


def test_setting_overrides_what_the_template_wants(make_client: MakeClient, served: TestClient) -> None:
    artifacts = state_of(served).settings.artifacts
    for setting, given in (("string", "the fox\njumps"), ("parts", [*TWO[:2], {"type": "text", "text": "jumps"}])):
        body = {"messages": [{"role": "user", "content": given}], "tokenizer": "parts"}
        expected = served.post("/encode", json=body).json()["ids"]
        client = make_client(artifacts=artifacts, content_format=setting)
        sent = {"messages": [{"role": "user", "content": TWO}], "model": "parts", "add_generation_prompt": False}
        assert client.post("/tokenize", json=sent).json()["tokens"] == expected


@pytest.mark.parametrize(
    ("part", "kind", "field"),
    [
        ({"image_url": "x"}, "image_url", "type"),
        ({"video": "x"}, "video", "type"),
        ({"type": "text", "text": "q", "image": "x"}, "image", "image"),
        ({"type": "input_audio", "input_audio": {}}, "input_audio", "type"),
    ],
)
def test_media_are_refused_by_name_on_every_route(served: TestClient, part: Any, kind: str, field: str) -> None:
    for role in ("user", "tool"):
        body = {"messages": [{"role": role, "content": [{"type": "text", "text": "a"}, part]}]}
        answer = served.post("/tokenize", json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, f"messages[0].content[1].{field}")
        assert kind in answer.json()["error"]["message"]
        for route in ("/render", "/encode", "/count", "/offsets"):
            problem = served.post(route, json=body).json()
            assert (problem["code"], problem["path"]) == ("invalid_option", f"messages[0].content[1].{field}")
            assert kind in problem["detail"]


@pytest.mark.parametrize(
    ("content", "param"),
    [
        ("a<|eos|>", "content"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "<|eos|>"}], "content[1].text"),
        ([{"type": "refusal", "refusal": "<|eos|>"}], "content[0].refusal"),
    ],
)
def test_place_of_a_text_is_that_of_the_request(
    make_client: MakeClient, served: TestClient, content: Any, param: str
) -> None:
    strict = make_client(artifacts=state_of(served).settings.artifacts, chat_literals="reject")
    for model in ("text", "parts"):
        body = {"model": model, "messages": [{"role": "user", "content": content}]}
        answer = strict.post("/tokenize", json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, f"messages[0].{param}"), answer.text
