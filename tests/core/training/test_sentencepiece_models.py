"""More settings of SentencePiece: entries over spaces, spaces behind words, symbols, whole words and characters."""

from __future__ import annotations

import io
from typing import Any

import pytest
import sentencepiece

from tokenizer_core import InvalidOption, InvalidSettings, Recipe, Tokenizer, Unsupported, to_sentencepiece, train
from tokenizer_core.formats.sentencepiece_export import SCORE_UNIT

MODELS: dict[str, dict[str, Any]] = {"unigram": {"model": "unigram"}, "bpe": {"model": "bpe", "style": "sentencepiece"}}
WHOLE = {"word": {"model": "word", "style": "sentencepiece"}, "char": {"model": "character", "style": "sentencepiece"}}
TEXT = ["of the low tide, of the 12 low tides", "the lower tide of the day", "in the day of the tide\nof the day"] * 9


def entries(tokenizer: Tokenizer) -> set[str]:
    """Return the entries that are learned."""
    return {text for text, _ in tokenizer.parts.vocabulary.token_texts()} - {*tokenizer.special_tokens}


@pytest.mark.parametrize("model", MODELS)
def test_entries_go_over_spaces_but_not_over_lines_and_never_end_with_a_space(model: str) -> None:
    made = entries(train(iter(TEXT), 90, split_by_whitespace=False, **MODELS[model]))
    assert "▁of▁the" in made
    assert not [text for text in made if text.endswith("▁") and len(text) > 1]
    assert not [text for text in made if "\n" in text or ("tide▁of" in text and "day" in text)]
    behind = entries(train(iter(TEXT), 90, split_by_whitespace=False, treat_whitespace_as_suffix=True, **MODELS[model]))
    assert "of▁the▁" in behind
    assert not [text for text in behind if text.startswith("▁") and len(text) > 1]


@pytest.mark.parametrize("model", MODELS)
def test_spaces_end_words_where_they_are_asked_to(model: str) -> None:
    made = train(iter(TEXT), 70, treat_whitespace_as_suffix=True, **MODELS[model])
    assert "the▁" in entries(made)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=to_sentencepiece(made.parts))
    ids = theirs.encode("the tide of day")
    assert made.encode("the tide of day").tolist() == ids
    assert made.decode(ids) == theirs.decode(ids)


@pytest.mark.parametrize("kind", [*MODELS, *WHOLE])
def test_symbols_of_the_user_are_one_token_and_no_part_of_another(kind: str) -> None:
    symbols = ["ide", "<sep>", "</s>"]
    made = train(
        iter(TEXT),
        60,
        special_tokens=["<unk>", "</s>", "<cls>"],
        user_defined_symbols=symbols,
        **(MODELS | WHOLE)[kind],
    )
    ids = dict(made.parts.vocabulary.token_texts())
    assert [ids[symbol] for symbol in symbols] == [3, 4, 1]
    assert not [text for text in ids if "ide" in text and text != "ide"]
    theirs = sentencepiece.SentencePieceProcessor(model_proto=to_sentencepiece(made.parts))
    for text in ("tides<sep>of the</s>", "<cls>ide", ""):
        assert made.encode(text, special_tokens="text").tolist() == theirs.encode(text)


@pytest.mark.parametrize("kind", [*MODELS, *WHOLE])
@pytest.mark.parametrize(
    "given", [{}, {"user_defined_symbols": ["ide"]}, {"treat_whitespace_as_suffix": True}], ids=str
)
def test_a_null_character_of_the_corpus_is_in_no_piece(kind: str, given: dict[str, Any]) -> None:
    made = train(iter(["the\0low \0tide", *TEXT]), 60, normalizer=[], **given, **(MODELS | WHOLE)[kind])
    assert not [text for text in entries(made) if "\0" in text]
    theirs = sentencepiece.SentencePieceProcessor(model_proto=to_sentencepiece(made.parts))
    assert made.encode(TEXT[1]).tolist() == theirs.encode(TEXT[1])


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("suffix", [False, True])
def test_words_and_characters_are_those_of_the_trainer_of_sentencepiece(kind: str, suffix: bool) -> None:
    lines = [line for text in TEXT for line in text.split("\n")]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        model_type=kind,
        vocab_size=14,
        hard_vocab_limit=False,
        treat_whitespace_as_suffix=suffix,
        minloglevel=2,
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = {theirs.id_to_piece(id) for id in range(3, theirs.get_piece_size())}
    given = {"special_tokens": ["<unk>", "<s>", "</s>"], "normalizer": ["nmt", "nfkc"], **WHOLE[kind]}
    made = train(iter(lines), 14, treat_whitespace_as_suffix=suffix, **given)
    assert len(entries(made)) == len(pieces)
    # Of equally frequent ones another may be the last.
    assert len(entries(made) - pieces) <= 1


