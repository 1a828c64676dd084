"""A tokenizer's file is read with the files beside it, as its directory is; what is not read is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.formats import test_bert_files, test_tekken
from tests.core.formats.small import added, document
from tests.core.formats.test_known_ranks import WORDS, small  # noqa: F401  a fixture
from tests.core.formats.test_recognise import pair
from tests.core.formats.test_sentencepiece_files import LETTERS
from tests.support.sentencepiece_models import CONTROL, UNKNOWN, model
from tests.support.tiny_ranks import BYTES, lines
from tokenizer_core import TokdError, Tokenizer

TEMPLATES = {
    "chat_template.jinja": "{{ messages[0].content }}",
    "additional_chat_templates/rag.jinja": "rag",
    "generation_config.json": {"top_k": 7},
}
ROLES = {"tokenizer_config.json": {"model_max_length": 99}, "special_tokens_map.json": {"eos_token": "<|end|>"}}


def fill(directory: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        (directory / name).write_text(text, "utf-8")
    return directory


def hugging_face(directory: Path) -> Path:
    whole = document(added_tokens=[added(264, "<|end|>")])
    return fill(directory, {"tokenizer.json": whole} | ROLES | TEMPLATES) / "tokenizer.json"


def vocab_json(directory: Path) -> Path:
    config = {"tokenizer_class": "GPT2Tokenizer", "unk_token": "h", "bos_token": "h", "eos_token": "h"}
    fill(directory, {"tokenizer_config.json": config} | TEMPLATES)
    return pair(directory) / "vocab.json"


def sentencepiece(directory: Path) -> Path:
    fill(directory, TEMPLATES | {"tokenizer_config.json": {"model_max_length": 99}})
    pieces = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), *LETTERS]
    (directory / "tokenizer.model").write_bytes(model(pieces))
    return directory / "tokenizer.model"


def bert(directory: Path) -> Path:
    fill(directory, TEMPLATES)
    return test_bert_files.write(directory, model_max_length=99) / "vocab.txt"


def tekken(directory: Path) -> Path:
    return fill(directory, TEMPLATES | {"tekken.json": test_tekken.document()}) / "tekken.json"


def ranks(directory: Path) -> Path:
    fill(directory, TEMPLATES)
    (directory / "qwen.tiktoken").write_bytes(lines(BYTES | WORDS))
    return directory / "qwen.tiktoken"


KINDS = [hugging_face, vocab_json, sentencepiece, bert, tekken, ranks]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_read_as_its_directory(kind, small, tmp_path):  # noqa: F811
    file = kind(tmp_path / "model")
    named, whole = Tokenizer.load(file), Tokenizer.load(tmp_path / "model")
    assert (named.hash, named.settings, named.name) == (whole.hash, whole.settings, whole.name)
    assert named.provenance == whole.provenance
    settings, origin = named.settings, named.provenance["imported_from"]
    assert (settings.chat_template, settings.named_templates) == ("{{ messages[0].content }}", (("rag", "rag"),))
    assert settings.generation == (("top_k", "7"),)
    assert TEMPLATES.keys() <= origin["files"].keys()
    if kind in (hugging_face, sentencepiece, bert):
        assert settings.model_max_length == 99
    if kind is hugging_face:
        assert settings.eos == "<|end|>"
        assert Tokenizer.from_hf(file).settings == settings


def test_a_file_of_another_name_is_read_alone_and_that_is_said(tmp_path):
    file = hugging_face(tmp_path).rename(tmp_path / "mine.json")
    found = Tokenizer.load(file)
    assert (found.settings.chat_template, found.settings.eos) == (None, None)
    origin = found.provenance["imported_from"]
    assert list(origin["files"]) == ["mine.json"]
    assert set(origin["passed_over"]) == ROLES.keys() | TEMPLATES.keys()


def test_the_template_of_a_processor_is_taken_where_the_tokenizer_has_none(tmp_path):
    whole = {"tokenizer.json": document(), "chat_template.json": {"chat_template": "{{ messages[0].role }}"}}
    alone = Tokenizer.load(fill(tmp_path / "alone", whole) / "tokenizer.json")
    assert alone.settings.chat_template == "{{ messages[0].role }}"
    for number, more in enumerate(
        ({"chat_template.jinja": "own"}, {"tokenizer_config.json": {"chat_template": "own"}})
    ):
        both = Tokenizer.load(fill(tmp_path / str(number), whole | more))
        assert both.settings.chat_template == "own"
        assert both.provenance["imported_from"]["passed_over"] == ["chat_template.json"]
    with pytest.raises(TokdError, match=r"chat_template\.json\.other is not known"):
        Tokenizer.load(fill(tmp_path / "odd", whole | {"chat_template.json": {"other": 1}}))
