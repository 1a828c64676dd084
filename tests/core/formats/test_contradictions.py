"""What transformers takes from ``tokenizer_config.json`` instead of from ``tokenizer.json``: equal, or refused."""

from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer as Peer
from tokenizers.decoders import ByteLevel as ByteDecoder
from tokenizers.decoders import Metaspace as Decoder
from tokenizers.models import BPE, Unigram, WordPiece
from tokenizers.normalizers import BertNormalizer, Prepend, Replace
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import BertPreTokenizer, ByteLevel, Metaspace

from tokenizer_core import InvalidArtifact, Tokenizer


def unigram(normalizer=None, pre_tokenizer=None) -> Peer:
    peer = Peer(Unigram([("<unk>", 0.0), ("▁", -1.0), ("a", -2.0)], 0))
    peer.normalizer, peer.pre_tokenizer, peer.decoder = normalizer, pre_tokenizer, Decoder()
    return peer


def bert(**flags: bool) -> Peer:
    peer = Peer(WordPiece({"[UNK]": 0, "a": 1, "A": 2}, unk_token="[UNK]"))
    peer.normalizer, peer.pre_tokenizer = BertNormalizer(**flags), BertPreTokenizer()
    return peer


def load(folder, peer: Peer, config: dict[str, object]) -> Tokenizer:
    (folder / "tokenizer.json").write_text(peer.to_str(), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return Tokenizer.load(folder)


@pytest.mark.parametrize(
    ("peer", "puts"),
    [
        (unigram(Normalizers([Prepend("▁"), Replace(" ", "▁")])), True),
        (unigram(pre_tokenizer=Metaspace()), True),
        (unigram(pre_tokenizer=Metaspace(prepend_scheme="first")), True),
        (unigram(pre_tokenizer=Metaspace(prepend_scheme="never")), False),
        (unigram(Replace(" ", "▁")), False),
    ],
)
def test_a_space_before_the_text_is_that_of_the_stages(tmp_path, peer, puts):
    for said in {None, False, puts}:
        tokenizer = load(tmp_path, peer, {"add_prefix_space": said})
        assert tokenizer.encode("a").tolist() == peer.encode("a").ids
    if puts:
        return
    with pytest.raises(InvalidArtifact, match="add_prefix_space contradicts") as caught:
        load(tmp_path, peer, {"add_prefix_space": True})
    assert caught.value.place["field"] == "tokenizer_config.json.add_prefix_space"


@pytest.mark.parametrize("kind", ["GPT2TokenizerFast", "RobertaTokenizer", "Qwen2Tokenizer"])
@pytest.mark.parametrize("said", [{}, {"add_prefix_space": None}], ids=["absent", "null"])
def test_a_class_that_puts_no_space_by_default_is_asked_to_say_it(tmp_path, kind, said):
    # transformers 4.57 and 5.24 put none where the key is absent; at null they differ, or refuse it.
    for puts in (False, True):
        peer = Peer(BPE(vocab={symbol: at for at, symbol in enumerate(sorted(ByteLevel.alphabet()))}, merges=[]))
        peer.pre_tokenizer, peer.decoder = ByteLevel(add_prefix_space=puts), ByteDecoder()
        config = {"tokenizer_class": kind, **said}
        if not puts:
            assert load(tmp_path, peer, config).encode("a").tolist() == peer.encode("a").ids
            continue
        with pytest.raises(InvalidArtifact, match="add_prefix_space is not set") as caught:
            load(tmp_path, peer, config)
        assert caught.value.place["field"] == "tokenizer_config.json.add_prefix_space"
        general = load(tmp_path, peer, {**said, "tokenizer_class": "PreTrainedTokenizerFast"})
        assert general.encode("a").tolist() == peer.encode("a").ids


@pytest.mark.parametrize("key", ["do_lower_case", "strip_accents", "tokenize_chinese_chars"])
@pytest.mark.parametrize("kind", ["BertTokenizer", "DistilBertTokenizerFast"])
def test_the_flags_of_a_bert_are_those_of_its_normalizer(tmp_path, key, kind):
    flag = {"do_lower_case": "lowercase", "tokenize_chinese_chars": "handle_chinese_chars"}.get(key, key)
    for value in (True, False):
        peer = bert(**{"strip_accents": value, flag: value})
        for said in ({}, {key: None}, {key: value}):
            load(tmp_path, peer, {"tokenizer_class": kind, **said})
        with pytest.raises(InvalidArtifact) as caught:
            load(tmp_path, peer, {"tokenizer_class": kind, key: not value})
        assert caught.value.place["field"] == f"tokenizer_config.json.{key}"
        load(tmp_path, peer, {"tokenizer_class": "PreTrainedTokenizerFast", key: not value})
