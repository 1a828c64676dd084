"""What a template fails on is told at its line and at the caller's field, and in words that its author knows."""

from __future__ import annotations

from typing import Any

import pytest
import regex

from tests.support import vocabularies
from tokenizer_core import InvalidOption, InvalidUnicode, TemplateFailed, Tokenizer

_OURS = regex.compile(r"tokenizer_core|tokd_kernel|::|Template[A-Z]|<locals>|\b_[a-z]+\(")
"""Names that stand in no template: our modules, classes and functions."""

FAILING = {
    "m.content.foo.bar": "'str object' has no attribute 'foo'",
    "m.n.foo.bar": "'int object' has no attribute 'foo'",
    "m.f.strip()": "'float object' has no attribute 'strip'",
    "m.l.strip()": "'list object' has no attribute 'strip'",
    "m.d.text.upper()": "'dict object' has no attribute 'text'",
    "namespace(a=m).b.c": "no attribute 'b'",
    "dict.x.y": "no attribute 'x'",
    "m.n()": "'int' object is not callable",
    "m.content()": "'str' object is not callable",
    "m.n | length": "'int'",
    "m.content + m.n": "'str' and 'int'",
    "m.n + m.content": "'int' and 'str'",
    "m.f ~ '' + m.f": "'str' and 'float'",
    "-m.content": "'str'",
    "m.content < m.n": "'str' and 'int'",
    "[m.content, m.n] | sort": "'int' and 'str'",
    "m.content in m.n": "'int'",
    "'%d' % m.content": "not str",
    "m.content.split(m.n)": "int",
    "m.content.replace(m.n, m.n)": "int",
    "m.content.join(m.n)": "'int'",
    "range(m.content)": "'str'",
    "m.content | items | list": "mapping",
    "m.content.upper(1)": "upper()",
    "m.content | trim(1, 2, 3)": "trim()",
    "m.content | join(1, 2, 3)": "join()",
    "m.content | tojson(x=1)": "'x'",
}


def failure(tok: Tokenizer, **message: Any) -> TemplateFailed:
    with pytest.raises(TemplateFailed) as caught:
        tok.render_chat([{"role": "user", "content": "text", **message}])
    return caught.value


@pytest.mark.parametrize("expression", FAILING)
def test_a_failure_names_the_line_and_no_class_of_ours(tiny: Tokenizer, expression: str) -> None:
    tok = tiny.with_template("{% set m = messages[0] %}\n\nwell\n{{ " + expression + " }}\n\n")
    error = failure(tok, n=5, f=1.5, l=[1], d={"a": "b"})
    assert " in line 4: " in error.message
    assert FAILING[expression] in error.message
    assert _OURS.search(error.message) is None


def test_a_failure_in_a_macro_is_told_at_the_line_that_fails(tiny: Tokenizer) -> None:
    tok = tiny.with_template("{% macro f(x) %}\n{{ x.strip() }}\n{% endmacro %}\n\n{{ f(messages[0].content) }}")
    error = failure(tok, role="tool", content=5)
    assert " in line 2: 'int object' has no attribute 'strip'" in error.message
    assert error.place == {"field": "messages[0].content"}


