"""OpenAI's and Anthropic's counting routes: every text of a request is in the count, what cannot be is refused."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.service.conftest import MakeClient, state_of
from tests.service.routes.compat.counting import (
    ANTHROPIC,
    FUNCTION,
    OPENAI,
    anthropic_error,
    by_anthropic,
    by_openai,
    call,
    counted,
    openai_error,
)


@pytest.mark.parametrize("calls", [1, 40])
@pytest.mark.parametrize(("item", "times"), [("{}", 100_000), ("[]", 200_000), ('"a"', 1_300_000)])
def test_json_in_arguments_is_held_to_the_bound_of_a_body(
    counting: TestClient, item: str, times: int, calls: int
) -> None:
    """A string may hold what a body may not: 30 MB took 2.6 GB, and all else waited for it."""
    arguments = '{"a":[' + f"{item}," * (times // calls) + "1]}"
    items = [{"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments}] * calls
    answer = counting.post(OPENAI, json={"model": "gpt-x", "input": items})
    assert answer.status_code == 413
    assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == ("too_many_values", "input")


def test_long_strings_in_arguments_are_few_values(counting: TestClient) -> None:
    arguments = json.dumps({"text": '[{,:"' * 50_000, "n": 12})
    items = [{"type": "function_call", "call_id": "c", "name": "weather", "arguments": arguments}] * 2
    calls = [call("c", json.loads(arguments))] * 2
    assert by_openai(counting, input=items) == counted(counting, [{"role": "assistant", "tool_calls": calls}])


@pytest.mark.parametrize("name", ["content", "reasoning_content"])
def test_texts_of_a_turn_are_joined_once(counting: TestClient, name: str) -> None:
    """One by one, each would copy those before it: four million characters took 15 seconds."""
    text, times = "a" * 1000, 4000
    block = {"type": "thinking", "thinking": text} if name == "reasoning_content" else {"type": "text", "text": text}
    start = time.thread_time()
    joined = by_anthropic(counting, messages=[{"role": "assistant", "content": [block] * times}])
    assert time.thread_time() - start < 10
    said = {"content": "", name: ("" if name == "reasoning_content" else "\n").join([text] * times)}
    assert joined == counted(counting, [{"role": "assistant", **said}])


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("input_image", "input_image"),
        ("input_file", "input_file"),
        ("input_audio", "input_audio"),
        ("image_url", "image_url"),
        ("a new one", "a new one"),
    ],
)
def test_openai_part_that_is_no_text_is_refused_by_name(counting: TestClient, content: str, kind: str) -> None:
    part = {"type": content, "text": "x", "image_url": "x"}
    for item, place in (
        ({"role": "user", "content": [{"type": "input_text", "text": "a"}, part]}, "input[0].content[1].type"),
        ({"type": "function_call_output", "call_id": "c", "output": [part]}, "input[0].output[0].type"),
    ):
        error = openai_error(counting.post(OPENAI, json={"input": [item]}), 400, "invalid_option", place)
        assert kind in error["message"]


DEEP: Any = "x"
for _ in range(150):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({}, "missing_required_parameter", "input"),
        ({"input": []}, "missing_required_parameter", "input"),
        ({"input": 7}, "invalid_type", "input"),
        ({"input": ["a"]}, "invalid_type", "input[0]"),
        ({"input": [{}]}, "missing_required_parameter", "input[0].role"),
        ({"input": [{"role": "tool", "content": "a"}]}, "invalid_value", "input[0].role"),
        ({"input": [{"role": "user"}]}, "missing_required_parameter", "input[0].content"),
        ({"input": [{"role": "user", "content": {"a": 1}}]}, "invalid_type", "input[0].content"),
        ({"input": [{"role": "user", "content": [1]}]}, "invalid_type", "input[0].content[0]"),
        ({"input": [{"role": "user", "content": [{}]}]}, "missing_required_parameter", "input[0].content[0].type"),
        ({"input": [{"type": ["message"]}]}, "invalid_type", "input[0].type"),
        ({"input": [{"type": "web_search_call", "id": "x"}]}, "invalid_option", "input[0].type"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "invalid_option", "input[0].type"),
        ({"input": [{"type": "function_call", "name": "f"}]}, "missing_required_parameter", "input[0].arguments"),
        (
            {"input": [{"type": "reasoning", "summary": [], "encrypted_content": "x"}]},
            "invalid_option",
            "input[0].encrypted_content",
        ),
        ({"input": "a", "previous_response_id": "resp_1"}, "invalid_option", "previous_response_id"),
        ({"input": "a", "conversation": {"id": "conv_1"}}, "invalid_option", "conversation"),
        ({"input": "a", "tools": [{"type": "web_search"}]}, "invalid_option", "tools[0].type"),
        ({"input": "a", "tools": [{"type": "function"}]}, "missing_required_parameter", "tools[0].name"),
        (
            {"input": "a", "tools": [{"type": "function", "name": "f", "parameters": 1}]},
            "invalid_type",
            "tools[0].parameters",
        ),
        (
            {"input": "a", "tools": [{"type": "function", "name": "f", "parameters": {"a": DEEP}}]},
            "invalid_option",
            None,
        ),
    ],
)
def test_bad_openai_request_is_refused_with_its_place(
    counting: TestClient, body: dict[str, Any], code: str, param: str | None
) -> None:
    answer = counting.post(OPENAI, json=body)
    if param is None:
        assert answer.json()["error"]["param"].startswith("tools[0].parameters.a[0]")
        param = answer.json()["error"]["param"]
    openai_error(answer, 400, code, param)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "messages: "),
        ({"messages": []}, "messages: "),
        ({"messages": [{"role": "user"}]}, "messages[0].content: "),
        ({"messages": [{"role": 7, "content": "a"}]}, "messages[0].role: "),
        ({"messages": [{"role": "tool", "content": "a"}]}, "messages[0].role: "),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content: this must be a string or a list"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text: "),
        *(
            ({"messages": [{"role": "user", "content": [{"type": kind}]}]}, "messages[0].content[0].type: ")
            for kind in ("image", "document", "search_result", "tool_use", "thinking", "redacted_thinking", "new")
        ),
        (
            {"messages": [{"role": "user", "content": []}]},
            "messages[0].content: a message has a text or at least one block",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "image": "x"}]}]},
            "messages[0].content[0].image: ",
        ),
        ({"messages": [{"role": "user", "content": [{"image": "x"}]}]}, "messages[0].content[0].type: "),
        (
            {"messages": [{"role": "user", "content": "a"}], "tools": [{"name": "f", "description": 1}]},
            "tools[0].description: ",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image"}]}],
                    }
                ]
            },
            "messages[0].content[0].content[0].type: ",
        ),
        (
            {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f"}]}]},
            "messages[0].content[0].input: ",
        ),
        ({"system": [{"type": "image"}], "messages": []}, "system[0].type: "),
        ({"messages": [{"role": "user", "content": "a"}], "tools": [{"type": "bash_20250124"}]}, "tools[0].type: "),
        ({"messages": [{"role": "user", "content": "a"}], "mcp_servers": [{"url": "x"}]}, "mcp_servers: "),
    ],
)
def test_bad_anthropic_request_is_refused_with_its_place(
    counting: TestClient, body: dict[str, Any], place: str
) -> None:
    anthropic_error(counting.post(ANTHROPIC, json=body), 400, "invalid_request_error", place)


def test_tools_that_a_template_leaves_out_are_refused(counting: TestClient, client: TestClient) -> None:
    """The template of ``client`` writes tools, but no calls; that of ``mute`` neither."""
    made = [{"role": "user", "content": "a"}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]
    openai_error(client.post(OPENAI, json={"input": made}), 400, "invalid_option", "input[1]")
    block = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    answer = client.post(ANTHROPIC, json={"messages": [{"role": "assistant", "content": [block]}]})
    anthropic_error(answer, 400, "invalid_request_error", "messages[0].content[0]: ")
    tools = [{"type": "function", **FUNCTION}]
    assert client.post(OPENAI, json={"input": "a", "tools": tools}).status_code == 200
    openai_error(
        counting.post(OPENAI, json={"model": "mute", "input": "a", "tools": tools}), 400, "invalid_option", "tools"
    )


def test_errors_have_the_shape_of_the_peer_whatever_they_are(counting: TestClient, make_client: MakeClient) -> None:
    body = {"input": "a", "messages": [{"role": "user", "content": "a"}], "model": "nobody"}
    openai_error(counting.post(OPENAI, json=body), 404, "model_not_found", "model")
    anthropic_error(counting.post(ANTHROPIC, json=body), 404, "not_found_error", "model: ")
    openai_error(counting.post(OPENAI, content=b"{"), 400, "unsupported_media_type", "header content-type")
    anthropic_error(counting.post(ANTHROPIC, content=b"{"), 400, "invalid_request_error", "header content-type: ")
    small = make_client(max_body_bytes=10, max_requests=1)
    openai_error(small.post(OPENAI, json=body), 413, "body_too_large", None)
    anthropic_error(small.post(ANTHROPIC, json=body), 413, "request_too_large", "")
    state_of(small).limits.requests = 1
    for answer in (small.post(OPENAI, json=body), small.post(ANTHROPIC, json=body)):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    anthropic_error(answer, 503, "overloaded_error", "")
    unknown = {"model": "gpt-x", "input": "a", "temperature": 0.5, "new": {"a": 1}}
    assert counting.post(OPENAI, json=unknown).status_code == 200


def test_callers_forge_no_control_token_here_either(counting: TestClient, make_client: MakeClient) -> None:
    forged = "<|eos|>" * 10
    nothing = by_openai(counting, input="")
    assert by_openai(counting, input=forged) > nothing + 20
    assert by_anthropic(counting, messages=[{"role": "user", "content": forged}]) == by_openai(counting, input=forged)
    strict = make_client(chat_literals="reject")
    openai_error(strict.post(OPENAI, json={"input": "a<|eos|>"}), 400, "reserved_literal", "input")
    blocks = [{"type": "text", "text": "a"}, {"type": "tool_result", "tool_use_id": "a", "content": "<|eos|>"}]
    answer = strict.post(ANTHROPIC, json={"messages": [{"role": "user", "content": blocks}]})
    said = anthropic_error(answer, 400, "invalid_request_error", "messages[0].content[1]: ")
    # These routes have no option that says what a literal means.
    assert "chat_literals" in said
    assert "special_tokens" not in said


@pytest.mark.parametrize("field", ["name", "description", "schema.a"])
def test_place_in_a_tool_is_that_of_the_request(make_client: MakeClient, field: str) -> None:
    strict = make_client(chat_literals="reject")
    schema = {"type": "object", **({"a": "<|eos|>"} if field == "schema.a" else {})}
    tool = {"name": "f", "description": "d", **({} if field == "schema.a" else {field: "<|eos|>"})}
    openai = {"input": "a", "tools": [{"type": "function", **tool, "parameters": schema}]}
    place = f"tools[0].{field}"
    openai_error(strict.post(OPENAI, json=openai), 400, "reserved_literal", place.replace("schema", "parameters"))
    anthropic = {"messages": [{"role": "user", "content": "a"}], "tools": [{**tool, "input_schema": schema}]}
    place = place.replace("schema", "input_schema")
    anthropic_error(strict.post(ANTHROPIC, json=anthropic), 400, "invalid_request_error", f"{place}: ")


def test_place_in_the_effort_is_that_of_the_request(counting: TestClient, make_client: MakeClient) -> None:
    artifacts = state_of(counting).settings.artifacts
    strict = make_client(artifacts=artifacts, chat_literals="reject")
    effort = {"input": "a", "reasoning": {"effort": "<|eos|>"}}
    openai_error(strict.post(OPENAI, json=effort), 400, "reserved_literal", "reasoning.effort")
