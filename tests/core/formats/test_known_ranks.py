"""Rank files under the names that models ship them by: pattern and special tokens are known, nothing is guessed."""

from __future__ import annotations

import json

import pytest

from tests.support.data import needs_data, shared
from tests.support.tiny_ranks import BYTES, lines
from tests.support.vocabularies import tokenizer
from tokenizer_core import TokdError, Tokenizer
from tokenizer_core.formats import known_ranks
from tokenizer_core.formats.gguf_patterns import KIMI

WORDS = {b"he": 256, b"ll": 257}


@pytest.fixture
def small(monkeypatch):
    """Let the names stand for files with 258 ranks."""
    for name, known in known_ranks._KNOWN.items():
        numbers = known.special_tokens
        moved = None if numbers is None else {literal: 258 + at for at, literal in enumerate(numbers)}
        fields = {key: getattr(known, key) for key in ("pattern", "nfc", "roles", "has_directory")}
        one = known_ranks._Known(ranks=258, special_tokens=moved, **fields)
        monkeypatch.setitem(known_ranks._KNOWN, name, one)


def test_a_directory_of_llama_takes_its_ranks_and_template(small, tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(lines(BYTES | WORDS))
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }}")
    found = Tokenizer.load(tmp_path)
    assert len(found.special_tokens) == 256
    assert found.special_tokens["<|eot_id|>"] == 258 + 9
    assert (found.settings.bos, found.template_hash is None) == ("<|begin_of_text|>", False)
    assert found.encode("he").tolist() == [256]


def test_qwen_composes_its_text(small, tmp_path):
    (tmp_path / "qwen.tiktoken").write_bytes(lines(BYTES | WORDS))
    found = Tokenizer.load(tmp_path)
    assert found.encode("e\u0301").tolist() == list("é".encode())
    assert found.special_tokens["<|extra_204|>"] == 258 + 207


def test_kimi_names_its_special_tokens_beside(small, tmp_path):
    (tmp_path / "tiktoken.model").write_bytes(lines(BYTES | WORDS))
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(tmp_path)
    assert (caught.value.code, caught.value.place) == ("unsupported", {"field": "tokenizer_config.json"})
    flags = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False) | {"special": True}
    named = {"258": {"content": "[BOS]", **flags}, "260": {"content": "<|im_end|>", **flags}}
    config = {"added_tokens_decoder": named, "bos_token": "[BOS]", "eos_token": "[EOS]"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    found = Tokenizer.load(tmp_path)
    assert found.special_tokens["<|im_end|>"] == 260
    assert found.special_tokens["<|reserved_token_259|>"] == 259
    assert (found.settings.bos, found.settings.eos) == ("[BOS]", None)
    assert found.pieces("漢字kana Word12345") == ["漢字", "kana", " Word", "123", "45"]
    assert found.config.pretokenizer[0].pattern.text == KIMI


def test_a_known_name_with_other_ranks_is_not_guessed(tmp_path):
    for name in known_ranks._KNOWN:
        (tmp_path / name).write_bytes(lines(BYTES))
        with pytest.raises(TokdError) as caught:
            Tokenizer.load(tmp_path / name)
        assert (caught.value.code, caught.value.place) == ("invalid_option", {"field": "pattern"})
        assert Tokenizer.load(tmp_path / name, pattern="gpt2").encode("a").tolist() == [97]


@needs_data
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_files_of_openai_need_no_options(name):
    assert Tokenizer.load(shared(f"vocabs/{name}.tiktoken")).hash == tokenizer(name).hash
