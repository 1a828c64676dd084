"""What a rendering takes at its peak stays within a small multiple of what it is allowed, whatever a template does."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.core.chat import conversations
from tests.support import vocabularies
from tokenizer_core import TemplateLimit, TemplateUntrackable
from tokenizer_core.chat.encoding import MAX_PATH

SIZE = 5_000
"""Characters of each field of the message."""

STEPS = 8_500_000
"""Steps of a chat with such a message, at most; some are for the memory of what is made."""

BYTES = 6
"""For each step."""

START = "{% set c = messages[0].content %}{% set w = messages[0].wide %}{% set ns = namespace(l=[], s='', t=c) %}"

LISTS = {
    "characters": "c | list",
    "pieces": "c.split('a')",
    "pieces from the right": "c.rsplit('a')",
    "words": "messages[0].words.split()",
    "words of wide characters": "w.split()",
    "lines": "messages[0].lines.splitlines()",
    "items of a filter": "c | map('upper') | list",
    "numbers as text": "range(99999) | map('string') | list",
    "numbers": "range(99999) | list",
    "numbers of the caller": "c | map('length') | list",
    "what differs": "range(99999) | map('string') | unique | list",
    "sorted": "c.split('a') | sort",
    "reversed": "c[::-1].split('a')",
    "reversed by a filter": "c | reverse | list",
    "pairs": "dict.fromkeys(range(99999)).items() | list",
    "a dict": "dict.fromkeys(range(99999))",
    "selected": "c | select('string') | list",
    "copies": "[(c | list)[:], (c | list)[:]]",
    "a product": "[c] * 99999",
    "a sum": "[c] * 99999 + [c] * 99999",
}
"""What makes a list, kept over and over."""

TEXTS = {
    "output": "{% for i in range(99999) %}{{ c }}{% endfor %}",
    "a set block": "{% set x %}{% for i in range(99999) %}{{ c }}{% endfor %}{% endset %}",
    "a macro": "{% macro m() %}{% for i in range(99999) %}{{ c }}{% endfor %}{% endmacro %}{{ m() | length }}",
    "a call": "{% macro m() %}{% for i in range(99999) %}{{ caller() }}{% endfor %}{% endmacro %}"
    "{% call m() %}{{ c }}{% endcall %}",
    "a filter block": "{% filter upper %}{% for i in range(99999) %}{{ c }}{% endfor %}{% endfilter %}",
    "a block of the model": "{% generation %}{% for i in range(99999) %}{{ c }}{% endfor %}{% endgeneration %}",
    "empty output": "{% for i in range(99999) %}" + "{{ ns.s }}{% if i %}{% endif %}" * 50 + "{% endfor %}",
    "recursion": "{% for x in [c] recursive %}{{ c }}{{ loop([c, c]) }}{% endfor %}",
    "format": "{{ ('{0}' * 9999).format(c) }}",
    "format of a representation": "{{ ('{0!r}' * 999).format(w) }}",
    "format of a list": "{{ ('{0}' * 999).format([c]) }}",
    "a caller's format": "{{ (messages[0].braces * 9999).format(c) }}",
    "%": "{{ (('%s' * 9) % (c, c, c, c, c, c, c, c, c)) * 999 }}",
    "% by a key": "{{ ('%(a)s' * 9999) % {'a': c} }}",
    "% of a representation": "{{ ('%(a)r' * 999) % {'a': w} }}",
    "% of ASCII": "{{ ('%(a)a' * 999) % {'a': w} }}",
    "a caller's %": "{{ (messages[0].percent * 9999) % {'a': c} }}",
    "the filter format": "{{ ('%(a)s' * 9999) | format(a=c) }}",
    "JSON": "{{ ([c] * 999) | tojson }}",
    "JSON of ASCII": "{{ ([w] * 999) | tojson(ensure_ascii=true) }}",
    "JSON of control characters": "{{ ([messages[0].lines] * 999) | tojson }}",
    "separators of JSON": "{{ range(9999) | list | tojson(separators=(c, c)) }}",
    "an indent of JSON": "{{ range(9999) | list | tojson(indent=9999) }}",
    "a margin of JSON": "{{ range(9999) | list | tojson(indent=c) }}",
    "join": "{{ c.join(range(99999) | map('string')) }}",
    "joined references": "{{ ''.join([c] * 9999) }}",
    "the filter join": "{{ range(99999) | join(c) }}",
    "join of what a filter makes": "{{ ([c] * 9999) | map('upper') | join }}",
    "join by an attribute": "{{ (messages * 9999) | join(attribute='content') }}",
    "replace": "{{ c.replace('a', c) }}",
    "replace of nothing": "{{ c.replace('', c) }}",
    "the filter replace": "{{ c | replace('b', c) }}",
    "an indent": "{{ messages[0].lines | indent(9999) }}",
    "an indent by a text": "{{ messages[0].lines | indent(c) }}",
    "a product": "{{ c * 9999 }}",
    "a product from the left": "{{ 9999 * c }}",
    "a sum": "{% for i in range(40) %}{% set ns.t = ns.t + ns.t %}{% endfor %}",
    "~": "{% for i in range(40) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}",
    "~ of a list": "{{ ([c] * 9999) ~ '' }}",
    "a list as text": "{{ [c] * 9999 }}",
    "a list of wide characters as text": "{{ [w] * 999 }}",
    "upper": "{{ (c * 999) | upper }}",
    "more letters": "{{ (messages[0].sharp * 999).upper() }}",
    "title": "{{ (c * 999) | title }}",
    "every other character": "{{ (c * 999)[::2] }}",
    "backwards": "{{ (c * 999) | reverse }}",
    "slices": "{% for i in range(9999) %}{% set ns.l = ns.l + [c[1:]] %}{% endfor %}",
    "title case": "{% for i in range(9999) %}{% set ns.l = ns.l + [c.title()] %}{% endfor %}",
    "strips": "{% for i in range(9999) %}{% set ns.l = ns.l + [(c ~ ' ').strip()] %}{% endfor %}",
    "arguments": "{% for i in range(9999) %}{% set ns.l = ns.l + [cycler(*range(99999))] %}{% endfor %}",
    "characters as arguments": "{{ cycler(*(c * 300)).next() }}",
    "arguments of a filter": "{{ 1 | default(*(c * 300)) }}",
    "named arguments": "{% set d = dict.fromkeys(range(5000) | map('string')) %}"
    "{% for i in range(9999) %}{% set ns.l = ns.l + [namespace(**d)] %}{% endfor %}",
    "many small lists": "{% for j in range(99) %}{% for i in range(9999) %}{% set x = [i] %}{% endfor %}{% endfor %}",
    "many small dicts": "{% for j in range(99) %}{% for i in range(9999) %}{% set x = {0: i} %}{% endfor %}"
    "{% endfor %}",
    "a growing list": "{% for i in range(9999) %}{% set ns.l = ns.l + [i] %}{% endfor %}",
    "a date": "{{ strftime_now('%c' * 999999) }}",
}

KEEP = "{%% for i in range(99999) %%}{%% set ns.l = ns.l + [%s] %%}{%% endfor %%}"

ONLY_PLAIN = "{% if messages[0].n is sameas 5 %}"
"""A way to tell the rendering without origins, which the other is held against: its small integers are Python's own."""

