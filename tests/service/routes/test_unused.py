"""A message, tools or documents of which a template writes nothing are refused, or reported; drop-in routes answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.core.chat.conversations import TEMPLATES, built, call, tokenizer
from tests.service.conftest import MakeClient
from tests.service.problems import assert_problem
from tests.support.data import needs_data
from tokenizer_core import JsonList, MessageNotRendered, TemplateFailed, TokdError, Tokenizer, base_artifact

ROLES = (
    "{% for m in messages %}{% if m.role in ['user', 'assistant'] %}<{{ m.role }}>{{ m.content }}"
    "{{ m.tool_calls | tojson if m.tool_calls }}{% endif %}{% endfor %}"
)
USER = {"role": "user", "content": "hello"}
TOOLS = [{"type": "function", "function": {"name": "f"}}]

CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"messages": [USER]}, []),
    ({"messages": [USER, {"role": "User", "content": "lost"}]}, ["messages[1]"]),
    ({"messages": [{"role": "system", "content": "lost"}, USER, {"from": "human", "content": "x"}]}, ["messages[0]"]),
    ({"messages": [{"from": "human", "value": "x"}, USER]}, ["messages[0]"]),
    ({"messages": [USER, {"role": "tool", "content": [{"type": "text", "text": "lost"}]}]}, ["messages[1]"]),
    ({"messages": [USER, {"role": "assistant", "tool_calls": TOOLS, "content": ""}]}, []),
    ({"messages": [{"role": "system", "content": " \n"}, USER]}, []),
    ({"messages": [{"role": "note", "content": "<think>hm</think>"}, USER]}, []),
    ({"messages": [USER], "tools": TOOLS}, ["tools"]),
    ({"messages": [{"role": "User", "content": "lost", "reasoning": "hm"}, USER]}, ["messages[0]"]),
    ({"messages": [USER], "documents": [{"text": "lost"}], "tools": []}, ["documents"]),
]


@pytest.fixture(scope="module")
def routed(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path: Path = tmp_path_factory.mktemp("roles") / "roles"
    framed.with_template(ROLES).save(path)
    return make_client(artifacts=(str(path),))


@pytest.mark.parametrize(("body", "lost"), CASES)
@pytest.mark.parametrize("route", ["/encode", "/count", "/offsets", "/render"])
def test_what_leaves_no_trace_is_refused_or_reported(
    routed: TestClient, route: str, body: dict[str, Any], lost: list[str]
) -> None:
    answer = routed.post(route, json=body)
    if lost:
        assert_problem(answer, "message_not_rendered", lost[0])
    else:
        assert answer.status_code == 200, answer.text
        assert "unused" not in answer.json()
    reported = routed.post(route, json={**body, "unused": "report"})
    assert reported.json()["unused"][:1] == lost
    many = routed.post(route, json={**body, "messages": [[USER], body["messages"]], "unused": "report"})
    shared = [name for name in lost if not name.startswith("messages")]
    assert [each[:1] for each in many.json()["unused"]] == [shared, lost]


@pytest.mark.parametrize("name", ["reasoning_content", "thinking", "reasoning"])
def test_reasoning_that_leaves_no_trace_is_reported_and_never_refused(routed: TestClient, name: str) -> None:
    chat = [USER, {"role": "assistant", "content": "x", name: "hm"}, {"role": "assistant", "content": "", name: "hm"}]
    for route in ("/encode", "/count", "/offsets", "/render"):
        assert routed.post(route, json={"messages": chat}).status_code == 200
        reported = routed.post(route, json={"messages": chat, "unused": "report"}).json()["unused"]
        assert reported == [f"messages[1].{name}", f"messages[2].{name}"]
    kept = built("{% for m in messages %}{{ m.reasoning_content if loop.last }}{{ m.content }}{% endfor %}")
    assert kept.render_chat(chat).unused() == [f"messages[1].{name}"]
    kept.render_chat(chat).require_all_used()
    blank = [USER, {"role": "assistant", "content": "x", name: " \n"}]
    assert kept.render_chat(blank[::-1]).unused() == []


def test_sharegpt_s_form_is_named(routed: TestClient) -> None:
    messages = [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}]
    for route in ("/encode", "/count", "/render"):
        detail = assert_problem(routed.post(route, json={"messages": messages}), "message_not_rendered", "messages[0]")
        assert 'rename "from" to "role" ("human" to "user", "gpt" to "assistant") and "value"' in detail["detail"]
    failing = built("{% for m in messages %}{{ m['role'].upper() }}{% endfor %}")
    with pytest.raises(TemplateFailed) as caught:
        failing.render_chat(messages)
    assert 'messages[0] has "from" and no "role"' in str(caught.value)


def test_the_library_tells_and_drop_in_routes_answer(routed: TestClient, framed: Tokenizer) -> None:
    body, lost = CASES[1]
    rendered = framed.with_template(ROLES).render_chat(body["messages"])
    assert rendered.unused() == lost
    with pytest.raises(MessageNotRendered):
        rendered.require_all_used()
    assert routed.post("/tokenize", json=body).status_code == 200


def test_calls_beside_content_that_leave_no_trace_are_refused_where_labels_are_made(make_client: MakeClient) -> None:
    client, base = make_client(), Tokenizer.open(base_artifact())
    chat = [USER, {"role": "assistant", "content": "2", "tool_calls": TOOLS}]
    for body, field in ((chat, "messages[1].tool_calls"), ([[USER], chat], "messages[1][1].tool_calls")):
        answer = client.post("/encode", json={"messages": body, "return": ["ids", "labels"]})
        assert_problem(answer, "message_not_rendered", field)
        assert client.post("/encode", json={"messages": body}).status_code == 200
    body = {"messages": chat, "unused": "report", "return": ["labels"]}
    reported = client.post("/encode", json=body).json()
    assert reported["unused"] == ["messages[1].tool_calls"]
    assert max(reported["labels"]) > 0
    for train_on in ("assistant", "all"):
        packed = {"examples": [{"messages": chat}], "length": 64, "train_on": train_on}
        assert_problem(client.post("/pack", json=packed), "message_not_rendered", "examples[0].messages[1].tool_calls")
    for content in ("2", ""):
        with pytest.raises(MessageNotRendered) as caught:
            base.encode_chat([USER, {**chat[1], "content": content}]).labels()
        assert caught.value.place == {"field": "messages[1].tool_calls"}
    assert base.encode_chat(chat, continue_final_message=True).labels().max() > 0
    framed = base.with_template(ROLES).encode_chat(chat)
    assert framed.rendered.unused() == []
    assert framed.labels().max() > 0


@pytest.mark.parametrize(
    ("written", "lost"),
    [
        ("m.tool_calls", []),
        ("m.tool_calls | tojson", []),
        ("m.tool_calls[0].function.name", ["messages[1].tool_calls[1]", "messages[1].tool_calls[2]"]),
        ("m.tool_calls[1].function | tojson", ["messages[1].tool_calls[0]", "messages[1].tool_calls[2]"]),
        ("m.tool_calls[1:] | map(attribute='function.name') | join", ["messages[1].tool_calls[0]"]),
        ("m.tool_calls | length", ["messages[1].tool_calls"]),
    ],
)
def test_each_call_that_leaves_no_trace_is_told_however_its_key_is_spelled(written: str, lost: list[str]) -> None:
    template = "{% for m in messages %}{{ m.content }}{% if m.tool_calls %}{{ " + written + " }}{% endif %}{% endfor %}"
    tok = Tokenizer.open(base_artifact()).with_template(template)
    calls = [{"function": {"name": name, "arguments": {}}} for name in ("f", "f", "g")]
    body = json.dumps([USER, {"role": "assistant", "content": "2", "tool_calls": calls}]).encode()
    for sent in (body, body.replace(b"tool_calls", b"tool\\u005fcalls")):
        chat = tok.encode_chat(JsonList(sent))
        assert chat.rendered.unused() == lost
        chat.rendered.require_all_used()
        if not lost:
            assert chat.labels() is not None
            continue
        with pytest.raises(MessageNotRendered) as caught:
            chat.labels()
        assert caught.value.place == {"field": lost[0]}


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
def test_no_real_template_that_writes_calls_is_said_to_lose_them(template: str) -> None:
    tok = tokenizer(template)
    for content in ("", "let me", None):
        for arguments in ({"city": "x"}, '{"city": "x"}', {}):
            calls = [*call(arguments), {**call(arguments)[0], "id": "abcdefghj"}]
            calls[1]["function"] = {**calls[1]["function"], "name": "get_time"}
            for made in (calls, calls[:1]):
                chat = [USER, {"role": "assistant", "content": content, "tool_calls": made}]
                try:
                    rendered = tok.render_chat(chat, content_format="auto")
                except TokdError:
                    continue
                lost = set(rendered.unused())
                for at, name in enumerate(("get_weather", "get_time")[: len(made)]):
                    places = {"messages[1]", "messages[1].tool_calls", f"messages[1].tool_calls[{at}]"}
                    assert lost.isdisjoint(places) is (name in rendered.text)
