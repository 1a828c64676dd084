"""OpenAI's and Anthropic's counting routes: every text of a request is in the count, what cannot be is refused."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.routes.compat import anthropic_blocks
from service.routes.compat.anthropic import AnthropicCountAnswer
from service.routes.compat.openai import OpenaiCountAnswer
from tests.service.conftest import MakeClient, state_of
from tokenizer_core import Tokenizer

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


@pytest.fixture(scope="module")
def counting(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    paths = {}
    for name, template in (
        ("tools", TEMPLATE),
        ("knowing", TEMPLATE + "{# developer #}"),
        ("mute", "{{ messages[0].content }}"),
    ):
        paths[name] = tmp_path_factory.mktemp("counting") / name
        framed.with_template(template).save(paths[name])
    parts = framed.with_template(TEMPLATE).parts
    named = replace(parts.settings, named_templates=(("tool_use", "{# developer #}" + TEMPLATE),))
    paths["two"] = tmp_path_factory.mktemp("counting") / "two"
    Tokenizer(replace(parts, settings=named)).save(paths["two"])
    return make_client(artifacts=tuple(map(str, paths.values())), models=("gpt-x=tools", "claude-x=tools"))


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
            "tool_calls": [call("c1", {"city": "Köln"}), call("c2", "no JSON")],
        },
        {"role": "tool", "name": "weather", "tool_call_id": "c1", "content": '{"t": 3}'},
        {"role": "tool", "name": "weather", "tool_call_id": "c2", "content": "none"},
        {"role": "assistant", "content": "I cannot"},
        {"role": "user", "content": "why"},
        {"role": "user", "content": "tell"},
    ]
    assert by_openai(counting, input=items) == counted(counting, messages)
    tools = [{"type": "function", "strict": True, **FUNCTION}]
    assert by_openai(counting, input=items, tools=tools) == counted(counting, messages, tools=TOOLS)
    effort = counted(counting, messages, template_args={"reasoning_effort": "high"})
    assert by_openai(counting, input=items, reasoning={"effort": "high"}) == effort > counted(counting, messages)


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
def test_texts_of_a_turn_are_joined_once(name: str) -> None:
    """One by one, each would copy those before it: four million characters took 15 seconds."""
    text, times = "a" * 1000, 4000
    block = {"type": "thinking", "thinking": text} if name == "reasoning_content" else {"type": "text", "text": text}
    start = time.thread_time()
    conversation = anthropic_blocks.read(None, [{"role": "assistant", "content": [block]}] * times)
    assert time.thread_time() - start < 2
    assert [message[name] for message in conversation.messages] == ["\n".join([text] * times)]


def test_anthropic_blocks_are_turns(counting: TestClient) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "one"},
        {"role": "user", "content": [{"type": "text", "text": "two", "cache_control": {"type": "ephemeral"}}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hmm", "signature": "s"},
                {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Köln"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "3 deg"}]},
                {"type": "tool_result", "tool_use_id": "cx"},
                {"type": "text", "text": "thanks"},
            ],
        },
    ]
    expected = [
        {"role": "system", "content": "be\nbrief"},
        {"role": "user", "content": "one\ntwo"},
        {
            "role": "assistant",
            "reasoning_content": "hmm",
            "content": "I look",
            "tool_calls": [call("c1", {"city": "Köln"})],
        },
        {"role": "tool", "name": "weather", "tool_call_id": "c1", "content": "3 deg"},
        {"role": "tool", "tool_call_id": "cx", "content": ""},
        {"role": "user", "content": "thanks"},
    ]
    system = [{"type": "text", "text": "be"}, {"type": "text", "text": "brief"}]
    assert by_anthropic(counting, system=system, messages=messages) == counted(counting, expected)
    tools = [{"name": "weather", "description": "of a city", "input_schema": SCHEMA}]
    assert by_anthropic(counting, system="be\nbrief", messages=messages, tools=tools) == counted(
        counting, expected, tools=TOOLS
    )
    for kind, enabled in (("enabled", True), ("disabled", False)):
        thinking = counted(counting, expected, template_args={"enable_thinking": enabled})
        assert by_anthropic(counting, system=system, messages=messages, thinking={"type": kind}) == thinking


def test_answer_that_the_caller_began_is_gone_on_with(counting: TestClient) -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "the quick"}]
    begun = counted(counting, messages, add_generation_prompt=False, continue_final_message=True)
    assert by_anthropic(counting, messages=messages) == begun < counted(counting, messages)
    assert by_openai(counting, input=messages) == counted(counting, messages)


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
            {"messages": [{"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}]},
            "messages[0].content[0].type: ",
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
