"""Sampling in every family: what is drawn is the text, and the best segmentations are those of SentencePiece."""

from __future__ import annotations

from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor

from tests.support import families
from tests.support.data import corpus, needs_data, shared

BPE = (
    "hf-bpe-clip", "hf-bpe-gemma", "hf-bpe-llama2", "hf-bytelevel-deepseek", "mistral-spm-v1", "spm-bpe-gemma",
    "spm-bpe-llama2", "spm-bpe-nobytes",
)  # fmt: skip
SENTENCEPIECE = tuple(
    f"spm-unigram-{kind}" for kind in ["bytes", "identity", "nmt_nfkc", "nodummy", "suffix", "symbols"]
)
UNIGRAM = ("hf-unigram-metaspace", *SENTENCEPIECE)
WAYS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((name, {"dropout": dropout}) for name in BPE for dropout in (0.3, 1.0)),
    *((name, options) for name in UNIGRAM for options in ({"alpha": 0.1}, {"alpha": 0.3, "nbest": 20})),
)
ODD = ("naïve 👍🏽 xyz ▁▁ <0x41> \N{COMBINING ACUTE ACCENT}a", "日本語  テキスト\n\n", "")


@needs_data
@pytest.mark.parametrize(("name", "options"), WAYS)
def test_what_is_drawn_decodes_as_what_is_encoded(name: str, options: dict[str, Any]) -> None:
    tokenizer = families.ours(name)
    differ = 0
    for text in (*(corpus(language)[:3000] for language in ("english", "ja", "ru", "zh", "code")), *ODD):
        plain = tokenizer.encode(text, special_tokens="text")
        drawn = tokenizer.encode(text, special_tokens="text", seed=3, **options)
        assert tokenizer.decode(drawn) == tokenizer.decode(plain)
        differ += drawn.tolist() != plain.tolist()
    assert differ >= (6 if "dropout" in options else 3)


@needs_data
@pytest.mark.parametrize("name", UNIGRAM)
def test_the_best_of_a_corpus_is_what_is_encoded(name: str) -> None:
    tokenizer = families.ours(name)
    for language in ("english", "ja", "ru"):
        text = corpus(language)[:5000]
        best = tokenizer.nbest(text, 4, special_tokens="text")
        assert best[0].ids.tolist() == tokenizer.encode(text, special_tokens="text").tolist()
        assert [each.score for each in best] == sorted((each.score for each in best), reverse=True)
        assert len({each.ids.tobytes() for each in best}) == 4


@needs_data
@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_the_best_segmentations_are_those_of_sentencepiece(name: str) -> None:
    (model,) = shared(f"families/{name}").glob("*.model")
    peer, tokenizer = SentencePieceProcessor(model_file=str(model)), families.ours(name)
    for text in ("the model", "tokens of language", "naïve café 日本語", "xyz 👍🏽!", "internationalization of the"):
        for n in (1, 5, 50, 300):
            truth = [tuple(ids) for ids in peer.NBestEncodeAsIds(text, nbest_size=n)]
            found = [tuple(each.ids.tolist()) for each in tokenizer.nbest(text, n)]
            # Equal scores come in any order.
            assert sorted(found) == sorted(truth), (text, n)
