"""The harness of ``benchmarks models``: what it reads of the peers, and when it fails."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from benchmarks import model_trainers, models
from tokenizer_core import train

pytestmark = pytest.mark.nightly

TEXT = "low lower lowest newer newest wide wider widest in the harbour of the town"


def test_the_merges_of_sentencepiece_are_found_again_from_its_pieces(tmp_path: Path) -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([TEXT]),
        model_writer=model,
        model_type="bpe",
        vocab_size=50,
        normalization_rule_name="identity",
        bos_id=-1,
        eos_id=-1,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ours = train(iter([TEXT]), theirs.get_piece_size(), style="sentencepiece")
    found = list(model_trainers.merges(model_trainers.of_sentencepiece(theirs)))
    assert found[: len(ours.merges)] == [(left.decode(), right.decode()) for left, right in ours.merges]
    (tmp_path / "held.txt").write_text(TEXT, encoding="utf-8")
    counted = model_trainers.score("BPE of SentencePiece", model_trainers.of_tokd(ours), tmp_path / "held.txt")
    assert counted == {"tokens": len(ours.encode(TEXT))}


@pytest.mark.parametrize(
    ("cells", "worse"),
    [
        ({"tokd": {"tokens": 1005}, "other": {"tokens": 1000}}, False),
        ({"tokd": {"tokens": 1006}, "other": {"tokens": 1000}}, True),
        ({"tokd": {"tokens": 9}, "other": {"failure": "over 5 s"}}, False),
        ({"tokd": {"failure": "no memory"}, "other": {"tokens": 9}}, True),
        ({"tokd": {"equal": True}, "other": {"equal": False}}, True),
        ({"tokd": {"tokens": 9, "likelihood": -1.1}, "other": {"tokens": 9, "likelihood": -1.0}}, True),
    ],
)
def test_a_worse_result_fails(cells: dict[str, dict[str, Any]], worse: bool) -> None:
    assert models.is_worse(cells) is worse
