"""BPE as SentencePiece has it: its trainer's pieces, its ids, and the definition in plain Python."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers

from tests.support.data import corpus, needs_data
from tokenizer_core import (
    InvalidSettings,
    Recipe,
    SentencePieceBpeSettings,
    Tokenizer,
    TrainingRun,
    Unsupported,
    to_sentencepiece,
    train,
    train_sizes,
)
from tokenizer_core.reference.trainers.sentencepiece_bpe import sentencepiece_bpe, words_of

SEED = 20_26
TEXT = "Low lower lowest, newer newest: wide wider widest\n日本 日本語! It's 12,5 naïve  cafés.\n" * 5
STYLE: dict[str, Any] = {"model": "bpe", "style": "sentencepiece"}
PLAIN: dict[str, Any] = {"split_by_unicode_script": False, "split_by_number": False, "remove_extra_whitespaces": False}
"""No borders within words, and all spaces."""


def random_borders(rng: random.Random) -> dict[str, bool]:
    """Choose settings that both trainers have."""
    names = ("split_by_unicode_script", "split_by_number", "split_digits", "remove_extra_whitespaces")
    return {name: rng.random() < 0.5 for name in names}


def random_texts(rng: random.Random, more: str = "") -> list[str]:
    """Make texts of few letters, with long runs and many ties."""
    letters = rng.choice(("ab", "abc ", "aé日 ", "the  sx1", "a", "abcdefgh  ")) + more
    return [
        "".join(rng.choice(letters) * rng.choice((1, 1, 1, 2, 3, 7)) for _ in range(rng.randint(1, 120))) + " x"
        for _ in range(rng.randint(1, 4))
    ]


def entries(tokenizer: Tokenizer) -> list[str]:
    """Return the entries that are learned, by id."""
    texts = [text for text, _ in tokenizer.parts.vocabulary.token_texts()]
    return [text for text in texts if text not in tokenizer.special_tokens and not text.startswith("<0x")]


def of_sentencepiece(texts: list[str], size: int, **options: Any) -> sentencepiece.SentencePieceProcessor:
    """Train without any other normalization."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=size,
        model_type="bpe",
        normalization_rule_name="identity",
        max_sentence_length=100_000_000,
        hard_vocab_limit=False,
        bos_id=-1,
        eos_id=-1,
        minloglevel=2,
        **{"character_coverage": 1.0, **options},
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def test_pieces_and_merges_are_those_of_the_definition() -> None:
    rng = random.Random(SEED)
    for case in range(200):
        texts, size = random_texts(rng, rng.choice(("", "\n▁"))), rng.randint(14, 80)
        least, longest = rng.choice((1, 1, 2, 5)), rng.choice((16, 5, 2))
        coverage, required = rng.choice((1.0, 1.0, 0.9, 0.5)), rng.choice(("", "qa"))
        made = train(
            iter(texts),
            size + 1,
            min_frequency=least,
            max_token_length=longest,
            character_coverage=coverage,
            required_characters=required,
            **PLAIN,
            **STYLE,
        )
        options: dict[str, Any] = {"least": least, "longest": longest, "coverage": coverage, "required": required}
        pieces, merges = sentencepiece_bpe(words_of(texts), size, **options)
        assert entries(made) == pieces, (SEED, case)
        assert [(left.decode(), right.decode()) for left, right in made.merges] == merges, (SEED, case)


