"""System messages after the first, as Codex and Claude Code send them: none is lost, none makes a chat uncountable."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.core.chat.conversations import TEMPLATES, tokenizer
from tests.service.conftest import MakeClient
from tests.support.data import needs_data
from tokenizer_core import Tokenizer

OPENAI, ANTHROPIC = "/v1/responses/input_tokens", "/v1/messages/count_tokens"
EACH = "{% for m in messages %}{{ bos_token }}{{ m.role }} {{ m.content }}{{ eos_token }}{% endfor %}"
FIRST = "{% for m in messages %}{% if loop.first or m.role != 'system' %}" + EACH[26:-12] + "{% endif %}{% endfor %}"
REFUSING = (
    "{% for m in messages[1:] %}{% if m.role == 'system' %}{{ raise_exception('a system message is the first') }}"
    "{% endif %}{% endfor %}" + EACH
)
USER = {"role": "user", "content": "why"}
SYSTEM, INLINE = {"role": "system", "content": "be brief"}, {"role": "system", "content": "use tools"}


@pytest.fixture(scope="module")
def folding(make_client: MakeClient, framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    paths = []
    for name, template in (("each", EACH), ("first", FIRST), ("refusing", REFUSING)):
        paths.append(tmp_path_factory.mktemp("folding") / name)
        framed.with_template(template).save(paths[-1])
    return make_client(artifacts=tuple(map(str, paths)))


def count(client: TestClient, model: str, messages: list[dict[str, Any]]) -> int:
    body = {"tokenizer": model, "messages": messages, "add_generation_prompt": True}
    answer = client.post("/count", json=body)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["count"])


def ask(client: TestClient, route: str, **body: Any) -> int:
    answer = client.post(route, json=body)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["input_tokens"])


@pytest.mark.parametrize("model", ["first", "refusing"])
def test_system_messages_are_folded_where_the_template_does_not_write_them(folding: TestClient, model: str) -> None:
    blocks = [USER, INLINE, USER]
    folded = [{"role": "system", "content": "be briefuse tools"}, USER, USER]
    assert ask(folding, ANTHROPIC, model=model, system="be brief", messages=blocks) == count(folding, model, folded)
    hoisted = [INLINE, USER, USER]
    assert ask(folding, ANTHROPIC, model=model, messages=blocks) == count(folding, model, hoisted)
    joined = [{"role": "system", "content": "be brief\nuse tools"}, USER]
    items = [{"role": "developer", "content": "use tools"}, USER]
    merged = [{"role": "system", "content": "be brief\n\nuse tools"}, USER]
    assert ask(folding, OPENAI, model=model, instructions="be brief", input=items) == count(folding, model, merged)
    assert ask(folding, OPENAI, model=model, instructions="be brief", input=[USER, INLINE]) == count(
        folding, model, joined
    )


def test_system_messages_stay_where_the_template_writes_them(folding: TestClient) -> None:
    messages = [SYSTEM, USER, INLINE, USER]
    assert ask(folding, ANTHROPIC, model="each", system="be brief", messages=messages[1:]) == count(
        folding, "each", messages
    )
    assert ask(folding, OPENAI, model="each", instructions="be brief", input=messages[1:]) == count(
        folding, "each", messages
    )


def test_place_of_a_folded_text_is_its_own(folding: TestClient, make_client: MakeClient, framed: Tokenizer) -> None:
    strict = make_client(chat_literals="reject")
    forged = {"role": "system", "content": "<|eos|>"}
    answer = strict.post(OPENAI, json={"instructions": "a", "input": [USER, forged]})
    assert answer.json()["error"]["param"] == "input[1]"


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
def test_no_real_template_loses_a_second_system_message(make_client: MakeClient, tmp_path: Any, template: str) -> None:
    """gpt-oss writes the first only: a request counted 120 tokens, whether the second had one word or 200."""
    tokenizer(template).save(tmp_path / "real")
    client = make_client(artifacts=(str(tmp_path / "real"),))
    one = client.post(OPENAI, json={"instructions": "be brief", "input": [USER]})
    if one.status_code != 200:
        pytest.skip("the template takes no system message")
    said = {"role": "assistant", "content": "because"}
    for items in ([INLINE, USER], [{**INLINE, "role": "developer"}, USER], [USER, said, INLINE, USER]):
        few = ask(client, OPENAI, instructions="be brief", input=items)
        many = [{**item, "content": "word " * 200} if item["content"] == "use tools" else item for item in items]
        assert ask(client, OPENAI, instructions="be brief", input=many) > few + 200
