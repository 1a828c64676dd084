"""A template cannot take the server's time or memory: each of these is refused early."""

from __future__ import annotations

import resource
import time

import pytest

from tests import vocabularies
from tokenizer_core import InvalidOption, TemplateFailed, TemplateLimit, TemplateUntrackable

LOOP = "{%% set ns = namespace(s='aaaaaaaaaa', l=[0], d={}, t=(0,), n=9) %%}{%% for i in range(60) %%}%s{%% endfor %%}"

BOMBS = {
    "nested ranges": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "a long range": "{{ range(10**9) | list }}",
    "doubling by ~": LOOP % "{% set ns.s = ns.s ~ ns.s %}",
    "doubling by +": LOOP % "{% set ns.s = ns.s + ns.s %}",
    "doubling by set": LOOP % "{% set x %}{{ ns.s }}{{ ns.s }}{% endset %}{% set ns.s = x %}",
    "doubling a caller's text": "{% set ns = namespace(s=messages[0].content) %}"
    "{% for i in range(60) %}{% set ns.s = ns.s * 9 %}{% endfor %}",
    "a wide %": "{{ '%999999999d' % 1 }}",
    "a wide % from an argument": "{{ '%*d' % (999999999, 1) }}",
    "a wide filter": "{% if '%999999999s' | format('x') %}{% endif %}",
    "a precise %": "{{ '%.999999999f' % 1.5 }}",
    "a wide format": "{{ '{:>999999999}'.format(1) }}",
    "a wide format from an argument": "{{ '{:>{}}'.format(1, 999999999) }}",
    "a repeated string": "{{ 'x' * 10**9 }}",
    "a repeated list": "{{ ([1] * 10**9) | length }}",
    "a macro that calls itself": "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
    "a tree of calls": "{% macro m(x) %}{% if x %}{{ m(x - 1) }}{{ m(x - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "a recursive loop": "{% for x in [1, 1] recursive %}{{ loop([1, 1]) if loop.depth < 60 }}{% endfor %}",
    "replace": LOOP % "{% set ns.s = ns.s.replace('a', 'aaaaaaaaaa') %}",
    "the filter replace": LOOP % "{% set ns.s = ns.s | replace('', ns.s) %}",
    "join": "{{ ('x' * 100000).join(range(90000) | map('string')) }}",
    "the filter join": LOOP % "{% set ns.s = ns.s | join(ns.s) %}",
    "an indent of JSON": "{{ [1, [1]] | tojson(indent=999999999) }}",
    "a shared list as JSON": LOOP % "{% set ns.l = [ns.l, ns.l] %}" + "{{ ns.l | tojson }}",
    "a shared dict as text": LOOP % "{% set ns.d = dict(a=ns.d, b=ns.d) %}" + "{{ ns.d }}",
    "a shared tuple as a key": LOOP % "{% set ns.t = (ns.t, ns.t) %}" + "{{ {ns.t: 1} }}",
    "a growing list": LOOP % "{% set ns.l = ns.l + ns.l %}",
    "copies of a list": "{% set ns = namespace(a=[]) %}{% set b = range(99999) | list %}"
    "{% for i in range(9999) %}{% set ns.a = ns.a + [b[:]] %}{% endfor %}",
    "a power": "{{ 9 ** (9 ** 9) }}",
    "a growing number": LOOP % "{% set ns.n = ns.n * ns.n %}",
    "center": "{{ 'x' | center(999999999) }}",
    "ljust": "{{ 'x' | attr('ljust')(999999999) }}",
    "indent": "{{ 'x\ny' | indent(999999999) }}",
    "expandtabs": "{{ '\t'.expandtabs(999999999) }}",
    "bytes of a number": "{{ (1).to_bytes(999999999, 'big') }}",
    "batch": "{{ [1] | batch(99999999, 0) | list }}",
    "round": "{{ 1 | round(99999999, 'floor') }}",
    "translate": "{{ 'aaaa'.translate({97: 'b' * 1000}) }}",
    "a long search": "{% set b = 'a' * 500000 %}{% for i in range(99999) %}{{ 'b' in b }}{% endfor %}",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_early(bomb: str) -> None:
    tok = vocabularies.tokenizer("tiny").with_template(BOMBS[bomb])
    memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    with pytest.raises((TemplateLimit, TemplateUntrackable, TemplateFailed)) as caught:
        tok.render_chat([{"role": "user", "content": "abc"}])
    assert not isinstance(caught.value, TemplateFailed)
    assert time.thread_time() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 200 << 10


def test_a_deep_value_is_refused_by_its_place() -> None:
    value: list[object] = []
    for _ in range(200_000):
        value = [value]
    tok = vocabularies.tokenizer("tiny").with_template("x")
    with pytest.raises(InvalidOption, match="nested deeper"):
        tok.render_chat([{"role": "user", "content": value}])


def test_a_long_chat_is_no_bomb() -> None:
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content.strip().split('</think>')[-1] }}\n{% endfor %}"
    tok = vocabularies.tokenizer("tiny").with_template(template)
    messages = [{"role": "user", "content": "word " * 200} for _ in range(2_000)]
    chat = tok.encode_chat(messages)
    assert len(chat.rendered.text) > 1_900_000
