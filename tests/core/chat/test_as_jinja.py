"""Rare values and names: each expression and block gives what Jinja gives, or fails as in Jinja."""

from __future__ import annotations

import pytest

from tests.core.chat.test_rendering import plainly
from tests.support import vocabularies
from tokenizer_core import TokdError

VALUES = [
    "('9' * 5000)|int",
    "('9' * 5000)|int(7)",
    "('-' ~ '9' * 4301)|int(7)",
    "('9' * 4301)|int(default=none)",
    "('9' * 4300)|int",
    "('-' ~ '9' * 4300)|int",
    "('0' * 5000)|int(3)",
    "('0' * 4400 ~ '5')|int",
    "('1' * 5000)|int(3, 3)",
    "('9' * 4301)|float",
    "('9' * 4301)|int == 0",
    "[{'a': 1}]|map(attribute='9' * 4301)|list",
    "[1] is test",
    "[1] is filter",
    "{} is test",
    "{}.items() is filter",
    "(1, [2]) is test",
    "(1,) is test",
    "1 is filter",
    "nothing is test",
    "'odd' is test",
    "'upper' is filter",
    "''.startswith((1,), 9)",
    "''.endswith((1,), 9)",
    "'a'.startswith(('b', 1), 5)",
    "'a'.startswith(('a', 1))",
    "''.startswith(1, 9)",
    "''.startswith((), 9)",
    "''.startswith('', 9)",
    "'ab'.endswith(('', 'b'), 1)",
    "''.find(1, 9)",
    "none.a.b",
    "none|attr('a')",
    "{}[[1]]",
    "{}[1] is defined",
    "'ab'[::5]",
    "'abcdefg'[::-3]",
    "[1, 2, 3, 4][-2::-2]",
    "(1, 2, 3)[5:1:2]",
    "'é-ü'[::-2]",
    "'%.2s|%.9s' % ('éab', 'éab')",
    "'%s' % (1, 2)",
    "'%s' % ((1, 2),)",
    "[1] * 3 + [2]",
    "(1,) * 0 + (2,)",
    "'a' * -1",
    "[]|join('b')",
    "'aXbX'.replace('X', 'yy', 1) ~ 'ab'.replace('', '-', 2)",
]

BLOCKS = [
    "{% filter nope %}a{% endfilter %}",
    "{% filter upper|nope %}a{% endfilter %}",
    "{% filter upper %}{{ 1|nope }}{% endfilter %}",
    "{{ 1|nope }}",
    "{{ 1 is nope }}",
    "{% set x = 1|nope %}",
    "{% set x | nope %}a{% endset %}",
    "{% set x %}{{ 1|nope }}{% endset %}",
    "{% for i in [1] %}{{ i|nope }}{% endfor %}",
    "{% for i in [1]|nope %}{% endfor %}",
    "{% for i in [1] if i|nope %}{% endfor %}",
    "{% for i in [] %}{% else %}{{ 1|nope }}{% endfor %}",
    "{% for i in [1] recursive %}{{ i is nope }}{% endfor %}",
    "{% for i in [1] %}{% if i %}{{ i|nope }}{% endif %}{% endfor %}",
    "{% macro m() %}{{ 1|nope }}{% endmacro %}",
    "{% macro m(a=1|nope) %}{% endmacro %}",
    "{% call m(1|nope) %}a{% endcall %}",
    "{% call m() %}{{ 1|nope }}{% endcall %}",
    "{% call(a=1|nope) m() %}{% endcall %}",
    "{% with a=1|nope %}{% endwith %}",
    "{% with %}{{ 1|nope }}{% endwith %}",
    "{% generation %}{{ 1|nope }}{% endgeneration %}",
    "{% if 1|nope %}{% elif 1|nope %}{% else %}{{ 1|nope }}{% endif %}",
    "{{ 9" + "9" * 4300 + " }}",
]


def ours(template: str) -> str | None:
    """Render, or return ``None`` where the template is refused or fails."""
    try:
        return (
            vocabularies.tokenizer("tiny").with_template(template).render_chat([{"role": "user", "content": "a"}]).text
        )
    except TokdError:
        return None


@pytest.mark.parametrize("value", VALUES)
def test_a_rare_value_is_as_in_jinja(value: str) -> None:
    template = "{{ " + value + " }}"
    assert ours(template) == plainly(template)


@pytest.mark.parametrize("condition", ["if false", "if true"])
@pytest.mark.parametrize("block", BLOCKS)
def test_an_unknown_name_may_stand_only_where_jinja_lets_it(block: str, condition: str) -> None:
    template = "{% " + condition + " %}" + block + "{% endif %}x"
    assert ours(template) == plainly(template)
