"""The report of a training says what to do, and says nothing where nothing is wrong."""

import json
from pathlib import Path

import pytest

from service.cli import main
from service.cli.train_advice import advice
from tokenizer_core import ARTICLE_1


def fertility(tokens, *, size=100, unknown=0.0):
    return {"bytes": size, "tokens": tokens, "unknown": unknown}


def document(**changes):
    plain = {
        "fertility": {"english": fertility(25), "german": fertility(30)},
        "vocab_size": 500,
        "asked_for": 500,
        "frequencies": [[1, 9000], [100, 400], [240, 60]],
        "longest_tokens": ["international"],
    }
    return plain | changes


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


def test_a_vocabulary_that_did_not_fill_is_too_large():
    (sentence,) = advice(document(vocab_size=480))
    assert "after 480 tokens no pair is left of 500 asked for" in sentence


@pytest.mark.parametrize(("last", "is_said"), [(49, True), (50, False)])
def test_a_vocabulary_whose_last_pairs_are_rare_is_large(last, is_said):
    found = advice(document(frequencies=[[1, 9000], [100, 400], [240, last]]))
    assert bool(found) is is_said
    if found:
        assert "only about 100 of 240 merges" in found[0]
        assert "about 360 tokens" in found[0]


def test_a_run_without_merges_has_no_rare_ones():
    assert advice(document(frequencies=[])) == []


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
