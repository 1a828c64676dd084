"""Every family on a whole corpus as one text: the ids are those of the library that the model's authors use."""

from __future__ import annotations

from itertools import cycle
from typing import Literal

import pytest

from tests.core.formats.test_sentencepiece import SETS
from tests.support import families
from tests.support.data import CORPORA, corpus, needs_data
from tests.support.sentencepiece_models import library, real

OF_HUGGING_FACE = (
    *("hf-bpe-clip", "hf-bpe-gemma", "hf-bpe-llama2", "hf-bytelevel-deepseek", "hf-unigram-metaspace"),
    *("hf-wordpiece-cased", "hf-wordpiece-uncased"),
)
PAIRS = list(zip((*SETS, *OF_HUGGING_FACE), cycle(CORPORA), strict=False))
"""A corpus for each family, and three families or more for each corpus."""


@pytest.mark.nightly
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(("name", "language"), PAIRS)
def test_a_corpus_has_the_ids_of_the_library(name: str, language: str) -> None:
    text = corpus(language)
    mode: Literal["parse", "text"] = "parse" if name in OF_HUGGING_FACE else "text"
    if mode == "parse":
        truth = families.peer(name).encode(text, add_special_tokens=False).ids
    else:
        truth = library(real(name)).encode(text)
    tokenizer = families.ours(name)
    assert tokenizer.encode(text, special_tokens=mode).tolist() == truth
    assert tokenizer.count(text, special_tokens=mode) == len(truth)
