"""The vectors about templates."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from tests.support import vocabularies
from tests.support.data import needs_data, vectors
from tokenizer_core import AddedToken, TemplateFailed, TemplateLimit, TemplateUntrackable, Tokenizer
from tokenizer_core.config import TokenizerParts

pytestmark = needs_data


def case(name: str) -> dict[str, Any]:
    return next(case for case in vectors() if case["id"] == name)


def rendered(name: str) -> str:
    tok = vocabularies.tokenizer("tiny").with_template(case(name)["input"])
    return tok.render_chat([{"role": "user", "content": "x"}]).text


@pytest.mark.parametrize("name", ["tmpl-fmt-width", "tmpl-tojson-indent", "tmpl-range-nest"])
def test_bombs_of_the_vectors_are_refused(name: str) -> None:
    start = time.thread_time()
    with pytest.raises(TemplateLimit):
        rendered(name)
    assert time.thread_time() - start < 3


@pytest.mark.parametrize("name", ["tmpl-ssti-attr-format", "tmpl-ssti-lipsum"])
def test_no_template_reaches_the_interpreter(name: str) -> None:
    with pytest.raises((TemplateFailed, TemplateUntrackable)):
        rendered(name)


def test_json_is_written_as_hugging_face_writes_it() -> None:
    assert rendered("tmpl-tojson-parity") == case("tmpl-tojson-parity")["expected"]["result"]


def test_a_straddling_token_is_flagged_and_the_assistants(gpt2: Tokenizer) -> None:
    vector = case("mask-straddle-merge")
    source = vector["input"]["template"].replace("{{user}}", "{{ messages[0].content }}")
    tok = gpt2.with_template(source.replace("{{assistant}}", "{{ messages[1].content }}"))
    chat = tok.encode_chat(
        [
            {"role": "user", "content": vector["input"]["user"]},
            {"role": "assistant", "content": vector["input"]["assistant"]},
        ]
    )
    assert [tok.decode([token]) for token in chat.ids] == vector["expected"]["tokens"]
    assert chat.assistant_mask.tolist() == [0, 1]
    assert chat.straddling().tolist() == [False, True]


def test_what_a_template_strips_joins_no_control_token(gpt2: Tokenizer) -> None:
    vector = case("inj-zwsp-template-strip")
    parts = gpt2.parts
    added = tuple(
        AddedToken(id=50257 + at, content=literal, special=True)
        for at, literal in enumerate(("<|im_start|>", "<|im_end|>"))
    )
    config = replace(parts.config, added_tokens=(*parts.config.added_tokens, *added))
    tok = Tokenizer(TokenizerParts(vocabulary=parts.vocabulary, config=config))
    tok = tok.with_template(vector["input"]["template"].replace("m[", "messages[0]["))
    ids = tok.encode_chat([{"role": "user", "content": vector["input"]["content"]}]).ids
    assert not set(vector["expected"]["must_not_contain"]) & set(ids.tolist())
