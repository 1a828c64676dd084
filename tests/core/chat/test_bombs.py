"""A template cannot take the server's time or memory: each of these is refused early."""

from __future__ import annotations

import resource
import time

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tests.core.chat import conversations
from tests.core.chat.bombs import BOMBS
from tests.support import vocabularies
from tokenizer_core import InvalidOption, TemplateFailed, TemplateLimit, TemplateUntrackable
from tokenizer_core.template.sandbox import MAX_PYTHON
from tokenizer_core.template.tracking import TrackingEnvironment


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_early(bomb: str) -> None:
    tok = vocabularies.tokenizer("tiny").with_template(BOMBS[bomb])
    memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    with pytest.raises((TemplateLimit, TemplateUntrackable, TemplateFailed)) as caught:
        tok.render_chat([{"role": "user", "content": "abc"}])
    assert not isinstance(caught.value, TemplateFailed)
    assert time.thread_time() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 200 << 10


@pytest.mark.parametrize(
    "source",
    ["{{ " + "a<" * 30_000 + "a }}", "{{a}}" * 13_000, f"{{{{ a({','.join(f'a{at}=1' for at in range(7_000))}) }}}}"],
    ids=["comparisons", "outputs", "named arguments"],
)
def test_what_python_would_compile_long_is_refused_before(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other thread runs while Python compiles: each of these held up a server for a second or more."""
    compiled: list[int] = []
    monkeypatch.setattr(ImmutableSandboxedEnvironment, "_compile", lambda _, python, __: compiled.append(len(python)))
    with pytest.raises(TemplateFailed, match=r"characters of Python|named arguments in line 1"):
        vocabularies.tokenizer("tiny").with_template(source)
    assert compiled == []


@pytest.mark.parametrize("name", conversations.TEMPLATES)
def test_a_template_five_times_as_long_as_a_real_one_is_compiled(name: str) -> None:
    python = TrackingEnvironment().compile(conversations.source(name), raw=True)
    assert 5 * len(python) < MAX_PYTHON


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
