"""``tokd train --model``: every model ends as an artifact with a report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from service.cli import main
from tests.service.cli.training import FLAGS, refused
from tokenizer_core import Tokenizer

ANY = FLAGS[:-2]
"""Flags of every model: all but the pattern."""

OF_MODELS = {
    "wordpiece": ["--score", "likelihood", "--normalizer", "bert", "--prefix", "@@", "--limit-alphabet", "50"],
    "word": ["--pretokenizer", "whitespace_split", "--unk", "<unk>"],
    "character": ["--normalizer", "nfc"],
    "bpe": ["--style", "sentencepiece", "--byte-fallback", "--character-coverage", "0.99", "--tie-break", "shortest"],
    "unigram": ["--byte-fallback", "--shrinking-factor", "0.5", "--n-sub-iterations", "1", "--seed-size", "5000"],
}


@pytest.mark.parametrize("model", OF_MODELS)
def test_every_model_ends_as_an_artifact_with_a_report(folder, capsysbinary, model):
    assert main(["train", *ANY, "--model", model, *OF_MODELS[model], "-o", "mine", "--json"]) == 0
    document = json.loads(capsysbinary.readouterr().out)
    tokenizer = Tokenizer.open("mine")
    assert document["hash"] == tokenizer.hash
    assert document["provenance"]["settings"]["model"] == model
    assert document["learned"]["tokens"] <= tokenizer.vocab_size <= document["asked_for"]
    written = {path.name for path in Path("mine.report").iterdir()}
    assert written >= {"report.md", "report.json", "fertility.svg"}
    assert ("merges.svg" in written) is (model in ("bpe", "wordpiece"))
    assert ("## Merges" in Path("mine.report/report.md").read_text("utf-8")) is (model in ("bpe", "wordpiece"))


def test_numbers_of_text_that_is_unknown_are_marked_and_not_drawn(folder, capsysbinary):
    Path("same.txt").write_text("low low lower\n", encoding="utf-8")
    Path("other.txt").write_text("niedrig\n", encoding="utf-8")
    texts = ["--fertility", "same=same.txt", "--fertility", "other=other.txt"]
    assert main(["train", "same.txt", "--model", "word", "--vocab-size", "9", "-o", "mine", *texts]) == 0
    shown = capsysbinary.readouterr().out.decode()
    assert "vocabulary  3 tokens of 9 asked for: no word is left" in shown
    assert "learned     2 tokens\n" in shown
    assert "in 1 document, " in shown
    assert [line.split() for line in shown.splitlines() if line.startswith(("same ", "other "))] == [
        ["same", "1.00", "4.67", "100%"],
        ["other", "1.00*", "8.00*", "0%*"],
    ]
    assert "* 1% of the characters" in shown
    assert "\\* 1% of the characters" in Path("mine.report/report.md").read_text("utf-8")
    drawn = Path("mine.report/fertility.svg").read_text("utf-8")
    assert drawn.count("<circle") == 2  # one of the text that is known, one of the key


def test_the_sizes_of_unigram_are_the_artifacts_of_runs_for_each_alone(folder, capsysbinary):
    flags = [*ANY, "--model", "unigram", *OF_MODELS["unigram"]]
    assert main(["train", *flags, "--vocab-size", "340", "--sizes", "320,300", "-o", "mine"]) == 0
    for size in (320, 300):
        assert main(["train", *flags, "--vocab-size", str(size), "-o", f"alone-{size}"]) == 0
        together, alone = Tokenizer.open(f"mine-{size}"), Tokenizer.open(f"alone-{size}")
        assert together.hash == alone.hash
        assert together.vocab_size == size


def test_a_flag_of_another_model_is_named(folder, capsysbinary):
    for flags, named in (
        (["--model", "word", "--score", "count"], "--score: the model 'word' takes no score"),
        (["--limit-alphabet", "5"], "--limit-alphabet: the model 'bpe' takes no --limit-alphabet"),
        (["--model", "wordpiece", "--extend", "mine"], "--extend: only byte-level BPE"),
    ):
        assert named in refused(capsysbinary, "invalid_settings", 2, [*ANY, *flags, "-o", "x"])
