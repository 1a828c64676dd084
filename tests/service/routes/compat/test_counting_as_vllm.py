"""OpenAI's and Anthropic's counting routes: a request is given to the template as vLLM gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.service.conftest import MakeClient
from tests.service.routes.compat.counting import (
    FUNCTION,
    SCHEMA,
    TEMPLATE,
    TOOLS,
    WORDS,
    by_anthropic,
    by_openai,
    call,
    counted,
)
from tokenizer_core import Tokenizer


def test_openai_text_is_what_a_user_says(counting: TestClient) -> None:
    user = {"role": "user", "content": WORDS}
    assert by_openai(counting, input=WORDS) == counted(counting, [user])
    expected = counted(counting, [{"role": "system", "content": "be brief"}, user])
    assert by_openai(counting, input=WORDS, instructions="be brief") == expected
    assert by_openai(counting, instructions="be brief") == counted(
        counting, [{"role": "system", "content": "be brief"}]
    )


def test_openai_items_are_turns(counting: TestClient) -> None:
    items: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]},
        {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "hmm"}]},
        {
            "type": "message",
            "role": "assistant",
            "id": "m",
            "content": [{"type": "output_text", "text": "I look", "annotations": []}],
        },
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Köln"}'},
        {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": "no JSON"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"t": 3}'},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "none"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot"}]},
        {"role": "user", "content": "why"},
        {"role": "user", "content": "tell"},
    ]
    messages = [
        {"role": "user", "content": "one\ntwo"},
        {
            "role": "assistant",
            "reasoning_content": "hmm",
            "content": "I look",
            "tool_calls": [call("c1", {"city": "Köln"}), call("c2", {})],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"t": 3}'},
        {"role": "tool", "tool_call_id": "c2", "content": "none"},
        {"role": "assistant", "content": "I cannot"},
        {"role": "user", "content": "why"},
        {"role": "user", "content": "tell"},
    ]
    assert by_openai(counting, input=items) == counted(counting, messages)
    tools = [{"type": "function", "strict": True, **FUNCTION}]
    strict = [{"type": "function", "function": {**FUNCTION, "strict": True}}]
    assert by_openai(counting, input=items, tools=tools) == counted(counting, messages, tools=strict)


def test_developers_are_heard_by_every_template(counting: TestClient) -> None:
    items = [{"role": "developer", "content": "be brief"}, {"role": "user", "content": "a"}]
    as_system = [{**items[0], "role": "system"}, items[1]]
    assert by_openai(counting, input=items) == counted(counting, as_system)
    assert by_openai(counting, input=items, model="knowing") == counted(counting, items)


def test_a_developer_is_heard_by_the_template_that_is_chosen(counting: TestClient) -> None:
    items = [{"role": "developer", "content": "be brief"}, {"role": "user", "content": "a"}]
    as_system = [{**items[0], "role": "system"}, items[1]]
    assert counted(counting, items, tokenizer="two") != counted(counting, as_system, tokenizer="two")
    assert by_openai(counting, input=items, model="two") == counted(counting, as_system, tokenizer="two")
    tools = [{"type": "function", **FUNCTION}]
    with_tools = counted(counting, items, tokenizer="two", tools=TOOLS)
    assert by_openai(counting, input=items, model="two", tools=tools) == with_tools


def test_anthropic_blocks_are_turns(counting: TestClient) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "one"},
        {"role": "user", "content": [{"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "thinking", "thinking": "m", "signature": "s"},
                {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Köln"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "thanks"},
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "3 deg"}] * 2},
                {"type": "tool_result", "tool_use_id": "cx"},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "cy", "content": "4"}]},
    ]
    expected = [
        {"role": "system", "content": "bebrief"},
        {"role": "user", "content": "one"},
        {"role": "user", "content": "two"},
        {
            "role": "assistant",
            "reasoning_content": "hmm",
            "content": "I look",
            "tool_calls": [call("c1", {"city": "Köln"})],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "3 deg\n3 deg"},
        {"role": "tool", "tool_call_id": "cx", "content": ""},
        {"role": "user", "content": "thanks"},
        {"role": "tool", "tool_call_id": "cy", "content": "4"},
    ]
    system = [{"type": "text", "text": "be"}, {"type": "text", "text": "brief"}]
    assert by_anthropic(counting, system=system, messages=messages) == counted(counting, expected)
    tools = [{"name": "weather", "description": "of a city", "input_schema": SCHEMA}]
    assert by_anthropic(counting, system="bebrief", messages=messages, tools=tools) == counted(
        counting, expected, tools=TOOLS
    )


@pytest.mark.parametrize(
    "content", ["", "abc", [{"type": "thinking", "thinking": "hm"}], [{"type": "text", "text": ""}]]
)
def test_last_turn_of_the_assistant_is_closed_whatever_it_holds(counting: TestClient, content: Any) -> None:
    """As in vLLM, where the ids are spent: Anthropic's own models go on with the turn."""
    said = {"reasoning_content": "hm"} if isinstance(content, list) and "thinking" in content[0] else {}
    message = {"role": "assistant", "content": content if isinstance(content, str) else "", **said}
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": content}]
    assert by_anthropic(counting, messages=messages) == counted(counting, [messages[0], message])