@pytest.mark.parametrize("given", [MODELS["unigram"], MODELS["bpe"], {"model": "wordpiece"}, *WHOLE.values()], ids=str)
def test_a_hard_limit_refuses_a_vocabulary_that_is_smaller(given: dict[str, Any]) -> None:
    size = train(iter(TEXT), 3000, **given).vocab_size
    with pytest.raises(InvalidOption, match=f"the corpus gives {size} tokens"):
        train(iter(TEXT), 3000, hard_vocab_limit=True, **given)
    assert train(iter(TEXT), size, hard_vocab_limit=True, **given).vocab_size == size


def test_scores_are_exact_as_floats_and_other_ones_are_not_exported() -> None:
    made = train(iter(TEXT), 60, model="unigram")
    assert all((score / SCORE_UNIT).is_integer() for score in made.parts.vocabulary.scores())
    to_sentencepiece(made.parts)
    with pytest.raises(Unsupported):
        to_sentencepiece(train(iter(TEXT), 60, model="unigram", normalizer=["bert"]).parts)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({**MODELS["bpe"], "user_defined_symbols": ["a b"]}, "user_defined_symbols[0]"),
        ({**MODELS["bpe"], "user_defined_symbols": ["a", "a"]}, "user_defined_symbols[1]"),
        ({**MODELS["unigram"], "user_defined_symbols": ["<unk>"]}, "user_defined_symbols[0]"),
        ({**MODELS["unigram"], "user_defined_symbols": "ab"}, "user_defined_symbols"),
        ({**MODELS["unigram"], "user_defined_symbols": ["\ud800"]}, "user_defined_symbols[0]"),
        ({**MODELS["bpe"], "user_defined_symbols": ["é" * 4000]}, "user_defined_symbols[0]"),
        ({**MODELS["bpe"], "user_defined_symbols": ["x " * 99_999]}, "user_defined_symbols[0]"),
        ({**MODELS["bpe"], "user_defined_symbols": [f"s{number}" for number in range(20_000)]}, "user_defined_symbols"),
        ({**MODELS["bpe"], "user_defined_symbols": [f"{n}-" + "s" * 99 for n in range(999)]}, "user_defined_symbols"),
        ({**MODELS["bpe"], "user_defined_symbols": ["a"], "special_tokens": ["é" * 4000]}, "special_tokens"),
        ({**WHOLE["word"], "split_digits": True}, "split_digits"),
        ({**WHOLE["char"], "character_coverage": 0}, "character_coverage"),
        ({**WHOLE["char"], "required_characters": "a\0"}, "required_characters"),
        ({**MODELS["unigram"], "required_characters": "a\0"}, "required_characters"),
        ({"model": "word", "user_defined_symbols": ["a"]}, "user_defined_symbols"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused_by_name(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        Recipe.from_dict({"corpus": {"texts": TEXT}, **given})
    assert refused.value.path == field
    assert len(refused.value.message) < 300


@pytest.mark.parametrize("given", WHOLE.values(), ids=str)
def test_a_recipe_is_written_and_read_with_its_symbols(given: dict[str, Any]) -> None:
    recipe = Recipe.from_dict({"corpus": {"texts": TEXT}, "user_defined_symbols": ["the"], **given})
    assert Recipe.from_dict(recipe.to_dict()) == recipe
