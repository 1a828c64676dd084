"""Learning more merges for a tokenizer that there is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, trainers

from tests.support.corpora import text
from tokenizer_core import (
    InvalidOption,
    Tokenizer,
    Unsupported,
    extend,
    train,
)
from tokenizer_core._kernel import BYTE_ORDER, Vocabulary
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.stages import Pretokenizer


def test_extending_keeps_a_last_merge_that_makes_an_old_token() -> None:
    vocabulary = Vocabulary.from_tokens([*enumerate(BYTE_ORDER), (256, b"abc")], [])
    config = PipelineConfig(pretokenizer=(Pretokenizer.into_matches("gpt2"),))
    longer = extend(Tokenizer(TokenizerParts(vocabulary, config)), iter(["abc\n" * 5]), 300)
    assert longer.merges == [(b"a", b"b"), (b"ab", b"c")]
    assert longer.encode("abc").tolist() == [256]


def test_extending_keeps_every_id() -> None:
    small = train(iter([text(7)]), 400, special_tokens=["<|end|>"])
    large = extend(small, iter([text(7)]), 450)
    assert large.vocab_size == 450
    assert large.merges[: len(small.merges)] == small.merges
    assert large.special_tokens == small.special_tokens
    assert all(large.token_bytes(id) == small.token_bytes(id) for id in range(400))
    assert large.merges == train(iter([text(7)]), 450, special_tokens=["<|end|>"]).merges
    with pytest.raises(InvalidOption) as raised:
        extend(small, iter(["text"]), 399)
    assert raised.value.place == {"field": "vocab_size"}


def test_a_size_below_the_tokenizers_own_is_told_from_that() -> None:
    with pytest.raises(InvalidOption, match="more than the 265 that the tokenizer has, not 200"):
        extend(train(iter([text(7)]), 265), iter(["text"]), 200)


@pytest.mark.parametrize("model", ["wordpiece", "unigram", "word", "character", "bpe"])
def test_other_models_are_not_extended(model: str) -> None:
    style = {"style": "sentencepiece", "byte_fallback": True} if model == "bpe" else {}
    made = train(iter([text(7)]), 300, model=model, unk="<unk>", special_tokens=["<unk>"], **style)
    with pytest.raises(Unsupported, match="only byte-level BPE can be extended"):
        extend(made, iter(["text"]), 1000)


def with_flag(flag: str, *normalizer: Any) -> Tokenizer:
    """Return a tokenizer whose one added token, ``<m>``, has a flag."""
    made = train(iter(["low lower"]), 258, special_tokens=["<m>"], normalizer=normalizer)
    config = made.parts.config
    (token,) = config.added_tokens
    flagged = replace(config, added_tokens=(replace(token, **{flag: True}),))
    return made.with_parts(replace(made.parts, config=flagged))


@pytest.mark.parametrize("flag", ["single_word", "lstrip", "rstrip", "normalized"])
def test_a_tokenizer_whose_added_tokens_take_more_than_their_literal_is_not_extended(flag: str) -> None:
    start = with_flag(flag, "lowercase") if flag == "normalized" else with_flag(flag)
    with pytest.raises(Unsupported, match=f"'<m>' has {flag}") as refused:
        extend(start, iter(["foo<M>   bar"]), 270)
    assert refused.value.place["field"] == f"added_tokens[0].{flag}"


def test_added_tokens_in_normalized_text_are_cut_at_where_nothing_normalizes() -> None:
    longer = extend(with_flag("normalized"), iter(["am am am<m><m><m><m>"]), 259)
    assert longer.merges[-1] == (b"a", b"m")


def test_a_tokenizer_of_whole_pieces_is_extended_behind_added_tokens_that_are_not_special(tmp_path: Path) -> None:
    theirs = tokenizers.Tokenizer(models.BPE(ignore_merges=True))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=258, initial_alphabet=alphabet, show_progress=False)
    theirs.train_from_iterator(["low lower"], trainer)
    theirs.add_special_tokens(["<s>"])
    theirs.add_tokens([AddedToken(literal, normalized=False) for literal in ("<tool>", "日本", "a b")])
    theirs.save(str(tmp_path / "start.json"))
    start = Tokenizer.from_hf(tmp_path / "start.json")
    longer = extend(start, iter(["newest widest"]), start.vocab_size + 5)
    longer.save(tmp_path / "longer")
    text = "<s>low<tool>newest 日本 a b <tool newest"
    ids = longer.encode(text, special_tokens="parse").tolist()
    assert ids == Tokenizer.open(tmp_path / "longer").encode(text, special_tokens="parse").tolist()
    read = tokenizers.Tokenizer.from_file(str(tmp_path / "longer" / "tokenizer.json"))
    assert ids == read.encode(text, add_special_tokens=False).ids
    assert longer.encode("<tool>日本").tolist() == start.encode("<tool>日本").tolist() == [259, 260]
