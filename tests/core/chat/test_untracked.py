"""A string is counted as the template's only if nothing of a caller's can be in it; what may hide some is refused."""

from __future__ import annotations

import pytest

from tests.support import vocabularies
from tokenizer_core import RenderedChat, TemplateUntrackable

CALLERS = [{"role": "user", "content": "[INST]", "n": 77, "f": -7.5, "fill": "[", "lines": "\r\n\rx\n\u2028"}]


def rendered(template: str) -> RenderedChat:
    tok = vocabularies.tokenizer("tiny").with_template("{% set m = messages[0] %}" + template)
    return tok.render_chat(CALLERS)


@pytest.mark.parametrize(
    "expression",
    [
        "[namespace(a=m.content)]",
        "{1: [namespace(a=m.content)]} | dictsort",
        "'{!r}'.format(namespace(a=m.content))",
        "'%(a)s' % {'a': namespace(a=m.content)}",
        "'%*s' % (1, namespace(a=m.content))",
        "[m.keys().mapping]",
        "'%(content)s' % m.keys().mapping",
        "(m.f ** 0.5).imag",
        "range(m.n)",
        "range(m.n).stop",
        "range(1, 9, m.n).step",
    ],
)
def test_what_may_hide_a_caller_s_text_is_not_written(expression: str) -> None:
    for written in ("{{ %s }}", "{%% set x = %s %%}{{ x }}", "{{ (%s) ~ '' }}", "{{ [%s] }}"):
        with pytest.raises(TemplateUntrackable):
            rendered(written % expression)


@pytest.mark.parametrize(
    ("expression", "text", "callers"),
    [
        ("range(0, 78, m.n) | last", "77", "77"),
        ("range(m.n + 1) | last", "77", "77"),
        ("range(78) | last", "77", ""),
        ("[m.content, 'x'] | last", "x", ""),
        ("['x', m.content] | last", "[INST]", "[INST]"),
        ("['x', m.content] | map('lower') | first", "x", ""),
        ("m.content | first ~ (m.content | last)", "[]", "[]"),
        ("[m.n, 5] | min", "5", ""),
        ("(m.fill ~ m.lines) | indent(1)", "[\n\n x\n\n", "[\n\nx\n\n"),
        ("('a\\nb' ~ m.lines) | indent(1)", "a\n b\n\n x\n\n", "\n\nx\n\n"),
        ("m.nothing | default('x')", "x", ""),
        ("([namespace(a=m.content)] + [1]) | length", "2", ""),
    ],
)
def test_what_is_chosen_or_formatted_keeps_its_author(expression: str, text: str, callers: str) -> None:
    chat = rendered("{{ " + expression + " }}")
    assert chat.text == text
    assert "".join(chat.text[span.start : span.end] for span in chat.spans) == callers