def test_pieces_are_those_of_the_trainer_of_sentencepiece_in_its_order() -> None:
    """Where no pair is left it goes on with pairs that are no more, and it may leave ``▁`` out of the alphabet."""
    rng = random.Random(SEED)
    for case in range(200):
        texts, size = random_texts(rng), rng.randint(14, 80)
        options = {"character_coverage": rng.choice((1.0, 0.98)), **random_borders(rng)}
        theirs = of_sentencepiece(texts, size, **options)
        pieces = [theirs.id_to_piece(id) for id in range(1, theirs.get_piece_size())]
        if "▁" not in pieces:
            continue
        ours = train(iter(texts), size, **options, **STYLE)
        made, known = [(left + right).decode() for left, right in ours.merges], entries(ours)
        assert [piece for piece in pieces if len(piece) > 1][: len(made)] == made, (SEED, case)
        assert {piece for piece in pieces if len(piece) == 1} == {piece for piece in known if len(piece) == 1}


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_an_artifact_and_its_exports_give_the_ids_of_sentencepiece(byte_fallback: bool, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    for case in range(40):
        texts = [TEXT, *random_texts(rng, "\n")]
        made = train(
            iter(texts),
            rng.randint(330, 420),
            special_tokens=["<unk>", "<s>", "</s>"],
            byte_fallback=byte_fallback,
            character_coverage=rng.choice((1.0, 0.97)),
            **(options := random_borders(rng)),
            add_dummy_prefix=(has_prefix := rng.random() < 0.7),
            **STYLE,
        )
        made.save(tmp_path / str(case))
        again = Tokenizer.open(tmp_path / str(case))
        theirs = tokenizers.Tokenizer.from_file(str(tmp_path / str(case) / "tokenizer.json"))
        model = to_sentencepiece(made.parts)
        (tmp_path / f"{case}.model").write_bytes(model)
        piece, read = (
            sentencepiece.SentencePieceProcessor(model_proto=model),
            Tokenizer.load(tmp_path / f"{case}.model"),
        )
        assert again.hash == made.hash
        for text in (*texts, *random_texts(rng, "💥\n▁z"), "", " ", "  a", "lower 💥 é\n\n", "日本日本"):
            ids = list(made.encode(text, special_tokens="text"))
            assert ids == list(again.encode(text, special_tokens="text")) == theirs.encode(text).ids, (SEED, case, text)
            assert ids == piece.encode(text) == list(read.encode(text)), (SEED, case, text)
            if byte_fallback and has_prefix and "▁" not in text and not options["remove_extra_whitespaces"]:
                assert made.decode(ids) == theirs.decode(ids) == piece.decode(ids) == text


def test_sizes_are_the_beginnings_of_the_largest_and_what_each_alone_is() -> None:
    settings = SentencePieceBpeSettings(vocab_size=120, byte_fallback=False)
    small, large = train_sizes(iter([TEXT]), [80, 120], settings)
    assert entries(large)[: len(entries(small))] == entries(small)
    assert small.hash == train(iter([TEXT]), 80, **STYLE).hash
    assert large.hash == train(iter([TEXT]), 120, **STYLE).hash


def test_threads_and_borders_of_blocks_change_nothing(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    words = ["".join(rng.choices("abcdeé日!.-1", k=rng.randint(1, 9))) for _ in range(300)]
    # More than a block, so that one document is cut for several threads.
    text = "".join(rng.choice(words) + rng.choice((" ", "  ", "\n", " \n")) for _ in range(400_000))
    (tmp_path / "corpus.txt").write_text(text, encoding="utf-8")
    made = {train(tmp_path / "corpus.txt", 200, threads=threads, **STYLE).hash for threads in (1, 2, 3)}
    assert made == {train(iter([text]), 200, **STYLE).hash}


def test_a_recipe_says_the_style_and_publishes_every_size(tmp_path: Path) -> None:
    given = {"corpus": {"texts": [TEXT]}, **STYLE, "vocab_size": 120, "sizes": [100], "tie_break": "lowest_ids"}
    recipe = Recipe.from_dict(given)
    assert Recipe.from_dict(recipe.to_dict()) == recipe
    TrainingRun(tmp_path / "run", recipe).publish(tmp_path / "made")
    large, small = Tokenizer.open(tmp_path / "made"), Tokenizer.open(tmp_path / "made-100")
    assert large.hash == train(iter([TEXT]), 120, tie_break="lowest_ids", **STYLE).hash
    assert small.hash == train(iter([TEXT]), 100, tie_break="lowest_ids", **STYLE).hash
    assert large.provenance["settings"]["style"] == "sentencepiece"


def test_a_character_that_is_a_special_token_is_no_entry_of_the_alphabet() -> None:
    made = train(iter(["BABA ba ba"]), 12, special_tokens=["<unk>", "a"], normalizer=["lowercase"], **STYLE)
    assert "a" not in entries(made)
    assert made.special_tokens == {"<unk>": 0, "a": 1}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"style": "wordpiece"}, "style"),
        ({"model": "wordpiece", "style": "sentencepiece"}, "style"),
        ({**STYLE, "pattern": "gpt2"}, "pattern"),
        ({**STYLE, "limit_alphabet": 3}, "limit_alphabet"),
        ({**STYLE, "character_coverage": 0}, "character_coverage"),
        ({**STYLE, "character_coverage": 1.1}, "character_coverage"),
        ({**STYLE, "character_coverage": True}, "character_coverage"),
        ({**STYLE, "special_tokens": ["▁"]}, "special_tokens[0]"),
        ({**STYLE, "unk": "<0x0A>"}, "unk"),
        ({**STYLE, "required_characters": "a b"}, "required_characters"),
        ({**STYLE, "byte_fallback": True, "vocab_size": 257}, "vocab_size"),
        ({**STYLE, "max_token_length": 0}, "max_token_length"),
        ({**STYLE, "tie_break": "random"}, "tie_break"),
        ({**STYLE, "extends": "artifact"}, "style"),
        ({"character_coverage": 0.5}, "character_coverage"),
    ],
    ids=str,
)
def test_settings_of_another_style_are_refused_by_name(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        Recipe.from_dict({"corpus": {"texts": [TEXT]}, **given})
    assert refused.value.path.startswith(field)


def test_what_sentencepiece_would_join_otherwise_is_not_exported() -> None:
    for options in ({"model": "word"}, {"model": "bpe", "vocab_size": 300}, {**STYLE, "normalizer": ["bert"]}):
        settings: dict[str, Any] = {"vocab_size": 120, **options}
        with pytest.raises(Unsupported):
            to_sentencepiece(train(iter([TEXT]), **settings).parts)


@needs_data
@pytest.mark.slow
def test_held_out_text_has_the_tokens_that_sentencepiece_makes_of_it() -> None:
    """Its trainer looks only at the pairs that were frequent a moment ago, so its merges differ a little."""
    lines = [line for line in corpus("english").split("\n") if line.strip()]
    known, held_out = [line for at, line in enumerate(lines) if at % 10], lines[::10][:4000]
    theirs, ours = of_sentencepiece(known, 8000), train(iter(known), 8000, **STYLE)
    tokens = sum(len(ids) for ids in ours.encode_batch(held_out, special_tokens="text"))
    assert tokens <= 1.001 * sum(map(len, theirs.encode(held_out)))
