"""A template reaches its values and nothing of the interpreter that runs it: no class, function, module or file."""

from __future__ import annotations

import pytest

from tokenizer_core import TokdError, Tokenizer

CHAT = [{"role": "user", "content": "hello"}]
VALUES = ("''", "[]", "{}", "1", "messages", "messages[0].content", "namespace", "range", "raise_exception", "x")
STEPS = (
    "__class__",
    "__class__.__mro__",
    "__class__.__base__.__subclasses__()",
    "__init__.__globals__",
    "__globals__.__builtins__",
    "__call__.__self__",
    "__reduce_ex__(2)",
    "format.__self__",
    "join.__func__",
)
OTHER_WAYS = (
    "{{ ''['__class__'] }}",
    "{{ ''|attr('__class__') }}",
    "{{ ''|attr('__cl' ~ 'ass__') }}",
    "{{ '{0.__class__}'.format('') }}",
    "{{ '{0.__init__.__globals__}'.format(namespace) }}",
    "{{ '{x.__class__}'.format_map({'x': 1}) }}",
    "{{ messages|map(attribute='__class__')|list }}",
    "{{ messages|groupby('__class__') }}",
    "{{ self.__init__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ lipsum.__globals__['os'].environ }}",
    "{{ joiner.__init__.__globals__ }}",
    "{{ messages.append }}",
    "{% include '/etc/passwd' %}",
    "{% import '/etc/passwd' as x %}",
    "{% extends '/etc/passwd' %}",
    "{% macro m() %}{% endmacro %}{{ m.__call__.__globals__ }}",
    "{% for x in messages %}{{ loop.__class__ }}{% endfor %}",
)
SOURCES = [f"{{{{ ({value}).{step} }}}}" for value in VALUES for step in STEPS] + list(OTHER_WAYS)
TRACES = ("class", "function", "module", "method", "built-in", "object at", "root:", "uid=", "PATH")


@pytest.mark.parametrize("source", SOURCES)
def test_a_template_reaches_nothing_of_the_interpreter(tiny: Tokenizer, source: str) -> None:
    try:
        text = tiny.with_template(source).render_chat(CHAT).text
    except TokdError:
        return
    assert [trace for trace in TRACES if trace in text] == []


def test_what_a_template_may_reach_is_reached(tiny: Tokenizer) -> None:
    source = "{{ messages[0]['content'].upper() }}{{ messages|map(attribute='role')|list|length }}"
    assert tiny.with_template(source).render_chat(CHAT).text == "HELLO1"