@pytest.mark.parametrize("status", ["in_progress", "incomplete", "completed", None])
def test_message_that_is_not_complete_is_gone_on_with(counting: TestClient, status: str | None) -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "the quick"}]
    begun = status in ("in_progress", "incomplete")
    expected = counted(counting, messages, add_generation_prompt=not begun, continue_final_message=begun)
    assert by_openai(counting, input=[messages[0], {**messages[1], "status": status}]) == expected


def test_what_the_assistant_says_twice_is_two_messages(counting: TestClient) -> None:
    says, thinks = (
        {"role": "assistant", "content": "b"},
        {"type": "reasoning", "content": [{"type": "text", "text": "c"}]},
    )
    messages = [{**says, "reasoning_content": "c"}, {"role": "assistant", "content": "", "reasoning_content": "c"}]
    assert by_openai(counting, input=[says, thinks, thinks]) == counted(counting, messages)
    assert by_openai(counting, input=[says, says]) == counted(counting, [says, says])


@pytest.mark.parametrize("nothing", ["", None])
def test_nothing_for_the_system_is_no_turn(counting: TestClient, nothing: str | None) -> None:
    user = [{"role": "user", "content": "a"}]
    assert by_openai(counting, input="a", instructions=nothing) == counted(counting, user)
    for system in (
        nothing,
        [],
        [{"type": "text", "text": ""}],
        [{"type": "text", "text": "x-anthropic-billing-header: 1"}],
    ):
        assert by_anthropic(counting, messages=user, system=system) == counted(counting, user)
    inline = {"role": "system", "content": "x-anthropic-billing-header: 1"}
    assert by_anthropic(counting, messages=[*user, inline]) == counted(counting, user)


@pytest.mark.parametrize("kwargs", [{}, {"enable_thinking": True}, {"reasoning_effort": "low", "x": 1}])
def test_effort_and_thinking_are_variables_as_in_vllm(counting: TestClient, kwargs: dict[str, Any]) -> None:
    user = [{"role": "user", "content": "a"}]

    def given(effort: str | None) -> int:
        own = {} if effort is None else {"enable_thinking": effort != "none", **kwargs, "reasoning_effort": effort}
        return counted(counting, user, template_args=own or kwargs)

    for effort in ("high", "none", None):
        by_effort = {} if effort is None else {"effort": effort}
        assert by_openai(counting, input="a", reasoning=by_effort, chat_template_kwargs=kwargs) == given(effort)
        for thinking in (None, {"type": "enabled", "budget_tokens": 9}, {"type": "adaptive"}, {"type": "disabled"}):
            off = thinking is not None and thinking["type"] == "disabled"
            assert by_anthropic(
                counting, messages=user, output_config=by_effort, thinking=thinking, chat_template_kwargs=kwargs
            ) == given("none" if off else effort)


def test_choice_of_a_tool_is_no_variable_as_in_vllm(make_client: MakeClient, framed: Tokenizer, tmp_path: Path) -> None:
    framed.with_template(TEMPLATE + "{{ tool_choice | tojson if tool_choice }}").save(tmp_path / "choosing")
    client = make_client(artifacts=(str(tmp_path / "choosing"),), models=("gpt-x=choosing", "claude-x=choosing"))
    user = [{"role": "user", "content": "a"}]
    named = {"type": "function", "function": {"name": "weather"}}
    expected = counted(client, user, tokenizer="choosing", tools=TOOLS)
    for sent, choice in (
        (None, None),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "weather"}, named),
    ):
        openai = [{"type": "function", **FUNCTION}]
        anthropic = [{"name": "weather", "description": "of a city", "input_schema": SCHEMA}]
        assert by_openai(client, input="a", tools=openai, tool_choice=choice) == expected
        assert by_anthropic(client, messages=user, tools=anthropic, tool_choice=sent) == expected
    assert by_openai(client, input="a", tool_choice="required") == counted(client, user, tokenizer="choosing")


def test_tools_of_namespaces_are_called_as_in_vllm(counting: TestClient) -> None:
    tools = [{"type": "namespace", "name": "mcp", "tools": [{"type": "function", **FUNCTION}]}]
    given = [{"type": "function", "function": {**FUNCTION, "name": "mcp__weather"}}]
    called = {"type": "function_call", "call_id": "c", "name": "weather", "namespace": "mcp", "arguments": "{}"}
    made = call("c", {})
    made["function"]["name"] = "mcp__weather"
    expected = counted(counting, [{"role": "assistant", "content": "", "tool_calls": [made]}], tools=given)
    assert by_openai(counting, input=[called], tools=tools) == expected


def test_tools_that_lack_fields_have_them_null(counting: TestClient) -> None:
    given = [{"type": "function", "function": {"name": "f", "description": None, "parameters": None}}]
    user = [{"role": "user", "content": "a"}]
    assert by_openai(counting, input="a", tools=[{"type": "function", "name": "f"}]) == counted(
        counting, user, tools=given
    )
    assert by_anthropic(counting, messages=user, tools=[{"name": "f"}]) == counted(counting, user, tools=given)
