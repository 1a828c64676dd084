"""Stages in the order in which models have them, with added tokens of every flag, against Hugging Face's own."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.data import needs_data, shared
from tests.support.families import opened
from tests.support.sentencepiece_models import charsmap
from tokenizer_core import Tokenizer

Stage = dict[str, Any]

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
FLAGS: dict[str, dict[str, bool]] = {
    "<mask>": {"lstrip": True},
    "<extra>": {"rstrip": True},
    "norm é": {"normalized": True, "special": False},
    "word": {"single_word": True, "special": False},
    "[MASK]": {"lstrip": True, "rstrip": True},
}
"""Added tokens, and what they are beside special."""

PARTS = [
    *("a", "the ", "Hello", " ", "  ", "\n", "\t", "\xa0", "\u3000", "\x85", "_", "▁", "-", "...", "!?", "``", "''"),
    *("é", "e\u0301", "ﬁ", "½", "１２", "123", "4567", "١٢", "İ", "ß", "ǅ", "Ω", "中文", "日本", "한국", "ไทย", "क्षि"),
    *(
        "'s",
        "'LL",
        "\u0301",
        "\u200d",
        "\u202e",
        "\ufeff",
        "\x00",
        "😀",
        "👨‍👩‍👧",
        "NORM É",
        "x<mask>y",
        "words",
        *FLAGS,
    ),
]


def stage(type: str, **fields: Any) -> Stage:
    return {"type": type, **fields}


def sequence(kind: str, *stages: Stage) -> Stage:
    return stage("Sequence", **{kind: list(stages)})


def rewritten(*stages: Stage) -> Stage:
    return sequence("normalizers", *stages)


def cut(*stages: Stage) -> Stage:
    return sequence("pretokenizers", *stages)


def replaced(pattern: str, content: str, kind: str = "String") -> Stage:
    return stage("Replace", pattern={kind: pattern}, content=content)


def split(pattern: str, behavior: str, *, invert: bool = False) -> Stage:
    return stage("Split", pattern={"Regex": pattern}, behavior=behavior, invert=invert)


def bytes_of(*, use_regex: bool = False, add_prefix_space: bool = False) -> Stage:
    return stage("ByteLevel", add_prefix_space=add_prefix_space, trim_offsets=True, use_regex=use_regex)


def metaspace(scheme: str = "always", *, split: bool = True) -> Stage:
    return stage("Metaspace", replacement="▁", prepend_scheme=scheme, split=split)


def bert(**flags: bool) -> Stage:
    default = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return stage("BertNormalizer", **default | flags)


def pipelines() -> dict[str, tuple[str, Stage | None, Stage | None]]:
    """Return a vocabulary, a normalizer and a pretokenizer for each model."""
    table = stage("Precompiled", precompiled_charsmap=base64.b64encode(charsmap()).decode())
    spaces, quotes = replaced(" {2,}", " ", "Regex"), (replaced("``", '"'), replaced("''", '"'))
    unigram, byte_level = "hf-unigram-metaspace", "hf-bytelevel-deepseek"
    plain = {name: stage(name) for name in ("NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Lowercase", "Nmt")}
    marks, digits = stage("Punctuation", behavior="Isolated"), stage("Digits", individual_digits=True)
    words = stage("WhitespaceSplit")
    return {
        "ALBERT": (
            unigram,
            rewritten(*quotes, plain["NFKD"], plain["StripAccents"], plain["Lowercase"], table, spaces),
            metaspace(),
        ),
        "XLNet": (unigram, rewritten(*quotes, plain["NFKD"], plain["StripAccents"], table, spaces), metaspace()),
        "DeBERTa v3": (
            unigram,
            rewritten(stage("Strip", strip_left=True, strip_right=True), table, spaces),
            cut(metaspace()),
        ),
        "DeBERTa v2": (unigram, rewritten(table), cut(marks, metaspace())),
        "Pegasus": (unigram, table, cut(words, metaspace())),
        "BigBird": (unigram, rewritten(table, replaced(" {2,}", "▁", "Regex")), metaspace("first")),
        "CamemBERT": (unigram, rewritten(replaced(r"\s+", " ", "Regex"), table), metaspace("never")),
        "Nmt": (unigram, rewritten(plain["Nmt"], plain["NFKC"], spaces), metaspace()),
        "Llama": ("hf-bpe-llama2", rewritten(stage("Prepend", prepend="▁"), replaced(" ", "▁")), None),
        "Llama, not legacy": ("hf-bpe-llama2", None, metaspace("first", split=False)),
        "Cohere": (byte_level, plain["NFC"], cut(digits, bytes_of(use_regex=True))),
        "Falcon": (
            byte_level,
            None,
            cut(
                stage("Punctuation", behavior="Contiguous"),
                bytes_of(use_regex=True),
                stage("Digits", individual_digits=False),
                split("[0-9][0-9][0-9]", "Isolated"),
            ),
        ),
        "Qwen": (byte_level, plain["NFC"], cut(split(QWEN, "Isolated"), bytes_of())),
        "inverted": (byte_level, None, cut(split(QWEN, "Removed", invert=True), bytes_of())),
        "RoBERTa": (byte_level, None, bytes_of(use_regex=True, add_prefix_space=True)),
        "merged": (
            byte_level,
            None,
            cut(split(r"\s+", "MergedWithNext"), split(r"\p{N}{1,2}", "MergedWithPrevious"), bytes_of()),
        ),
        "BERT with accents": ("hf-wordpiece-uncased", bert(strip_accents=False), stage("BertPreTokenizer")),
        "BERT, unclean": (
            "hf-wordpiece-uncased",
            bert(handle_chinese_chars=False, clean_text=False),
            stage("BertPreTokenizer"),
        ),
        "Jina": (
            "hf-wordpiece-uncased",
            rewritten(plain["NFD"], plain["Lowercase"], plain["StripAccents"]),
            stage("Whitespace"),
        ),
        "words and marks": (
            "hf-wordpiece-cased",
            rewritten(plain["NFKC"], stage("Strip", strip_left=True, strip_right=False)),
            cut(words, stage("Punctuation", behavior="MergedWithPrevious"), digits),
        ),
        "CLIP": (
            "hf-bpe-clip",
            rewritten(plain["NFC"], replaced(r"\s+", " ", "Regex"), plain["Lowercase"]),
            cut(split(CLIP, "Removed", invert=True), bytes_of()),
        ),
    }


NAMES = (
    *("ALBERT", "XLNet", "DeBERTa v3", "DeBERTa v2", "Pegasus", "BigBird", "CamemBERT", "Nmt", "Llama"),
    *("Llama, not legacy", "Cohere", "Falcon", "Qwen", "inverted", "RoBERTa", "merged", "BERT with accents"),
    *("BERT, unclean", "Jina", "words and marks", "CLIP"),
)


@cache
def both(name: str) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    """Open a pipeline over a golden vocabulary with ours and with Hugging Face's library."""
    vocabulary, normalizer, pretokenizer = pipelines()[name]
    document = json.loads(shared(f"families/{vocabulary}/tokenizer.json").read_bytes())
    document |= {"normalizer": normalizer, "pre_tokenizer": pretokenizer}
    added = document["added_tokens"]
    first = max([len(document["model"]["vocab"]) - 1, *(token["id"] for token in added)]) + 1
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    known = {token["content"] for token in added}
    fresh = [literal for literal in FLAGS if literal not in known]
    added += [{"id": first + at, "content": literal, **plain, **FLAGS[literal]} for at, literal in enumerate(fresh)]
    peer = tokenizers.Tokenizer.from_str(json.dumps(document))
    with TemporaryDirectory() as place:
        return opened(peer, Path(place)), peer


@needs_data
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100)
@given(text=st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
def test_a_pipeline_of_a_real_model_gives_its_ids_and_its_text(name: str, text: str) -> None:
    tokenizer, peer = both(name)
    ids = peer.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode(text, special_tokens="parse").tolist() == ids
    assert tokenizer.decode(ids) == peer.decode(ids, skip_special_tokens=False)


@needs_data
def test_every_pipeline_is_tested() -> None:
    assert tuple(pipelines()) == NAMES
