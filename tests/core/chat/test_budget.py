"""Chats that are rendered together: what they share is tracked once, and what they take is counted together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.core.chat import conversations
from tests.support import vocabularies
from tokenizer_core import ChatRenderer, InvalidOption, RenderedChat, TemplateLimit, TokdError

CHAT = [{"role": "user", "content": "What is the weather like in Zürich?"}]
CHATS: list[list[dict[str, Any]]] = [CHAT, [*CHAT, {"role": "assistant", "content": "3 <deg>"}], CHAT]
ARGUMENTS = {"functions": "", "datetime": "", "date_string": "", "names": ["a", 7]}
WRITES_ALL = "{{ tools | tojson }}{{ names }}{{ documents }}{% for m in messages %}{{ m | tojson }}{% endfor %}"
SLOW = (
    "{{ messages[0].content }}"
    "{% for i in range(14) %}{% for j in range(9000) %}{{ 'a' if j == 0 }}{% endfor %}{% endfor %}"
)
"""Takes some three million of the four million steps of a request and two million of a chat."""

MANY = 600


def test_chats_that_are_rendered_together_are_as_those_that_are_alone() -> None:
    tok = vocabularies.tokenizer("tiny").with_template(WRITES_ALL)
    options: dict[str, Any] = {
        "tools": conversations.TOOLS,
        "documents": [{"title": "t", "n": 1}],
        "template_args": ARGUMENTS,
    }
    renderer = tok.chat_renderer(**options)
    for chat in CHATS:
        together, alone = renderer.render(chat), tok.render_chat(chat, **options)
        assert (together.text, together.spans, together.roles) == (alone.text, alone.spans, alone.roles)
        encoded = tok.encode_chat(together)
        assert encoded.ids.tolist() == tok.encode_chat(chat, **options).ids.tolist()
        offsets, rendered = tok.chat_offsets(together)
        assert (offsets.ids.tolist(), rendered) == (encoded.ids.tolist(), together)


@pytest.mark.parametrize("template", conversations.TEMPLATES)
def test_real_templates_keep_nothing_of_one_chat_for_the_next(template: str) -> None:
    tok = conversations.tokenizer(template)
    options: dict[str, Any] = {"tools": conversations.TOOLS, "template_args": ARGUMENTS}
    renderer = tok.chat_renderer(**options)
    for chat in (*conversations.CONVERSATIONS.values(), *conversations.CONVERSATIONS.values()):
        assert _outcome(renderer.render, chat) == _outcome(tok.chat_renderer(**options).render, chat)


def test_what_chats_share_counts_once() -> None:
    tok = vocabularies.tokenizer("tiny").with_template("x")
    renderers = tok.chat_renderer(), tok.chat_renderer(tools=conversations.TOOLS)
    brought = []
    for renderer in renderers:
        renderer.render(CHAT)
        first = left(renderer)
        renderer.render(CHAT)
        brought.append(left(renderer) - first)
    assert brought[0] == brought[1]
    assert left(renderers[1]) > left(renderers[0])


def test_a_rendered_chat_takes_no_options() -> None:
    tok = vocabularies.tokenizer("tiny").with_template("x")
    with pytest.raises(InvalidOption) as caught:
        tok.encode_chat(tok.render_chat(CHAT), tools=conversations.TOOLS)
    assert caught.value.place["field"] == "tools"


def test_work_of_chats_is_counted_together() -> None:
    tok = vocabularies.tokenizer("tiny").with_template(SLOW)
    renderer = tok.chat_renderer()
    for _ in range(2):
        renderer.render(CHAT)
    with pytest.raises(TemplateLimit, match="send fewer chats"):
        _render_many(renderer)
    for _ in range(3):
        tok.render_chat(CHAT)


def test_chats_behind_many_bring_less() -> None:
    renderer = vocabularies.tokenizer("tiny").with_template("x").chat_renderer()
    brought = []
    for _ in range(MANY):
        before = left(renderer)
        renderer.render(CHAT)
        brought.append(left(renderer) - before)
    assert min(brought[:500]) > 1_900_000
    assert max(brought[500:]) < 100_000


def left(renderer: ChatRenderer) -> int:
    """Return the steps that the chats of a request have left."""
    return renderer._before[1]


def _outcome(render: Callable[[list[dict[str, Any]]], RenderedChat], chat: list[dict[str, Any]]) -> object:
    try:
        rendered = render(chat)
        return rendered.text, rendered.spans, rendered.generated, rendered.parts
    except TokdError as error:
        return error.code, error.message, error.place


def _render_many(renderer: ChatRenderer) -> None:
    for _ in range(100):
        renderer.render(CHAT)


@pytest.mark.parametrize("name", conversations.TEMPLATES)
def test_a_chat_with_ten_tools_takes_no_more_than_it_brings(name: str) -> None:
    """So there may be hundreds of them in a request."""
    tok = conversations.tokenizer(name)
    tools = None if name == "llama-cpp-deepseek-r1" else conversations.TOOLS * 10
    renderer = tok.chat_renderer(tools=tools, template_args=ARGUMENTS)
    renderer.render(CHAT)
    before = left(renderer)
    renderer.render(CHAT)
    assert left(renderer) >= before
