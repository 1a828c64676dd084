"""What is not text: refused by default, or skipped, and then the answer says what is not in the count."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.routes.compat.anthropic import AnthropicCountAnswer
from service.routes.compat.openai import OpenaiCountAnswer
from tests.service.conftest import MakeClient, state_of

OPENAI, ANTHROPIC = "/v1/responses/input_tokens", "/v1/messages/count_tokens"
USER = {"role": "user", "content": "why"}
FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object"}}
IMAGE = {"type": "image", "source": {"type": "base64"}}

OPENAI_CASES: list[tuple[dict[str, Any], dict[str, Any], list[tuple[str, str]]]] = [
    (
        {
            "input": "a",
            "tools": [{"type": "web_search"}, {"type": "function", **FUNCTION}, {"type": "custom", "name": "c"}],
        },
        {"input": "a", "tools": [{"type": "function", **FUNCTION}]},
        [("tools[0]", "web_search"), ("tools[2]", "custom")],
    ),
    (
        {"input": "a", "tools": [{"type": "namespace", "name": "n", "tools": [{"type": "custom", "name": "c"}]}]},
        {"input": "a"},
        [("tools[0].tools[0]", "custom")],
    ),
    (
        {"input": [USER, {"type": "web_search_call", "id": "x"}, {"type": "reasoning", "encrypted_content": "x"}]},
        {"input": [USER]},
        [("input[1]", "web_search_call"), ("input[2]", "encrypted_content")],
    ),
    (
        {"input": [{"role": "user", "content": [{"type": "input_image"}, {"type": "input_text", "text": "a"}]}]},
        {"input": "a"},
        [("input[0].content[0]", "input_image")],
    ),
    (
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "a", "image_url": "x"}]}]},
        {"input": "a"},
        [("input[0].content[0]", "image_url")],
    ),
]
ANTHROPIC_CASES: list[tuple[dict[str, Any], dict[str, Any], list[tuple[str, str]]]] = [
    (
        {"messages": [USER], "tools": [{"type": "bash_20250124", "name": "b"}, {"name": "f"}], "mcp_servers": [{}]},
        {"messages": [USER], "tools": [{"name": "f"}]},
        [("mcp_servers", "mcp_servers"), ("tools[0]", "bash_20250124")],
    ),
    (
        {"messages": [{"role": "user", "content": [IMAGE, {"type": "text", "text": "why"}]}]},
        {"messages": [USER]},
        [("messages[0].content[0]", "image")],
    ),
    (
        {"messages": [USER, {"role": "user", "content": [IMAGE]}]},
        {"messages": [USER, {"role": "user", "content": ""}]},
        [("messages[1].content[0]", "image")],
    ),
    (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "a",
                            "content": [{"type": "tool_reference", "tool_name": "f"}, {"type": "text", "text": "b"}],
                        }
                    ],
                }
            ]
        },
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "b"}]}]},
        [("messages[0].content[0].content[0]", "tool_reference")],
    ),
]


def counted(client: TestClient, route: str, body: dict[str, Any]) -> int:
    answer = client.post(route, json=body)
    assert answer.status_code == 200, answer.text
    assert "skipped" not in answer.json()
    return int(answer.json()["input_tokens"])


@pytest.mark.parametrize(
    ("route", "body", "countable", "skipped"),
    [(OPENAI, *case) for case in OPENAI_CASES] + [(ANTHROPIC, *case) for case in ANTHROPIC_CASES],
)
def test_what_is_skipped_is_said(
    client: TestClient,
    make_client: MakeClient,
    route: str,
    body: dict[str, Any],
    countable: dict[str, Any],
    skipped: list[tuple[str, str]],
) -> None:
    assert client.post(route, json=body).status_code == 400
    skipping = make_client(artifacts=state_of(client).settings.artifacts, uncountable="skip")
    by_setting, by_request = skipping.post(route, json=body), client.post(route, json={**body, "uncountable": "skip"})
    assert by_setting.json() == by_request.json()
    (OpenaiCountAnswer if route == OPENAI else AnthropicCountAnswer).model_validate_json(by_request.content)
    assert by_request.json()["skipped"] == [{"path": path, "type": kind} for path, kind in skipped]
    assert by_request.json()["input_tokens"] == counted(client, route, countable)
    assert skipping.post(route, json={**body, "uncountable": "refuse"}).status_code == 400
    nothing = client.post(route, json={**countable, "uncountable": "skip"}).json()
    assert (nothing["input_tokens"], nothing["skipped"]) == (counted(client, route, countable), [])


def test_calls_that_the_template_does_not_write_are_skipped_too(client: TestClient) -> None:
    made = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    answer = client.post(OPENAI, json={"input": [USER, made], "uncountable": "skip"})
    assert answer.json()["skipped"] == [{"path": "input[1]", "type": "calls of tools"}]


def test_what_is_wrong_is_never_skipped(client: TestClient) -> None:
    for route, body in (
        (OPENAI, {"input": [{"role": "nobody", "content": "a"}]}),
        (OPENAI, {"input": "a", "previous_response_id": "r"}),
        (OPENAI, {"input": [{"role": "user", "content": [{"type": "input_text"}]}]}),
        (ANTHROPIC, {"messages": [{"role": "user", "content": [{"text": "a"}]}]}),
        (ANTHROPIC, {"messages": [USER], "tools": [{"type": "custom"}]}),
        (ANTHROPIC, {"messages": [{"role": "user", "content": []}]}),
    ):
        assert client.post(route, json={**body, "uncountable": "skip"}).status_code == 400
    assert client.post(OPENAI, json={"input": "a", "uncountable": "drop"}).status_code == 400


def test_where_nothing_is_left_the_error_names_what_was_left_out(client: TestClient) -> None:
    for route, body, said in (
        (OPENAI, {"input": [{"type": "web_search_call", "id": "x"}]}, "input[0] of type 'web_search_call'"),
        (ANTHROPIC, {"messages": [{"role": "user", "content": [IMAGE]}]}, "messages[0].content[0] of type 'image'"),
    ):
        body = {**body, "uncountable": "skip"}
        answer = client.post(route, json=body)
        if answer.status_code == 200:
            assert answer.json()["skipped"]
        else:
            assert f"nothing is left to count: 1 left out, first {said}" in answer.text


def test_every_tool_that_is_not_written_is_listed_by_its_own_field(counting: TestClient) -> None:
    function = {"type": "function", "name": "f", "parameters": {}}
    tools = [function, {"type": "namespace", "name": "n", "tools": [function]}]
    body = {"model": "mute", "input": [USER], "tools": tools}
    assert counting.post(OPENAI, json=body).json()["error"]["param"] == "tools"
    answer = counting.post(OPENAI, json={**body, "uncountable": "skip"})
    assert [each["path"] for each in answer.json()["skipped"]] == ["tools[0]", "tools[1].tools[0]"]


@pytest.mark.parametrize("written", ["NaN", "-Infinity", "1e999", "[Infinity]"])
def test_numbers_that_json_does_not_have_are_refused_at_the_arguments(client: TestClient, written: str) -> None:
    arguments = f'{{"a": {written}}}'
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments}
    error = client.post(OPENAI, json={"input": [USER, call]}).json()["error"]
    assert error["param"] == "input[1].arguments"
    assert f"'{written.strip('[]')}' is not a number of JSON; send null or a string" in error["message"]
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
    error = client.post("/tokenize", json={"messages": [USER, message]}).json()["error"]
    assert error["param"] == "messages[1].tool_calls[0].function.arguments"


def test_a_surrogate_in_arguments_is_told_at_the_arguments(client: TestClient) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": "\\ud800"}'}
    assert client.post(OPENAI, json={"input": [USER, call]}).json()["error"]["param"] == "input[1].arguments"


def test_an_error_of_a_variable_names_the_field_of_the_request(client: TestClient) -> None:
    for route, body in (
        ("/tokenize", {"messages": [USER]}),
        (OPENAI, {"input": "a"}),
        (ANTHROPIC, {"messages": [USER]}),
    ):
        answer = client.post(route, json={**body, "chat_template_kwargs": {"messages": []}})
        assert answer.status_code == 400
        assert "chat_template_kwargs cannot set 'messages'" in answer.text
        assert "template_args" not in answer.text
