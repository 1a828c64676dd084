"""Directories whose files do not name the class of the tokenizer: the model's configuration does, or it is refused."""

from __future__ import annotations

import json

import pytest

from tokenizer_core import Tokenizer, Unsupported

WORDS = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nA\n"
ENTRIES = {entry: id for id, entry in enumerate([*(chr(code) for code in range(33, 127)), "Ġ", "ab", "<|endoftext|>"])}


def directory(folder, model: dict[str, object] | None, config: dict[str, object] | None = None):
    (folder / "vocab.json").write_text(json.dumps(ENTRIES))
    (folder / "merges.txt").write_text("#version: 0.2\na b\n")
    if model is not None:
        (folder / "config.json").write_text(json.dumps(model))
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("config", [None, {}, {"model_max_length": 512}, {"tokenizer_class": None}])
@pytest.mark.parametrize("kind", ["layoutlmv3", "whisper", "xlm", "own"])
def test_merges_of_a_model_whose_tokenizer_adds_stages_are_refused_by_name(tmp_path, kind, config):
    with pytest.raises(Unsupported, match=kind) as caught:
        Tokenizer.load(directory(tmp_path, {"model_type": kind}, config))
    assert caught.value.place["field"] == "config.json.model_type"


@pytest.mark.parametrize("model", [None, {}, {"model_type": "gpt2"}, {"tokenizer_class": "GPT2Tokenizer"}])
def test_merges_of_gpt2_are_read_and_the_files_are_in_the_provenance(tmp_path, model):
    tokenizer = Tokenizer.load(directory(tmp_path, model))
    assert tokenizer.encode("ab").tolist() == [ENTRIES["ab"]]
    assert ("config.json" in tokenizer.provenance["imported_from"]["files"]) is (model is not None)


def test_the_class_of_the_model_s_configuration_counts_as_the_tokenizer_s(tmp_path):
    with pytest.raises(Unsupported, match="WhisperTokenizer"):
        Tokenizer.load(directory(tmp_path, {"model_type": "gpt2", "tokenizer_class": "WhisperTokenizer"}))
    directory(tmp_path, {"model_type": "roberta"}, {"tokenizer_class": "GPT2Tokenizer"})
    assert Tokenizer.load(tmp_path).encode("ab").tolist() == [ENTRIES["ab"]]


@pytest.mark.parametrize(("kind", "is_read"), [("bert", True), ("electra", True), ("mpnet", False), ("esm", False)])
def test_a_vocab_txt_is_read_if_the_model_s_tokenizer_is_bert_s(tmp_path, kind, is_read):
    (tmp_path / "vocab.txt").write_text(WORDS)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    if is_read:
        assert Tokenizer.load(tmp_path).encode("A b").tolist() == [5, 6]
    else:
        with pytest.raises(Unsupported, match=kind):
            Tokenizer.load(tmp_path)