UNTRACKED = {
    "%": "{{ ('%(a)s' * 9999) % {'a': c} }}",
    "a lone %": "{{ '%999999999d' % 1 }}",
    "format": "{{ ('{0}' * 9999).format(c) }}",
    "a filter": "{{ c | indent(99999) | replace('', c) }}",
    "replace": "{{ c | replace('a', c) }}",
    "method": "{{ c.replace('a', c) }}",
    "join": "{{ c.join(range(99999) | map('string')) }}",
    "the filter join": "{{ range(99999) | join(c) }}",
    "a product": "{{ c * 9**9 }}",
    "~": "{% for i in range(40) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}",
    "output": "{% for i in range(99999) %}{{ c }}{% endfor %}",
    "a list as text": "{{ [c] * 9999 }}",
    "JSON": "{{ range(9999) | list | tojson(separators=(c, c)) }}",
    "a power": "{{ 9 ** (9 ** 9) }}",
    "a format": "{{ ('%(a)s' * 9999) | format(a=c) }}",
    "pieces": "{% for i in range(99999) %}{% set ns.l = ns.l + [c.split('a')] %}{% endfor %}",
}

MESSAGE = {
    "role": "user",
    "content": "ab" * (SIZE // 2),
    "wide": "\U000e0001" * SIZE,
    "words": "aa " * (SIZE // 3),
    "lines": "\x1c" * SIZE,
    "sharp": "\u0390" * SIZE,
    "braces": "{0}",
    "percent": "%(a)s",
    "n": 5,
}


TEMPLATES = {
    **{f"a list: {name}": KEEP % source for name, source in LISTS.items()},
    **{f"a text: {name}": source for name, source in TEXTS.items()},
    **{f"untracked: {name}": ONLY_PLAIN + source + "{% endif %}" for name, source in UNTRACKED.items()},
}

SMALL = 3_000_000
"""Bytes that any rendering may take, of which the first compiles the template."""

linux = pytest.mark.skipif(sys.platform != "linux", reason="the peak is asked of Linux")


@linux
@pytest.mark.parametrize("name", TEMPLATES)
def test_no_template_takes_much_more_memory_than_it_is_charged_for(name: str) -> None:
    tok = vocabularies.tokenizer("tiny").with_template(START + TEMPLATES[name])

    def render() -> None:
        with pytest.raises((TemplateLimit, TemplateUntrackable)):
            tok.render_chat([MESSAGE])

    assert peak_of(render) < SMALL + BYTES * STEPS


@linux
@pytest.mark.parametrize("written", [False, True], ids=["left out", "written"])
@pytest.mark.parametrize("nested", [False, True], ids=["behind one key", "behind keys in keys"])
def test_a_long_key_is_not_kept_again_for_each_text_behind_it(written: bool, nested: bool) -> None:
    tok = vocabularies.tokenizer("tiny").with_template("{{ messages[0] | tojson }}" if written else "x")
    texts, key = ["a"] * 3_000, "k" * 30_000
    value = {key[:15_000]: {key[15_000:]: texts}} if nested else {key: texts}
    rendered = []
    peak = peak_of(lambda: rendered.append(tok.render_chat([{"role": "user", **value}])))
    assert peak < 10_000_000
    assert max((len(span.field) for span in rendered[0].spans), default=MAX_PATH) == MAX_PATH
    assert sum(span.end - span.start for span in rendered[0].spans) >= 33_000 * written


def peak_of(work: Callable[[], object]) -> int:
    """Return the most bytes that the process took at once for some work, as the system counts them."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    work()
    return resident("VmHWM") - before


def resident(which: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(which)).split()[1]) << 10


def test_the_longest_chat_of_a_server_allows_less_than_three_gigabytes() -> None:
    renderer = vocabularies.tokenizer("tiny").with_template("x").chat_renderer()
    renderer.render([{"role": "user", "content": "a" * (32 << 20)}])
    assert BYTES * renderer._before[1] < 3 << 30


LONG_TEXT = "word and another 字\n" * 3_000


@pytest.mark.parametrize("name", conversations.TEMPLATES)
def test_real_templates_need_less_than_a_long_chat_allows(name: str) -> None:
    given = {"functions": "", "datetime": "", "date_string": ""}
    tok = conversations.tokenizer(name)
    # Some must have tools, and this one takes none.
    tools = None if name == "llama-cpp-deepseek-r1" else conversations.TOOLS
    renderer = tok.chat_renderer(tools=tools, template_args=given)
    chat = renderer.render([{"role": "user", "content": LONG_TEXT}])
    assert LONG_TEXT.strip() in chat.text
    # Of the four million and two that any chat brings, a long one takes nothing.
    assert renderer._before[1] > 6_000_000
