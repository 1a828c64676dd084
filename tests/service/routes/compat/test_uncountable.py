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
