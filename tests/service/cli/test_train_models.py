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
    assert {path.name for path in Path("mine.report").iterdir()} >= {"report.md", "report.json", "merges.svg"}


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
        (["--limit-alphabet", "5"], "--limit-alphabet: the model 'bpe' takes no limit_alphabet"),
        (["--model", "wordpiece", "--extend", "mine"], "--extend: only byte-level BPE"),
    ):
        assert named in refused(capsysbinary, "invalid_settings", 2, [*ANY, *flags, "-o", "x"])
