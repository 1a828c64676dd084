"""Unigram against its definition in plain Python, and beside the trainers of SentencePiece and Hugging Face."""

from __future__ import annotations

import io
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from tests.support.corpora import text
from tests.support.data import corpus, needs_data
from tokenizer_core import Cancelled, CorpusTooLarge, InvalidOption, Progress, Recipe, Tokenizer, TrainingRun, train
from tokenizer_core._kernel import Counter, PieceCounts, learn_unigram
from tokenizer_core.reference.trainers.unigram import unigram
from tokenizer_core.training.unigram_settings import UnigramSettings

SEED = 20_26
TEXT = "Low lower lowest, newer newest: wide wider widest 日本 日本語! It's 12,5 naïve cafés.\n" * 5


def pieces_of(texts: list[str]) -> PieceCounts:
    counter = Counter(UnigramSettings(normalizer=()).pipeline().to_json(), threads=1)
    counter.feed_documents(texts)
    return counter.finish(None)


def random_texts(rng: random.Random) -> list[str]:
    letters = rng.choice(("ab", "abc ", "aé日 ", "the  sx1", "a", "abcdefgh  "))
    return [
        "".join(rng.choice(letters) * rng.choice((1, 1, 1, 2, 3, 7)) for _ in range(rng.randint(1, 120))) + " x"
        for _ in range(rng.randint(1, 4))
    ]


def test_pieces_and_scores_are_those_of_the_definition_to_the_last_bit() -> None:
    rng = random.Random(SEED)
    for case in range(100):
        counts, size = pieces_of(random_texts(rng)), rng.randint(12, 60)
        options: dict[str, Any] = {
            "seed_size": rng.choice((10**6, 30)),
            "shrinking_factor": rng.choice((0.75, 0.5, 0.9)),
            "n_sub_iterations": rng.choice((1, 2, 3)),
            "max_token_length": rng.choice((16, 5, 3)),
            "required_characters": rng.choice(("", "qa")),
        }
        (found,), characters = learn_unigram(counts, [size], threads=rng.choice((1, 2, 3)), **options)
        words = {piece.decode(): count for piece, count in counts.items(0, len(counts))}
        assert [(piece.decode(), score) for piece, score in found] == unigram(words, size, **options), (SEED, case)
        assert sum(len(piece.decode()) == 1 for piece, _ in found) == characters


def test_several_sizes_have_the_pieces_and_scores_of_a_run_for_each_alone() -> None:
    rng = random.Random(SEED)
    for case in range(60):
        counts = pieces_of(random_texts(rng))
        sizes = [rng.randint(12, 60) for _ in range(rng.randint(1, 5))]
        factor = rng.choice((0.75, 0.5, 0.9))
        together, _ = learn_unigram(counts, sizes, shrinking_factor=factor, threads=rng.choice((1, 2)))
        alone = [learn_unigram(counts, [size], shrinking_factor=factor)[0][0] for size in sizes]
        assert together == alone, (SEED, case)


def test_a_size_below_the_alphabet_is_refused_as_a_size() -> None:
    counts = pieces_of(["low lower lowest"])
    for sizes, field in (([3], "vocab_size"), ([3, 4], "vocab_size"), ([20, 3], "sizes")):
        with pytest.raises(InvalidOption) as refused:
            learn_unigram(counts, sizes)
        assert refused.value.place["field"] == field


def test_sizes_of_a_run_are_the_artifacts_of_runs_for_each_alone(tmp_path: Path) -> None:
    settings = {"corpus": {"texts": [TEXT]}, "model": "unigram", "byte_fallback": True}
    sizes = (310, 330, 310, 290)
    recipe = Recipe.from_dict({**settings, "vocab_size": 320, "sizes": list(sizes)})
    run = TrainingRun(tmp_path / "run", recipe)
    run.merge()
    many = [one.hash for one in TrainingRun(tmp_path / "run", recipe).tokenizers()]
    assert many == [one.hash for one in run.tokenizers()]
    for size, found in zip((320, *sizes), many, strict=True):
        alone = train(iter([TEXT]), size, model="unigram", byte_fallback=True)
        assert alone.hash == found, size


def test_the_phases_have_names_and_every_round_of_pruning_is_told(tmp_path: Path) -> None:
    told: list[Progress] = []
    recipe = Recipe.from_dict({"corpus": {"texts": [TEXT * 20]}, "model": "unigram", "vocab_size": 60, "sizes": [50]})
    run = TrainingRun(tmp_path, recipe, progress=told.append)
    run.merge()
    assert run.learns == "characters"
    assert (told[-1].phase, told[-1].unit) == ("pruning", "rounds")
    assert told[-1].done == told[-1].total
    assert {(one.phase, one.unit) for one in told} <= {
        ("counting", "bytes"),
        ("seeds", "characters"),
        ("pruning", "rounds"),
    }
    rounds: list[tuple[str, int, int]] = []
    learn_unigram(pieces_of([text(1, 4000)]), [150], shrinking_factor=0.95, progress=lambda *step: rounds.append(step))
    made = [done for unit, done, _ in rounds if unit == "rounds"]
    assert sorted(set(made)) == list(range(made[-1] + 1))
    assert made == sorted(made)
    assert rounds[-1][1] == rounds[-1][2] > 1


