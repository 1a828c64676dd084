"""``vocab.json`` and ``merges.txt`` of every class: what transformers makes of them.

``vocab_merges_classes.json`` has what transformers 4.57.1 makes of the directories of ``tests/support``: the fast class
reads the directory and saves it, and Hugging Face's own library encodes with the ``tokenizer.json`` that it saved.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.vocab_merges_classes import CONFIGS, PAIRS, SPECIAL, TEXTS, write_directory
from tokenizer_core import InvalidArtifact, Tokenizer

RECORDED = json.loads(Path(__file__).with_name("vocab_merges_classes.json").read_text("utf-8"))


@pytest.mark.parametrize("name", CONFIGS)
def test_a_class_has_the_ids_that_transformers_gives_it(tmp_path: Path, name: str) -> None:
    write_directory(name, tmp_path)
    tokenizer, truth = Tokenizer.load(tmp_path), RECORDED[name]
    tokenizer.save(tmp_path / "artifact")
    for opened in (tokenizer, Tokenizer.open(tmp_path / "artifact")):
        for text, ids, decoded in zip(TEXTS, truth["ids"], truth["decoded"], strict=True):
            assert opened.encode(text, special_tokens="parse").tolist() == ids, text
            assert opened.decode(ids) == decoded, text
            stream = opened.stream_decoder()
            assert "".join(stream.push([id]) for id in ids) + stream.finish() == decoded
        assert opened.encode("", add_special_tokens=True).tolist() == truth["frame"]
        for (first, second), (ids, types) in zip(PAIRS, truth["pairs"], strict=True):
            pair = opened.encode_pair(first, second, special_tokens="parse", add_special_tokens=True)
            assert (pair.ids.tolist(), pair.type_ids.tolist()) == (ids, types)
    assert sorted(tokenizer.special_tokens) == truth["special"]
    assert tokenizer.hash == Tokenizer.open(tmp_path / "artifact").hash


@pytest.mark.parametrize("kind", SPECIAL)
def test_the_type_of_the_model_names_the_class_as_well(tmp_path: Path, kind: str) -> None:
    (tmp_path / "named").mkdir()
    write_directory(kind, tmp_path / "named")
    write_directory(kind, tmp_path, by_model=True)
    assert Tokenizer.load(tmp_path).hash == Tokenizer.load(tmp_path / "named").hash


def test_a_frame_without_its_tokens_is_refused(tmp_path: Path) -> None:
    write_directory("GPT2", tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}')
    with pytest.raises(InvalidArtifact, match="cls token"):
        Tokenizer.load(tmp_path)


def test_a_role_that_stands_in_the_frame_as_another_is_not_contradicted(tmp_path: Path) -> None:
    # DeBERTa's class writes add_bos_token, and its bos is [CLS].
    write_directory("Deberta", tmp_path)
    Tokenizer.load(tmp_path).save(tmp_path / "artifact")
    config = json.loads((tmp_path / "artifact/tokenizer_config.json").read_text())
    (tmp_path / "artifact/manifest.json").unlink()
    (tmp_path / "artifact/tokenizer_config.json").write_text(json.dumps({**config, "add_bos_token": False}))
    assert Tokenizer.load(tmp_path / "artifact").hash == Tokenizer.load(tmp_path).hash
