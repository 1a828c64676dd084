"""WordPiece, words and characters: trained as Hugging Face's trainers do, and as the definition says."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tests.support.data import CORPORA, corpus, needs_data
from tokenizer_core import (
    Cancelled,
    CharacterSettings,
    InvalidOption,
    InvalidSettings,
    Recipe,
    Tokenizer,
    TrainingRun,
    WordPieceSettings,
    WordSettings,
    train,
    train_sizes,
)
from tokenizer_core.reference.trainers.word_piece import word_piece

SEED = 20_26


def random_texts(rng: random.Random) -> list[str]:
    """Make texts of few letters, with long runs and many ties."""
    letters = rng.choice(("ab", "abc ", "aé日 ", "the  \nsx1", "a", "abcdefgh  "))
    draw: Callable[[], str] = lambda: rng.choice(letters) * rng.choice((1, 1, 1, 2, 3, 7))  # noqa: E731
    return ["".join(draw() for _ in range(rng.randint(1, 120))) + "x" for _ in range(rng.randint(1, 4))]


def entries(tokenizer: Tokenizer) -> list[str]:
    return [entry for entry, _ in tokenizer.parts.vocabulary.token_texts()]


def learned(tokenizer: Tokenizer) -> list[str]:
    return [entry for entry in entries(tokenizer) if entry not in tokenizer.special_tokens]


def of_hugging_face(texts: Iterator[str], size: int, least: int, first: list[str], **options: Any) -> list[str]:
    """Return the entries of Hugging Face's trainer by id.

    It gives the characters inside words their ids in the order of a hash table, which differs from run to run, and
    breaks ties by ids. ``first`` fixes these ids.
    """
    theirs = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    if options.get("normalizer"):
        theirs.normalizer = normalizers.BertNormalizer()
        theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        theirs.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(vocab_size=size, min_frequency=least, special_tokens=first, show_progress=False)
    theirs.train_from_iterator(texts, trainer)
    vocab = json.loads(theirs.to_str())["model"]["vocab"]
    return sorted(vocab, key=vocab.__getitem__)


def alphabet(vocabulary: list[str]) -> list[str]:
    """Return the characters at the beginning of a vocabulary: no product is one."""
    single = [entry for entry in vocabulary if len(entry.removeprefix("##")) == 1]
    assert vocabulary[: len(single)] == single
    return single


@pytest.mark.slow
def test_a_thousand_random_word_pieces_are_those_of_hugging_face_with_their_ids() -> None:
    rng = random.Random(SEED)
    for case in range(1000):
        texts, size, least = random_texts(rng), rng.randint(30, 150), rng.choice((0, 1, 2, 5))
        ours = train(iter(texts), size + 1, model="wordpiece", pretokenizer="whitespace_split", min_frequency=least)
        vocabulary = learned(ours)
        theirs = of_hugging_face(iter(texts), size, least, alphabet(vocabulary))
        assert vocabulary == theirs, (SEED, case)


@pytest.mark.nightly
@needs_data
@pytest.mark.parametrize("name", CORPORA)
def test_word_pieces_of_a_real_corpus_are_those_of_hugging_face(name: str) -> None:
    text = corpus(name)
    ours = train(iter([text]), 8001, model="wordpiece", normalizer=["bert"])
    vocabulary = learned(ours)
    theirs = of_hugging_face(iter([text]), 8000, 0, alphabet(vocabulary), normalizer=True)
    assert len(vocabulary) == 8000
    assert vocabulary == theirs


@pytest.mark.nightly
@pytest.mark.parametrize("score", ["count", "likelihood"])
def test_word_pieces_are_those_of_the_definition(score: Any) -> None:
    rng = random.Random(SEED)
    for case in range(150):
        texts = random_texts(rng)
        if case % 3 == 0:
            # Words that begin with the prefix, whose products may be spelled as other tokens.
            texts.append("## ### ####a ##a #a# a## " * rng.randint(1, 4))
        least, limit = rng.choice((1, 1, 2, 5)), rng.choice((None, None, 3))
        ours = train(
            iter(texts),
            (size := rng.randint(30, 80)) + 1,
            model="wordpiece",
            pretokenizer="whitespace_split",
            score=score,
            min_frequency=least,
            limit_alphabet=limit,
        )
        words = Counter(word for text in texts for word in text.split())
        truth = word_piece(words, size, score=score, least=least, limit_alphabet=limit)
        assert learned(ours) == truth, (SEED, case)


def test_likelihood_prefers_tokens_that_are_seldom_apart() -> None:
    """``qu`` occurs 3 times and its ``q`` never alone; ``ab`` occurs 4 times, but its letters 8 and 9 times."""
    text = "qu qu qu ab ab ab ab a a a a b b b b b"
    options: dict[str, Any] = {"model": "wordpiece", "pretokenizer": "whitespace_split"}
    made = {score: learned(train(iter([text]), 8, score=score, **options))[-1] for score in ("count", "likelihood")}
    assert made == {"count": "ab", "likelihood": "qu"}


def test_words_and_their_ids_are_those_of_hugging_face() -> None:
    rng = random.Random(SEED)
    for case in range(100):
        texts, size, least = random_texts(rng), rng.randint(2, 40), rng.choice((0, 1, 2, 3))
        theirs = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
        theirs.pre_tokenizer = pre_tokenizers.Whitespace()
        trainer = trainers.WordLevelTrainer(
            vocab_size=size, min_frequency=least, special_tokens=["[UNK]"], show_progress=False
        )
        theirs.train_from_iterator(texts, trainer)
        ours = train(iter(texts), size, model="word", min_frequency=least)
        by_id = sorted(theirs.get_vocab().items(), key=lambda item: item[1])
        assert ["[UNK]", *learned(ours)] == [entry for entry, _ in by_id], (SEED, case)


def test_characters_are_taken_by_count_and_then_in_order() -> None:
    ours = train(iter(["baab c日"]), 5, model="character")
    assert learned(ours) == ["a", "b", " ", "c"]
    assert ours.decode(ours.encode("abc cab")) == "abc cab"
    assert list(ours.encode("a日b")) == [1, ours.special_tokens["[UNK]"], 2]


SETTINGS: dict[str, dict[str, Any]] = {
    "wordpiece": {"normalizer": ["bert_cased"], "special_tokens": ["[PAD]", "[UNK]", "[CLS]"]},
    "word": {"normalizer": ["lowercase"], "special_tokens": ["<eos>"], "unk": "<unk>"},
    "character": {"normalizer": ["nfc"]},
    "unigram": {"special_tokens": ["<s>", "</s>"], "required_characters": "zé"},
}
NESTED = [model for model in SETTINGS if model != "unigram"]
TEXT = "Low lower lowest, newer newest: wide wider widest 日本 日本語! It's 12,5 naïve cafés.\n" * 5


@pytest.mark.parametrize("model", SETTINGS)
def test_an_artifact_gives_the_same_ids_in_hugging_face(model: Any, tmp_path: Path) -> None:
    made = train(iter([TEXT]), 120, model=model, **SETTINGS[model])
    made.save(tmp_path / "made")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "made" / "tokenizer.json"))
    again = Tokenizer.open(tmp_path / "made")
    assert again.hash == made.hash
    for text in (TEXT, "lowest of the low", "zebra 💥 ##low", "", " \n "):
        ids = theirs.encode(text).ids
        assert list(made.encode(text)) == list(again.encode(text)) == ids
        assert made.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    assert list(made.special_tokens.values()) == list(range(len(made.special_tokens)))


@pytest.mark.parametrize("model", NESTED)
def test_a_run_that_is_continued_gives_the_same_bytes(model: str, tmp_path: Path) -> None:
    recipe = Recipe.from_dict(
        {"corpus": {"texts": [TEXT]}, "model": model, "vocab_size": 120, "sizes": [100], **SETTINGS[model]}
    )
    assert Recipe.from_dict(recipe.to_dict()) == recipe

    def stop(_: object) -> None:
        raise Cancelled("the caller stops")

    whole = TrainingRun(tmp_path / "whole", recipe)
    whole.publish(tmp_path / "a")
    TrainingRun(tmp_path / "parts", recipe).count()
    with pytest.raises(Cancelled):
        TrainingRun(tmp_path / "parts", recipe, progress=stop).merge()
    TrainingRun(tmp_path / "parts", recipe).merge()
    TrainingRun(tmp_path / "parts", recipe).publish(tmp_path / "b")
    for end in ("", "-100"):
        assert (tmp_path / f"a{end}" / "tokenizer.json").read_bytes() == (
            tmp_path / f"b{end}" / "tokenizer.json"
        ).read_bytes()
    small, large = Tokenizer.open(tmp_path / "a-100"), Tokenizer.open(tmp_path / "a")
    assert entries(large)[: small.vocab_size] == entries(small)
    report = whole.report()
    assert (report.hash, report.wanted) == (large.hash, 120)


@pytest.mark.nightly
@pytest.mark.parametrize("model", SETTINGS)
def test_threads_and_borders_of_documents_change_nothing(model: Any, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    words = ["".join(rng.choices("abcdeé日!.-1", k=rng.randint(1, 9))) for _ in range(300)]
    # More than a block, so that one document is cut for several threads.
    text = "".join(rng.choice(words) + rng.choice((" ", "  ", "\n", " \n")) for _ in range(400_000))
    (tmp_path / "corpus.txt").write_text(text, encoding="utf-8")
    options: dict[str, Any] = {"model": model, **SETTINGS[model]}
    made = {train(tmp_path / "corpus.txt", 200, threads=threads, **options).hash for threads in (1, 2, 3)}
    assert made == {train(iter([text]), 200, **options).hash}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"model": "markov"}, "model"),
        ({"model": "wordpiece", "pattern": "gpt2"}, "pattern"),
        ({"model": "wordpiece", "tie_break": "lowest_ids"}, "tie_break"),
        ({"model": "word", "score": "count"}, "score"),
        ({"model": "character", "pretokenizer": "bert"}, "pretokenizer"),
        ({"score": "likelihood"}, "score"),
        ({"model": "wordpiece", "score": "best"}, "score"),
        ({"model": "wordpiece", "prefix": ""}, "prefix"),
        ({"model": "wordpiece", "limit_alphabet": 0}, "limit_alphabet"),
        ({"model": "wordpiece", "pretokenizer": "gpt2"}, "pretokenizer"),
        ({"model": "word", "unk": ""}, "unk"),
        ({"model": "word", "special_tokens": ["a", "a"]}, "special_tokens[1]"),
        ({"model": "word", "special_tokens": [""]}, "special_tokens"),
        ({"model": "word", "vocab_size": 1}, "vocab_size"),
        ({"model": "word", "vocab_size": 1 << 23}, "vocab_size"),
        ({"model": "word", "min_frequency": -1}, "min_frequency"),
        ({"model": "word", "normalizer": ["rot13"]}, "normalizer[0]"),
        ({"model": "word", "normalizer": ["nfc"] * 17}, "normalizer"),
        ({"model": "word", "extends": "artifact"}, "extends"),
        ({"model": "word", "sizes": [1]}, "sizes[0]"),
        ({"model": "word", "eos": "</s>"}, "eos"),
        ({"model": "unigram", "min_frequency": 3}, "min_frequency"),
        ({"model": "unigram", "shrinking_factor": 1}, "shrinking_factor"),
        ({"model": "unigram", "shrinking_factor": "0.5"}, "shrinking_factor"),
        ({"model": "unigram", "n_sub_iterations": 0}, "n_sub_iterations"),
        ({"model": "unigram", "max_token_length": 256}, "max_token_length"),
        ({"model": "unigram", "seed_size": 0}, "seed_size"),
        ({"model": "unigram", "byte_fallback": True, "vocab_size": 257}, "vocab_size"),
        ({"model": "unigram", "byte_fallback": 1}, "byte_fallback"),
        ({"model": "word", "byte_fallback": True}, "byte_fallback"),
    ],
    ids=str,
)
def test_settings_that_a_model_does_not_take_are_refused_by_name(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        Recipe.from_dict({"corpus": {"texts": [TEXT]}, **given})
    assert refused.value.path.startswith(field)


def test_an_alphabet_larger_than_the_vocabulary_is_refused() -> None:
    for size in (5, 10):
        with pytest.raises(InvalidOption, match="alphabet"):
            train(iter([TEXT]), size, model="wordpiece")
    with pytest.raises(InvalidOption, match="alphabet"):
        train_sizes(iter([TEXT]), [200, 10], WordPieceSettings())
    assert train(iter([TEXT]), 10, model="wordpiece", limit_alphabet=3).vocab_size == 10


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"special_tokens": ["low", "##w"]}, "special_tokens[1]"),
        ({"special_tokens": ["l"], "normalizer": ["lowercase"]}, "special_tokens[0]"),
        ({"unk": "##w"}, "unk"),
    ],
    ids=str,
)
def test_a_special_token_that_is_spelled_as_a_character_of_word_pieces_is_refused_by_name(
    given: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidOption, match="another literal") as refused:
        train(iter(["new newer newest Lower"]), 60, model="wordpiece", pretokenizer="whitespace_split", **given)
    assert refused.value.place["field"] == field


def test_settings_of_every_model_can_be_written_as_json() -> None:
    for settings in (WordPieceSettings(), WordSettings(unk="<unk>"), CharacterSettings(special_tokens=["[UNK]"])):
        assert json.loads(json.dumps(settings.to_dict()))["model"] == settings.name


def test_a_decoder_joins_word_pieces_as_hugging_face_does() -> None:
    made = train(iter([TEXT]), 100, model="wordpiece", prefix="@@")
    ids = list(made.encode("lowest of newer"))
    decoder = decoders.WordPiece(prefix="@@")
    texts = {id: entry for entry, id in made.parts.vocabulary.token_texts()} | {0: "[UNK]"}
    assert made.decode(ids) == decoder.decode([texts[id] for id in ids])