@pytest.mark.parametrize(
    ("expression", "given", "field", "remedy"),
    [
        ("m.content.strip()", {"content": 5}, "messages[0].content", "takes content as a string"),
        ("m.name ~ m.content.strip()", {"name": "x", "content": 5}, "messages[0].content", ""),
        (
            "m.tool_calls[0].function.arguments | items | list",
            {"tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}]},
            "messages[0].tool_calls[0].function.arguments",
            "takes arguments as an object, not as JSON in a string",
        ),
        ("tools[1].function.description + ''", {}, "tools[1].function.description", 'needs "description"'),
        ("'a' + tools[0].function.n", {}, "tools[0].function.n", ""),
        ("tools[0].function.n.x.y", {}, "tools[0].function.n", ""),
        ("template_arg.x.y", {}, "template_args.template_arg.x", 'needs "x"'),
    ],
)
def test_a_failure_names_the_field_at_hand_and_the_remedy(
    tiny: Tokenizer, expression: str, given: dict[str, Any], field: str, remedy: str
) -> None:
    tools = [{"function": {"name": "f", "description": "d", "n": 5}}, {"function": {"name": "g"}}]
    tok = tiny.with_template("{% set m = messages[0] %}\n{{ " + expression + " }}")
    with pytest.raises(TemplateFailed, match="in line 2: ") as caught:
        tok.render_chat(
            [{"role": "tool", "content": "c", **given}], tools=tools, template_args={"template_arg": {"z": "q"}}
        )
    assert caught.value.place == {"field": field}
    assert remedy in caught.value.message


@pytest.mark.parametrize("words", ["Tracked", "TemplateDict in line 9", "_trim() is private", "a 'tokenizer_core' "])
def test_what_a_template_raises_itself_are_its_own_words(tiny: Tokenizer, words: str) -> None:
    tok = tiny.with_template('a\n{{ raise_exception("' + words + '") }}')
    assert failure(tok).message == f"the chat template refuses these messages in line 2: {words}"


@pytest.mark.parametrize(
    "name", ["namespace", "range", "dict", "cycler", "joiner", "raise_exception", "strftime_now", "bos_token"]
)
def test_a_name_that_templates_rely_on_is_refused_as_a_variable(tiny: Tokenizer, name: str) -> None:
    tok = tiny.with_template("{% set ns = namespace(a=1) %}{{ bos_token }}{{ ns.a }}")
    for value in (1, None, "x"):
        with pytest.raises(InvalidOption, match=f"cannot set '{name}'") as caught:
            tok.render_chat([{"role": "user", "content": "x"}], template_args={name: value})
        assert caught.value.place == {"field": f"template_args.{name}"}


@pytest.mark.parametrize("name", ["messages", "tools", "documents", "add_generation_prompt", "chat_template"])
@pytest.mark.parametrize("value", [None, []])
def test_an_option_is_refused_as_a_variable_though_it_says_nothing(tiny: Tokenizer, name: str, value: Any) -> None:
    with pytest.raises(InvalidOption, match=f"cannot set '{name}'"):
        tiny.with_template("x").render_chat([{"role": "user"}], template_args={name: value})


@pytest.mark.parametrize(
    ("given", "field", "at"),
    [
        ({"messages": [{"role": "user", "content": "ab\ud800"}]}, "messages[0].content", 2),
        ({"messages": [{"role": "user"}, {"role": "\udfffx"}]}, "messages[1].role", 0),
        (
            {"messages": [{"role": "user", "tool_calls": [{"function": {"arguments": {"a": ["x", "é\ud83d"]}}}]}]},
            "messages[0].tool_calls[0].function.arguments.a[1]",
            1,
        ),
        ({"tools": [{"name": "f"}, {"name": "\ud800"}]}, "tools[1].name", 0),
        ({"documents": [{"text": "x\ud800y"}]}, "documents[0].text", 1),
        ({"template_args": {"date": "12\ud800"}}, "template_args.date", 2),
    ],
)
def test_a_lone_surrogate_is_told_at_its_field(tiny: Tokenizer, given: dict[str, Any], field: str, at: int) -> None:
    tok = tiny.with_template("a long beginning {{ messages | tojson }}{{ tools }}{{ documents }}{{ date }}")
    for call in (tok.render_chat, tok.encode_chat):
        with pytest.raises(InvalidUnicode) as caught:
            call(**{"messages": [{"role": "user", "content": "x"}], **given})
        assert caught.value.place == {"field": field, "span": [at, at + 1], "unit": "char"}


@pytest.mark.parametrize("option", ["tools", "documents", "messages"])
def test_the_first_of_several_wrong_items_is_named(tiny: Tokenizer, option: str) -> None:
    given: dict[str, Any] = {"messages": [{"role": "user"}], option: [{"role": "user"}, 5, "x", 7]}
    with pytest.raises(InvalidOption) as caught:
        tiny.with_template("x").render_chat(**given)
    assert caught.value.place == {"field": f"{option}[1]"}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("m.content | safe", "a<b"),
        ("'<' | safe + m.content + '>'", "<a<b>"),
        ("'<' + (m.content | safe) + '>' | safe", "<a<b>"),
        ("(m.content | safe)[1:] + '&'", "<b&"),
        ("(m.content | safe).replace('a', '<') ~ '>'", "<<b>"),
        ("[m.content | safe]", "['a<b']"),
        ("m.d | tojson | safe + '<'", '{"k": "<"}<'),
        ("5 | safe", "5"),
    ],
)
def test_safe_makes_a_string(expression: str, text: str) -> None:
    tok = vocabularies.tokenizer("tiny").with_template("{% set m = messages[0] %}{{ " + expression + " }}")
    chat = tok.render_chat([{"role": "user", "content": "a<b", "d": {"k": "<"}}])
    assert chat.text == text
    callers = {place for span in chat.spans for place in range(span.start, span.end)}
    assert {place for place, letter in enumerate(text) if letter in "ab"} <= callers
