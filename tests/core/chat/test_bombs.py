"""A template cannot take the server's time or memory: each of these is refused early."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from tests.core.chat.bombs import BOMBS, GROWING
from tests.support import vocabularies
from tests.support.paths import ROOT
from tokenizer_core import InvalidOption, TemplateLimit, TemplateUnsupported, TemplateUntrackable, TokdError


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_early(bomb: str) -> None:
    memory, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    # What needs a method of Python's that no chat needs is refused when the template is opened.
    with pytest.raises((TemplateLimit, TemplateUntrackable, TemplateUnsupported)):
        vocabularies.tokenizer("tiny").with_template(BOMBS[bomb]).render_chat([{"role": "user", "content": "abc"}])
    assert time.thread_time() - start < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 200 << 10


LACKING = """
import resource, sys
from pathlib import Path
from tests.support import vocabularies
from tokenizer_core import TemplateLimit
tok = vocabularies.tokenizer("tiny").with_template(sys.argv[1])
size = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmSize"))
most = (int(size.split()[1]) << 10) + (160 << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    tok.render_chat([{"role": "user", "content": "a" * (8 << 20)}])
except TemplateLimit as error:
    print(error.message)
print(tok.with_template("{{ messages[0].content }}").render_chat([{"role": "user", "content": "b"}]).text)
"""
"""A process that gets little memory, where a chat of this length would be allowed a gigabyte."""


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is asked of Linux")
@pytest.mark.nightly
@pytest.mark.parametrize("name", GROWING)
def test_memory_that_is_not_there_ends_the_rendering_and_not_the_process(name: str) -> None:
    script = [sys.executable, "-c", LACKING, GROWING[name]]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told, after = done.stdout.splitlines()
    assert "memory" in told
    assert after == "b"


SYNTAX = {
    "comparisons": "{{ " + "a<" * 30_000 + "a }}",
    "outputs": "{{a}}" * 13_000,
    "named arguments": f"{{{{ a({','.join(f'a{at}=1' for at in range(7_000))}) }}}}",
    "brackets": "{{ " + "[" * 30_000 + "]" * 30_000 + " }}",
    "blocks": "{% if a %}" * 3_000 + "{% endif %}" * 3_000,
    "signs": "{{ " + "-" * 60_000 + "1 }}",
    "attributes": "{{ a" + ".a" * 30_000 + " }}",
}


@pytest.mark.parametrize("name", SYNTAX)
def test_no_source_takes_long_to_compile(name: str) -> None:
    start = time.thread_time()
    with suppress(TokdError):
        vocabularies.tokenizer("tiny").with_template(SYNTAX[name]).render_chat([{"role": "user", "content": "abc"}])
    assert time.thread_time() - start < 1


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
