"""The whole reference tokenizer against the kernel: every family's model and stages, on random text."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.families import test_byte_alphabet as alphabet
from tests.support import families
from tests.support.data import needs_data
from tests.support.sentencepiece_models import BYTES, META, NORMAL, UNUSED, USER_DEFINED, model, write
from tests.support.texts import texts
from tokenizer_core import Tokenizer
from tokenizer_core.reference.tokenizer import ReferenceTokenizer

FAMILIES = (
    *("hf-bpe-clip", "hf-bpe-gemma", "hf-bpe-llama2", "hf-bytelevel-roberta-no-alphabet", "hf-unigram-metaspace"),
    *("hf-wordpiece-cased", "hf-wordpiece-uncased", "spm-bpe-gemma", "spm-bpe-llama2", "spm-bpe-nobytes", "spm-char"),
    *("spm-unigram-bytes", "spm-unigram-identity", "spm-unigram-nmt_nfkc", "spm-unigram-nodummy"),
    *("spm-unigram-suffix", "spm-unigram-symbols", "spm-word"),
)
OLD = st.text(st.characters(codec="utf-8", max_codepoint=0x2FFF, exclude_categories=("Cn", "Cs")), max_size=12)
WORDS = st.lists(
    st.sampled_from(
        [" ", "  ", "the ", "and", "Hello", "world", "\n", "▁", "é", "e\u0301", "ﬁ", "①", "日本", "ｱﾞ", "1,"]
    )
).map("".join)


@cache
def twin(name: str) -> ReferenceTokenizer:
    return ReferenceTokenizer.of(families.ours(name))


@needs_data
@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=10)
@given(text=WORDS | OLD)
def test_a_family_has_the_ids_of_its_twin(name: str, text: str) -> None:
    if name == "hf-bytelevel-roberta-no-alphabet" and not (text.isascii() and text.replace("\n", "").isprintable()):
        # Its vocabulary lacks bytes, also of control characters.
        text = "the world and"
    expected = twin(name).encode(text, special_tokens="text")
    assert families.ours(name).encode(text, special_tokens="text").tolist() == expected
    assert families.ours(name).decode(expected) == twin(name).decode(expected)


@needs_data
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_the_ids_of_its_twin_on_the_golden_texts(name: str) -> None:
    for case in families.cases(name):
        lacks_bytes = name == "hf-bytelevel-roberta-no-alphabet" and not case["text"].isascii()
        if len(case["text"]) < 200 and case["text"].isprintable() and not lacks_bytes:
            expected = twin(name).encode(case["text"], special_tokens="parse")
            assert families.ours(name).encode(case["text"], special_tokens="parse").tolist() == expected


@pytest.fixture(scope="module", params=alphabet.SHAPES, ids=lambda shape: shape.__name__)
def shaped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return families.opened(request.param(), tmp_path_factory.mktemp("shape"))


@given(text=alphabet.WORDS.map("".join) | texts)
def test_text_in_the_byte_alphabet_has_the_ids_of_its_twin(shaped: Tokenizer, text: str) -> None:
    expected = ReferenceTokenizer.of(shaped).encode(text, special_tokens="parse")
    assert shaped.encode(text, special_tokens="parse").tolist() == expected


@settings(max_examples=60)
@given(
    scores=st.dictionaries(st.text("ab▁é漢", min_size=1, max_size=3), st.integers(-40, -1), min_size=1, max_size=12),
    kinds=st.lists(st.sampled_from([NORMAL] * 4 + [UNUSED, USER_DEFINED]), min_size=12, max_size=12),
    text=st.text("ab ▁é漢x", max_size=30),
    byte_fallback=st.booleans(),
    kind=st.sampled_from([1, 3, 4]),
)
def test_any_sentencepiece_model_has_the_ids_of_its_twin(
    tmp_path_factory, scores, kinds, text, byte_fallback, kind
) -> None:
    pieces = [*META, ("c", -9.0, NORMAL), *(BYTES if byte_fallback else [])]
    pieces += [(entry, score / 8, type) for (entry, score), type in zip(scores.items(), kinds, strict=False)]
    path = write(tmp_path_factory.mktemp("model") / "made.model", model(pieces, kind=kind, byte_fallback=byte_fallback))
    tokenizer = Tokenizer.load(path)
    expected = ReferenceTokenizer.of(tokenizer).encode(text, special_tokens="text")
    assert tokenizer.encode(text, special_tokens="text").tolist() == expected
