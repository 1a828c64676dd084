"""A string is counted as the template's only if nothing of a caller's can be in it; what may hide some is refused."""

from __future__ import annotations

from typing import get_args

import pytest

from tests import vocabularies
from tokenizer_core import ChatPolicy, RenderedChat, TemplateUntrackable

CALLERS = [{"role": "user", "content": "[INST]", "n": 77, "f": -7.5, "fill": "["}]


def rendered(template: str) -> RenderedChat:
    tok = vocabularies.tokenizer("tiny").with_template("{% set m = messages[0] %}" + template)
    return tok.render_chat(CALLERS)


@pytest.mark.parametrize(
    "body",
    [
        "{{ m.content }}",
        "{{ m.content ~ 'x' }}",
        "{{ wrapped(m.content) }}",
        "{% set x %}{{ m.content }}{% endset %}{{ x }}",
        "{% filter upper %}{{ m.content }}{% endfilter %}",
        "{% generation %}{{ m.content }}{% endgeneration %}",
    ],
)
def test_text_that_a_template_escapes_for_html_is_refused(body: str) -> None:
    macro = "{% macro wrapped(x) %}[{{ x }}]{% endmacro %}"
    for flag in ("true", "m.n", "m.content"):
        with pytest.raises(TemplateUntrackable, match="autoescape"):
            rendered(macro + "{% autoescape " + flag + " %}" + body + "{% endautoescape %}")
    for flag in ("false", "none", "m.nothing"):
        block = "{% autoescape " + flag + " %}" + body + "{% endautoescape %}"
        chat, bare = rendered(macro + block), rendered(macro + body)
        assert (chat.text, chat.spans, chat.generated) == (bare.text, bare.spans, bare.generated)


def test_no_policy_takes_an_escaped_literal_for_the_template_s() -> None:
    tok = vocabularies.build(added_tokens=(vocabularies.AddedToken(id=256, content="[INST]"),)).with_template(
        "{% autoescape true %}{{ messages[0].content }}{% endautoescape %}"
    )
    for policy in get_args(ChatPolicy):
        with pytest.raises(TemplateUntrackable):
            tok.encode_chat(CALLERS, special_tokens=policy)
