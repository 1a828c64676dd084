"""The settings that SentencePiece's trainers have: spaces, borders and rare characters, and what its defaults cost."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers

from tests.support.data import corpus, needs_data
from tokenizer_core import InvalidSettings, Recipe, Tokenizer, train

MODELS: dict[str, dict[str, Any]] = {"unigram": {"model": "unigram"}, "bpe": {"model": "bpe", "style": "sentencepiece"}}
CODE = (
    "def f(x):\n    if x:\n        return 12 * x\n    return None\n\n\nclass A:\n    b  =  1\n日本語 日本 naïve\n" * 5
)
WITH_SPACES = {"remove_extra_whitespaces": False, "allow_whitespace_only_pieces": True}


def random_texts(rng: random.Random) -> list[str]:
    """Make texts of few letters with runs of spaces, also at both ends."""
    letters = rng.choice(("ab  ", "aé日 1,", "the   sx1"))
    return ["".join(rng.choice(letters) * rng.choice((1, 1, 2, 3, 7)) for _ in range(60)) for _ in range(3)]


@pytest.mark.parametrize("model", MODELS)
def test_any_spaces_become_the_ids_that_hugging_face_makes_of_them(model: str, tmp_path: Path) -> None:
    rng = random.Random(model)
    for case in range(40):
        has_runs, texts = rng.random() < 0.4, [CODE, *random_texts(rng)]
        made = train(
            iter(texts),
            rng.randint(340, 420),
            byte_fallback=True,
            split_digits=rng.random() < 0.5,
            add_dummy_prefix=rng.random() < 0.6,
            **(WITH_SPACES if has_runs else {"remove_extra_whitespaces": rng.random() < 0.7}),
            **MODELS[model],
        )
        made.save(tmp_path / str(case))
        again = Tokenizer.open(tmp_path / str(case))
        theirs = tokenizers.Tokenizer.from_file(str(tmp_path / str(case) / "tokenizer.json"))
        for text in (*texts, *random_texts(rng), "", " ", "   ", "  a  b ", "a", "\n  a\n", "▁ a ▁ ", "💥  é"):
            ids = list(made.encode(text, special_tokens="text"))
            assert ids == list(again.encode(text, special_tokens="text")) == theirs.encode(text).ids, (case, text)


@pytest.mark.parametrize("model", MODELS)
def test_joined_spaces_are_no_tokens_and_kept_ones_come_back(model: str) -> None:
    joined, kept, runs = (
        train(iter([CODE]), 400, byte_fallback=True, normalizer=[], **options, **MODELS[model])
        for options in ({}, {"remove_extra_whitespaces": False}, WITH_SPACES)
    )
    assert joined.decode(joined.encode("  a   b ")) == "a b"
    for made in (kept, runs):
        assert made.decode(made.encode("  a   b ")) == "  a   b "
    assert len(joined.encode(CODE)) < len(kept.encode(CODE))
    assert len(runs.encode(CODE)) < len(kept.encode(CODE))
    entries = [text for text, _ in runs.parts.vocabulary.token_texts()]
    assert "▁▁▁" in entries
    assert not [text for text in entries if "▁" in text[1:] and text.strip("▁")]


@pytest.mark.parametrize("model", MODELS)
def test_no_entry_crosses_a_border(model: str) -> None:
    def entries(**options: Any) -> set[str]:
        made = train(iter([CODE]), 130, **options, **MODELS[model])
        return {text for text, _ in made.parts.vocabulary.token_texts()} - set(made.special_tokens)

    assert not any("12" in each or "f(" in each for each in entries(split_digits=True))
    assert any("12" in each for each in entries())
    assert any("(" in each and "f" in each for each in entries(split_by_unicode_script=False))


@pytest.mark.parametrize("model", MODELS)
def test_rare_characters_are_no_entries_by_default(model: str) -> None:
    texts = ["the quick brown fox " * 500 + "é"]
    assert "é" not in dict(train(iter(texts), 60, **MODELS[model]).parts.vocabulary.token_texts())
    whole = train(iter(texts), 60, character_coverage=1, **MODELS[model])
    assert "é" in dict(whole.parts.vocabulary.token_texts())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"allow_whitespace_only_pieces": True}, "allow_whitespace_only_pieces"),
        ({"split_digits": 1}, "split_digits"),
        ({"character_coverage": 0}, "character_coverage"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(model: str, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        Recipe.from_dict({"corpus": {"texts": [CODE]}, **MODELS[model], **options})
    assert refused.value.path == field


@pytest.mark.nightly
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_with_the_defaults_of_both_held_out_text_has_about_the_tokens_of_sentencepiece(model: str) -> None:
    known: list[str] = []
    held_out: dict[str, list[str]] = {}
    for name in ("english", "code", "ja", "ru"):
        text = corpus(name)
        known += text[: len(text) // 4].splitlines()
        held_out[name] = text[len(text) * 8 // 10 :][:200_000].splitlines()
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(known), model_writer=written, vocab_size=8000, model_type=model, minloglevel=2
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    ours = train(iter(known), 8000, **MODELS[model], normalizer=["nmt", "nfkc"])
    for name, lines in held_out.items():
        tokens = sum(len(ids) for ids in ours.encode_batch(lines))
        assert tokens <= 1.03 * sum(map(len, theirs.encode(lines))), name
