"""Content in the form that a template reads: joined or in parts, found in the template and by what it writes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.chat.conversations import CONVERSATIONS, TEMPLATES, source, tokenizer
from tests.support.data import needs_data
from tokenizer_core import InvalidOption, Tokenizer
from tokenizer_core.chat.templates import compiled
from tokenizer_core.errors import TokdError

JOINED = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
LOOPED = (
    "{% for m in messages %}[{{ m.role }}]{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}({{ p.text }}){% endfor %}{% endif %}{% endfor %}"
)
ONLY_PARTS = "{% for m in messages %}[{{ m.role }}]{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}"
FIRST_PART = "{% for m in messages %}[{{ m.role }}]{{ m.content[0].text }}{% endfor %}"
SYSTEM_AS_IT_IS = (
    "{% set rest = messages %}{% if messages[0].role == 'system' %}{{ messages[0].content | trim }}"
    "{% set rest = messages[1:] %}{% endif %}"
) + LOOPED.replace("messages", "rest")
TWO = [{"type": "text", "text": "one"}, {"type": "text", "text": ""}, {"type": "text", "text": "two"}]


def chat(content: Any, role: str = "user") -> list[dict[str, Any]]:
    return [{"role": role, "content": content}]


@pytest.mark.parametrize(
    ("template", "sent", "joined", "parts"),
    [
        (JOINED, None, "[user]one\ntwo", None),
        (LOOPED, "[user](one)()(two)", "[user]one\ntwo", "[user](one)()(two)"),
        (ONLY_PARTS, "[user]onetwo", None, "[user]onetwo"),
        (FIRST_PART, "[user]one", None, "[user]one"),
    ],
)
def test_parts_are_joined_for_templates_that_cannot_read_them(
    gpt2: Tokenizer, template: str, sent: str | None, joined: str | None, parts: str | None
) -> None:
    tok = gpt2.with_template(template)
    assert tok.render_chat(chat(TWO), content_format="auto").text == (parts or joined)
    for wanted, expected in (("sent", sent), ("string", joined), ("parts", parts)):
        if expected is not None:
            assert tok.render_chat(chat(TWO), content_format=wanted).text == expected  # type: ignore[arg-type]


def test_strings_are_parts_only_for_templates_that_cannot_read_them(gpt2: Tokenizer) -> None:
    for template, expected in ((JOINED, "[user]one"), (LOOPED, "[user]one"), (ONLY_PARTS, "[user]one")):
        assert gpt2.with_template(template).render_chat(chat("one"), content_format="auto").text == expected
    assert gpt2.with_template(LOOPED).render_chat(chat("one"), content_format="parts").text == "[user](one)"
    assert gpt2.with_template(ONLY_PARTS).render_chat(chat("one")).text == "[user]"


def test_every_role_has_the_form_that_works(gpt2: Tokenizer) -> None:
    tok = gpt2.with_template(SYSTEM_AS_IT_IS)
    messages = [*chat(TWO, "system"), *chat(TWO), *chat(TWO, "tool")]
    assert tok.render_chat(messages, content_format="auto").text == "one\ntwo[user](one)()(two)[tool]one\n\ntwo"


def test_every_part_keeps_its_place(gpt2: Tokenizer) -> None:
    joined = gpt2.with_template(JOINED).render_chat(chat(TWO), content_format="auto")
    assert [(span.field, joined.text[span.start : span.end]) for span in joined.spans if span.field != "role"] == [
        ("content[0].text", "one"),
        ("content", "\n"),
        ("content[2].text", "two"),
    ]
    wrapped = gpt2.with_template(ONLY_PARTS).render_chat(chat("one"), content_format="auto")
    assert [span.field for span in wrapped.spans] == ["role", "content"]


def test_what_a_tool_answers_is_left_alone(gpt2: Tokenizer) -> None:
    """Llama 3.1 prints it as JSON, and others the ``output`` of its items."""
    tok = gpt2.with_template("{% for m in messages %}{{ m.content | tojson }}{% endfor %}")
    for content in ([{"output": "x"}], ["a"], [1], {"a": "b"}, [{"type": "text", "text": 7}], [{"type": "new"}], 5):
        messages = chat(content, "tool")
        assert tok.render_chat(messages, content_format="auto").text == tok.render_chat(messages).text


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
@pytest.mark.parametrize(
    ("content", "field", "words"),
    [
        (5, "", "content is a string or a list of parts"),
        (True, "", "content is a string or a list of parts"),
        ({"a": "b"}, "", "content is a string or a list of parts"),
        ([1], "[0]", "a content part is an object"),
        (["a"], "[0]", "a content part is an object"),
        ([["a"]], "[0]", "a content part is an object"),
        ([TWO[0], None], "[1]", "a content part is an object"),
        ([{"type": "foo"}], "[0].type", "of type 'foo' is not supported here"),
        ([{"type": "input_text", "text": "a"}], "[0].type", "of type 'input_text' is not supported here"),
        ([{"text": "a"}], "[0].type", "without a type"),
        ([{"type": 7, "text": "a"}], "[0].type", "without a type"),
        ([TWO[0], {"type": "text"}], "[1].text", "has its text, a string"),
        ([{"type": "text", "text": 7}], "[0].text", "has its text, a string"),
    ],
)
def test_what_is_no_text_is_refused_by_its_place(
    gpt2: Tokenizer, role: str, content: Any, field: str, words: str
) -> None:
    for template in (JOINED, LOOPED):
        with pytest.raises(InvalidOption, match=words) as caught:
            gpt2.with_template(template).render_chat(chat(content, role), content_format="auto")
        assert caught.value.place["field"] == f"messages[0].content{field}"


def test_parts_that_the_template_asks_for_reach_it(gpt2: Tokenizer) -> None:
    thinking = gpt2.with_template(
        "{% for m in messages %}{% for p in m.content %}{% if p is string %}[{{ p }}]"
        "{% elif p['type'] == 'text' %}({{ p.text }}){% elif p.type in ['thinking', 'reference'] %}"
        "<{{ p.thinking }}>{% endif %}{% endfor %}{% endfor %}"
    )
    content = ["a", {"type": "thinking", "thinking": "b"}, TWO[0]]
    assert thinking.render_chat(chat(content), content_format="auto").text == "[a]<b>(one)"
    with pytest.raises(InvalidOption, match="of type 'signature' is not supported"):
        thinking.render_chat(chat([{"type": "signature"}]))


@needs_data
def test_real_templates_that_take_strings_as_parts() -> None:
    assert {name for name in TEMPLATES if compiled(source(name)).engine.reads_string_parts("user")} == {
        "GLM-4.6",
        "MiniMax-M2",
        "MiniMax-M3",
    }


def test_unknown_form_is_refused(gpt2: Tokenizer) -> None:
    with pytest.raises(InvalidOption, match="content_format is one of 'sent', 'auto', 'string', 'parts'"):
        gpt2.with_template(JOINED).render_chat(chat("a"), content_format="openai")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("{% for m in messages %}{% for p in m['content'] %}{% endfor %}{% endfor %}", True),
        ("{% for m in messages[1:] %}{% for p in m.content | list %}{% endfor %}{% endfor %}", True),
        (
            "{% set a = messages %}{% set b = a[1:] %}{% for m in b %}{% for p in m.content %}{% endfor %}{% endfor %}",
            True,
        ),
        ("{% macro show(content) %}{% for p in content %}{% endfor %}{% endmacro %}", True),
        ("{% for m in messages %}{% for p in m.content.split('a') %}{% endfor %}{% endfor %}", False),
        ("{% for m in messages %}{% for p in m.tool_calls %}{% endfor %}{% endfor %}", False),
        ("{% for t in tools %}{% for p in t.content %}{% endfor %}{% endfor %}", False),
        ("{% set a = messages %}{% set messages = a %}{% for m in a %}{{ m.content }}{% endfor %}", False),
        (
            "{% for m in messages %}{% generation %}{% for p in m.content %}"
            "{% endfor %}{% endgeneration %}{% endfor %}",
            True,
        ),
    ],
)
def test_loops_are_found_where_vllm_finds_them(loop: str, found: bool) -> None:
    assert compiled(loop).engine.loops_over_parts is found


@needs_data
def test_real_templates_that_take_parts() -> None:
    assert {name for name in TEMPLATES if compiled(source(name)).engine.loops_over_parts} == {
        "GLM-4.6",
        "MiniMax-M2",
        "MiniMax-M3",
        "Mistral-Small-3.2-24B-Instruct-2506",
        "Qwen3.5-4B",
        "Reka-Edge",
        "google-gemma-4-31B-it",
        "google-gemma-4-31B-it-interleaved",
        "ibm-granite-granite-4.0",
        "moonshotai-Kimi-K2",
        "unsloth-Apriel-1.5",
    }


@needs_data
def test_real_templates_print_the_system_s_text() -> None:
    """Gemma 4 would print the list that a system message is, Mistral Small would read its first part alone."""
    gemma = "google-gemma-4-31B-it"
    assert compiled(source(gemma)).engine.takes_parts("user")
    assert not compiled(source(gemma)).engine.takes_parts("system")
    mistral = "Mistral-Small-3.2-24B-Instruct-2506"
    assert compiled(source(mistral)).engine.takes_parts("user")
    assert not compiled(source(mistral)).engine.takes_parts("system")
    assert all(compiled(source(name)).engine.reads_strings("user") for name in TEMPLATES)


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
def test_strings_are_rendered_as_hugging_face_does(template: str) -> None:
    tok = tokenizer(template)
    for name, messages in CONVERSATIONS.items():
        if name == "parts":
            continue
        try:
            expected = tok.render_chat(messages).text
        except TokdError:
            continue
        assert tok.render_chat(messages, content_format="auto").text == expected


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
def test_parts_are_read_by_every_template_that_reads_strings(template: str) -> None:
    tok = tokenizer(template)
    one = [{"type": "text", "text": "part of 1"}]
    try:
        expected = tok.render_chat(chat("part of 1")).text
    except TokdError:
        pytest.skip("needs tools")
    assert tok.render_chat(chat(one), content_format="auto").text == expected


@needs_data
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_no_real_template_loses_a_part(template: str, role: str) -> None:
    tok, two = tokenizer(template), [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]
    messages = {"system": [*chat(two, "system"), *chat("q")], "user": chat(two)}.get(
        role, [*chat("q"), *chat(two, role)]
    )
    as_strings = [{**message, "content": "first" if message["content"] == two else "q"} for message in messages]
    try:
        assert "first" in tok.render_chat(as_strings).text
    except (TokdError, AssertionError):
        pytest.skip("the template takes no such message")
    text = tok.render_chat(messages, content_format="auto").text
    assert "first" in text
    assert "second" in text
    assert "'type'" not in text