def test_memory_that_learning_cannot_do_with_is_refused_with_what_it_needs(tmp_path: Path) -> None:
    recipe = Recipe.from_dict({"corpus": {"texts": [TEXT]}, "model": "unigram", "vocab_size": 60})
    with pytest.raises(CorpusTooLarge, match="needs 1 MB of memory") as refused:
        TrainingRun(tmp_path, recipe, memory=1000).merge()
    assert refused.value.place["field"] == "memory"
    bounded = TrainingRun(tmp_path, recipe, memory=1_000_000).tokenizers()
    assert bounded[0].hash == TrainingRun(tmp_path / "free", recipe).tokenizers()[0].hash


@pytest.mark.nightly
def test_a_word_of_a_million_characters_takes_no_recursion_and_no_square() -> None:
    rng = random.Random(SEED)
    word = "".join(rng.choices("abcdefgh", k=1_000_000))
    (found,), _ = learn_unigram(pieces_of([word]), [500])
    assert len(found) == 500


@pytest.mark.parametrize("byte_fallback", [False, True])
def test_a_text_that_no_entry_covers_becomes_unknown_or_its_bytes(byte_fallback: bool, tmp_path: Path) -> None:
    made = train(iter([TEXT]), 320, model="unigram", byte_fallback=byte_fallback)
    text = "lower 💥 widest"
    ids = list(made.encode(text))
    assert (made.special_tokens["<unk>"] in ids) != byte_fallback
    made.save(tmp_path / "made")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "made" / "tokenizer.json"))
    assert ids == theirs.encode(text).ids == list(Tokenizer.open(tmp_path / "made").encode(text))
    if byte_fallback:
        assert made.decode(ids) == text


def test_a_run_that_is_continued_gives_the_same_bytes(tmp_path: Path) -> None:
    recipe = Recipe.from_dict({"corpus": {"texts": [TEXT]}, "model": "unigram", "vocab_size": 60})
    assert Recipe.from_dict(recipe.to_dict()) == recipe

    def stop(_: object) -> None:
        raise Cancelled("the caller stops")

    TrainingRun(tmp_path / "whole", recipe, threads=1).publish(tmp_path / "a")
    TrainingRun(tmp_path / "parts", recipe).count()
    with pytest.raises(Cancelled):
        TrainingRun(tmp_path / "parts", recipe, progress=stop).merge()
    TrainingRun(tmp_path / "parts", recipe, threads=3).merge()
    TrainingRun(tmp_path / "parts", recipe).publish(tmp_path / "b")
    assert (tmp_path / "a" / "tokenizer.json").read_bytes() == (tmp_path / "b" / "tokenizer.json").read_bytes()


def test_scores_are_the_same_after_they_are_written_and_read(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    for case in range(30):
        made = train(iter(random_texts(rng)), 40, model="unigram", n_sub_iterations=1)
        made.save(tmp_path / str(case))
        assert Tokenizer.open(tmp_path / str(case)).parts.vocabulary.scores() == made.parts.vocabulary.scores()


def test_an_alphabet_larger_than_the_vocabulary_is_refused() -> None:
    with pytest.raises(InvalidOption, match="alphabet"):
        train(iter([TEXT]), 10, model="unigram")
    assert train(iter([TEXT]), 10, model="unigram", limit_alphabet=5).vocab_size == 10


def tokens(pieces: list[tuple[str, float]], texts: list[str]) -> int:
    """Count the tokens of texts, all with the same engine."""
    engine = tokenizers.Tokenizer(models.Unigram([("<unk>", 0.0), *pieces], 0, False))
    engine.pre_tokenizer = pre_tokenizers.Metaspace()
    return sum(len(encoding.ids) for encoding in engine.encode_batch(texts))


def of_hugging_face(texts: list[str], size: int) -> list[tuple[str, float]]:
    theirs = tokenizers.Tokenizer(models.Unigram())
    theirs.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    theirs.train_from_iterator(texts, trainer)
    return [(piece, score) for piece, score in json.loads(theirs.to_str())["model"]["vocab"][1:]]


def of_sentencepiece(texts: list[str], size: int) -> list[tuple[str, float]]:
    """Train with the same settings: no other normalization, and no borders between scripts and digits."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=size,
        model_type="unigram",
        character_coverage=1.0,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        split_by_unicode_script=False,
        split_by_number=False,
        max_sentence_length=100_000,
        bos_id=-1,
        eos_id=-1,
        minloglevel=2,
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [(theirs.id_to_piece(id), theirs.get_score(id)) for id in range(1, theirs.get_piece_size())]


@pytest.mark.nightly
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), [("english", 8000), ("ja", 16_000)])
def test_held_out_text_has_no_more_tokens_than_with_other_trainers(name: str, size: int) -> None:
    lines = [line for line in corpus(name).split("\n") if line.strip()]
    known, held_out = [line for at, line in enumerate(lines) if at % 10], lines[::10][:4000]
    (found,), _ = learn_unigram(pieces_of(known), [size - 1])
    ours = tokens([(piece.decode(), score) for piece, score in found], held_out)
    assert ours <= tokens(of_hugging_face(known, size), held_out)
    assert ours <= tokens(of_sentencepiece(known, size), held_out)


def test_the_report_tells_the_seconds_of_learning(tmp_path: Path) -> None:
    texts = tuple(f"{left}{right} and {right} or {left}" for left in "abcdefghij" for right in "klmnopqrst") * 9
    settings = {"corpus": {"texts": list(texts)}, "model": "unigram", "vocab_size": 60}
    run = TrainingRun(tmp_path / "run", Recipe.from_dict(settings))
    before = time.monotonic()
    run.merge()
    assert 0 < run.report().seconds < time.monotonic() - before
    assert run.report().timeline[-1] == (run.report().seconds, 0)
