"""A template that writes all that it is given, and what the counting routes make of a request."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

from service.routes.compat.anthropic import AnthropicCountAnswer
from service.routes.compat.openai import OpenaiCountAnswer

OPENAI, ANTHROPIC = "/v1/responses/input_tokens", "/v1/messages/count_tokens"
TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}{{ eos_token }}{% endif %}"
    "{% for m in messages %}{{ bos_token }}{{ m.role }}{% if m.name %} {{ m.name }}{% endif %}\n"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}"
    "{% for c in m.tool_calls %}<call>{{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor %}"
    "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}{{ bos_token }}assistant\n{% endif %}"
    "{{ reasoning_effort }}{{ enable_thinking }}"
)
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "description": "of a city", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]
WORDS = "the quick brown fox"


def counted(client: TestClient, messages: list[dict[str, Any]], **options: Any) -> int:
    body = {"messages": messages, "add_generation_prompt": True, "tokenizer": "tools", **options}
    answer = client.post("/count", json=body)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["count"])


def by_openai(client: TestClient, **body: Any) -> int:
    answer = client.post(OPENAI, json={"model": "gpt-x", **body})
    assert answer.status_code == 200, answer.text
    OpenaiCountAnswer.model_validate_json(answer.content)
    assert list(answer.json()) == ["object", "input_tokens"]
    return int(answer.json()["input_tokens"])


def by_anthropic(client: TestClient, **body: Any) -> int:
    answer = client.post(ANTHROPIC, json={"model": "claude-x", **body})
    assert answer.status_code == 200, answer.text
    AnthropicCountAnswer.model_validate_json(answer.content)
    assert list(answer.json()) == ["input_tokens"]
    return int(answer.json()["input_tokens"])


def call(id: str, arguments: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "weather", "arguments": arguments}}


def openai_error(answer: Any, status: int, code: str, param: str | None) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    error: dict[str, Any] = answer.json()["error"]
    assert list(error) == ["message", "type", "param", "code"]
    kind = "server_error" if status >= 500 else "invalid_request_error"
    assert (error["type"], error["code"], error["param"]) == (kind, code, param)
    return error


def anthropic_error(answer: Any, status: int, kind: str, place: str) -> str:
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert (list(body), body["type"], list(body["error"])) == (["type", "error"], "error", ["type", "message"])
    assert body["error"]["type"] == kind
    message: str = body["error"]["message"]
    assert message.startswith(place)
    return message
