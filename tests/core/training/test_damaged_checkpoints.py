"""A checkpoint that is damaged anywhere is made again or refused by name, whatever the model: it changes no result."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import text
from tokenizer_core import InvalidCorpus, Recipe, TrainingRun

MODELS: dict[str, dict[str, Any]] = {
    "bpe": {"model": "bpe", "vocab_size": 300},
    "sentencepiece": {"model": "bpe", "style": "sentencepiece", "vocab_size": 80},
    "wordpiece": {"model": "wordpiece", "vocab_size": 80},
    "unigram": {"model": "unigram", "vocab_size": 60},
    "word": {"model": "word", "vocab_size": 40},
    "character": {"model": "character", "vocab_size": 20},
}


def damaged(dice: random.Random, data: bytes) -> bytes:
    """Damage one place: a bit, a digit that stays one, a stretch of zeros, a line, or all behind it."""
    at, how = dice.randrange(len(data)), dice.randrange(5)
    digits = [place for place, byte in enumerate(data) if 48 <= byte < 58]
    if how == 0:
        return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]
    if how == 1:
        at = dice.choice(digits)
        return data[:at] + bytes([48 + (data[at] - 48 + dice.randint(1, 9)) % 10]) + data[at + 1 :]
    if how == 2:
        return data[:at] + bytes(len(data[at : at + 16])) + data[at + 16 :]
    if how == 3:
        lines = data.splitlines(keepends=True)
        del lines[dice.randrange(len(lines))]
        return b"".join(lines)
    return data[:at]


@pytest.mark.nightly
@pytest.mark.parametrize("model", MODELS)
def test_a_damaged_checkpoint_changes_no_result(tmp_path: Path, model: str) -> None:
    dice = random.Random(20_26)
    recipe = Recipe.from_dict({"corpus": {"texts": [text(1), text(2)]}, **MODELS[model]})
    truth = TrainingRun(tmp_path, recipe).tokenizers()[0].hash
    for name in ("merges-*", "counted-*", "counts/*.sorted"):
        (path,) = tmp_path.glob(name)
        whole = path.read_bytes()
        for case in range(30):
            (log,) = tmp_path.glob("merges-*")
            kept = log.read_bytes()
            path.write_bytes(damage := damaged(dice, whole))
            if path != log:
                log.unlink()
            try:
                assert TrainingRun(tmp_path, recipe).tokenizers()[0].hash == truth, (name, case, damage)
            except InvalidCorpus as refused:
                named = refused.place["file"]
                assert named == str(path), named
            log.write_bytes(kept)
            path.write_bytes(whole)
