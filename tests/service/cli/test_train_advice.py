"""The report of a training says what to do, and says nothing where nothing is wrong."""

import json
from pathlib import Path

import pytest

from service.cli import main
from service.reports.advice import advice
from tokenizer_core import ARTICLE_1


def fertility(tokens, *, size=100, unknown=0.0):
    return {"bytes": size, "tokens": tokens, "unknown": unknown}


def document(settings=None, **changes):
    plain = {
        "fertility": {"english": fertility(25), "german": fertility(30)},
        "vocab_size": 500,
        "asked_for": 500,
        "characters": 60,
        "sample": None,
        "learned": {"merges": 240, "rare": 0},
        "provenance": {"settings": {"max_token_length": None}},
        "longest_tokens": ["international"],
    }
    given = {} if settings is None else {"provenance": {"settings": settings}}
    return plain | given | changes


def test_nothing_is_said_where_nothing_is_wrong():
    assert advice(document()) == []


def test_languages_whose_bytes_are_tokens_are_named_together():
    texts = {"english": fertility(25), "greek": fertility(80), "thai": fertility(98), "german": fertility(40)}
    (sentence,) = advice(document(fertility=texts))
    assert "lacks greek and thai" in sentence
    assert "1.02 bytes" in sentence
    assert "4.00" in sentence
    assert "german" not in sentence


def test_text_that_is_unknown_is_named_and_is_not_praised_for_its_few_tokens():
    texts = {"english": fertility(25), "thai": fertility(2, unknown=0.9), "hindi": None, "greek": fertility(90)}
    lost, poor = advice(document(fertility=texts))
    assert "hindi and thai" in lost
    assert "greek" not in lost
    assert "the best text here has 4.00" in poor


def test_a_small_vocabulary_lacks_no_language_for_being_small():
    texts = {"english": fertility(72), "german": fertility(85), "greek": fertility(90)}
    assert advice(document(fertility=texts)) == []


@pytest.mark.parametrize(
    ("coverage", "characters", "is_said"), [(1.0, 200, True), (1.0, 60, False), (0.9995, 200, False)]
)
def test_an_alphabet_that_fills_the_vocabulary_is_named(coverage, characters, is_said):
    settings = {"model": "unigram", "character_coverage": coverage, "byte_fallback": False}
    said = advice(document(settings, characters=characters))
    assert [("--character-coverage 0.9995" in each, "200 of 500" in each) for each in said] == [(True, True)] * is_said


SPACED = {"remove_extra_whitespaces": False, "allow_whitespace_only_pieces": False, "byte_fallback": True}
JOINED = {"remove_extra_whitespaces": True, "byte_fallback": False, "normalizer": ["nfkc"]}


@pytest.mark.parametrize(
    ("settings", "spaces", "back", "said"),
    [
        (SPACED, 300, 100, ["Lone spaces are 30% of the tokens of the corpus. Set --allow-whitespace-only-pieces"]),
        (SPACED, 90, 100, []),
        (SPACED | {"allow_whitespace_only_pieces": True}, 300, 100, []),
        (JOINED, 0, 100, []),
        (JOINED, 0, 80, ["Only 80 of 100 lines from the corpus come back"]),
        ({"pattern": None}, 300, 80, []),
    ],
)
def test_lone_spaces_and_lines_that_do_not_come_back_are_told(settings, spaces, back, said):
    sample = {"lines": 100, "back": back, "tokens": 1000, "spaces": spaces, "characters": 0}
    found = advice(document(settings, sample=sample))
    assert [each[: len(wanted)] for each, wanted in zip(found, said, strict=True)] == said
    ways = ("turn --remove-extra-whitespaces off", "set --byte-fallback", "choose another --normalizer")
    assert all((way in " ".join(found)) == (back < 100 and settings is JOINED) for way in ways)


@pytest.mark.parametrize("model", ["word", "character"])
def test_a_vocabulary_of_words_or_characters_is_not_judged_by_bytes_a_token(model):
    texts = {"japanese": fertility(33), "english": fertility(100)}
    assert advice(document({"model": model}, fertility=texts)) == []


@pytest.mark.parametrize(
    ("settings", "way"),
    [({"model": "unigram", "byte_fallback": False}, "set --byte-fallback"), ({"model": "word"}, "train --model bpe")],
)
def test_unknown_text_is_told_the_way_that_the_model_has(settings, way):
    (sentence,) = advice(document(settings, fertility={"english": fertility(25, unknown=0.2)}))
    assert way in sentence


@pytest.mark.parametrize(
    ("model", "of"),
    [("bpe", "pair"), ("wordpiece", "pair"), ("unigram", "substring"), ("word", "word"), ("character", "character")],
)
def test_a_vocabulary_that_did_not_fill_is_too_large(model, of):
    (sentence,) = advice(document({"model": model}, vocab_size=480))
    assert f"after 480 tokens no {of} is left of 500 asked for. Give more text, or ask for 480 tokens" in sentence


def test_a_limit_that_is_set_may_be_why_a_vocabulary_did_not_fill():
    settings = {"min_frequency": 40, "max_token_length": 16, "limit_alphabet": None}
    (sentence,) = advice(document(settings, vocab_size=480, learned={"merges": 240, "rare": 80}))
    assert "Give more text, change --min-frequency, or ask for 400 tokens or fewer" in sentence


@pytest.mark.parametrize(("rare", "is_said"), [(140, True), (2, False)])
def test_a_vocabulary_with_many_rare_pairs_is_large(rare, is_said):
    found = advice(document(learned={"merges": 240, "rare": rare}))
    assert bool(found) is is_said
    if found:
        assert "140 of 240 merges" in found[0]
        assert "about 360 tokens" in found[0]


def test_nobody_is_told_to_learn_nothing():
    (sentence,) = advice(document(learned={"merges": 240, "rare": 240}))
    assert sentence.endswith("so rarely. Give more text.")


def test_fewer_tokens_by_likelihood_would_keep_the_rare_pairs():
    settings = {"model": "wordpiece", "score": "likelihood"}
    (sentence,) = advice(document(settings, learned={"merges": 240, "rare": 140}))
    assert sentence.endswith("Give more text, or set --min-frequency 50.")


def test_words_are_long_however_often_their_text_comes():
    assert advice(document({"model": "word"}, longest_tokens=["Donaudampfschifffahrtsgesellschaft"])) == []


def test_long_tokens_are_of_text_that_comes_again():
    (sentence,) = advice(document(longest_tokens=["-" * 80, "All rights reserved. Use of this", "short"]))
    assert "'------------------------', 'All rights reserved. Use'" in sentence


def test_a_corpus_of_one_language_is_said_to_lack_the_others(tmp_path, monkeypatch, capsysbinary):
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text(ARTICLE_1["english"] * 100, encoding="utf-8")
    assert main(["train", "en.txt", "-o", "mine", "--vocab-size", "400"]) == 0
    shown = capsysbinary.readouterr().out.decode()
    told = json.loads(Path("mine.report/report.json").read_text("utf-8"))["advice"]
    lacking = next(sentence for sentence in told if sentence.startswith("The corpus lacks"))
    assert all(name in lacking for name in ("greek", "thai", "korean"))
    assert "english" not in lacking
    assert f"- {lacking}" in shown
    assert f"- {lacking}" in Path("mine.report/report.md").read_text("utf-8")
