"""Superwords against their definition, and as others encode them."""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import regex
import tiktoken
import tokenizers

from tests.core.training.test_training_run import contents
from tests.support.corpora import TIE_BREAKS, text
from tokenizer_core import InvalidOption, InvalidSettings, Recipe, Tokenizer, TrainingRun, extend, to_tiktoken, train
from tokenizer_core._kernel import Counter as PieceCounter
from tokenizer_core.patterns import LINES, PATTERNS
from tokenizer_core.reference.trainers.superwords import superwords
from tokenizer_core.training import checksummed_file
from tokenizer_core.training.merge_log import MergeLog
from tokenizer_core.training.settings import TrainSettings

TEXTS = [text(seed, 900) + "\n \n3141 of" + text(seed + 50, 300) for seed in range(4)]
HELD_OUT = text(99, 2000) + "\r\n\n  3141592 '\t\u3000日  \n" + text(98, 500)


def lines_of(texts: list[str], pattern: str) -> dict[bytes, int]:
    """Count the pieces in which words are joined, in the order in which they come."""
    return dict(Counter(piece.encode() for one in texts for piece in regex.findall(LINES[pattern], one)))


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_merges_are_those_of_the_definition_and_texts_are_encoded_as_they_were_seen(
    pattern: str, tie_break: Any
) -> None:
    for share, least in ((0.7, 1), (0.9, 2), (0.1, 1), (0.999, 1)):
        made = train(iter(TEXTS), 400, pattern=pattern, tie_break=tie_break, superwords_from=share, min_frequency=least)
        pieces = lines_of(TEXTS, pattern)

        def words_of(piece: bytes) -> list[bytes]:
            return [word.encode() for word in regex.findall(PATTERNS[pattern], piece.decode())]

        merges, split = superwords(pieces, words_of, max(256, int(400 * share)), 400, tie_break, least)
        assert made.merges == merges, share
        for piece, tokens in zip(pieces, split, strict=True):
            assert [made.token_bytes(id) for id in made.encode(piece.decode()).tolist()] == tokens, piece


def test_words_that_are_used_up_are_followed_by_superwords() -> None:
    made = train(iter(["low lower\n" * 3]), 300, superwords_from=0.99)
    within = train(iter(["low lower\n" * 3]), 297)
    assert made.merges[: len(within.merges)] == within.merges
    assert made.token_bytes(made.vocab_size - 1) == b"low lower\n"
    assert made.encode("low lower\n").tolist() == [made.vocab_size - 1]


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_ids_are_those_of_hugging_face_and_tiktoken(pattern: str, tmp_path: Path) -> None:
    made = train(iter(TEXTS), 500, pattern=pattern, superwords_from=0.7, special_tokens=["<|end|>"])
    assert any(b" " in made.token_bytes(id)[1:-1] for id in range(made.vocab_size))
    made.save(tmp_path / "made")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "made" / "tokenizer.json"))
    ranks, side = to_tiktoken(made.parts)
    by_rank = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, ranks.splitlines())}
    of_ranks = tiktoken.Encoding("made", pat_str=side.regex, mergeable_ranks=by_rank, special_tokens={})
    for one in (*TEXTS, HELD_OUT):
        ids = made.encode(one).tolist()
        assert ids == theirs.encode(one).ids == of_ranks.encode_ordinary(one)
        assert ids == Tokenizer.open(tmp_path / "made").encode(one).tolist()
        assert made.decode(ids) == one


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a text and lines of JSON."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "a.txt").write_text(text(1, 30_000) * 150, encoding="utf-8")
    rows = (json.dumps({"text": text(seed, 900)}) + "\n" for seed in range(60))
    (folder / "b.jsonl").write_text("".join(rows), encoding="utf-8")
    return folder


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_bytes_depend_on_neither_threads_nor_memory_nor_segments(pattern: str, corpus: Path, tmp_path: Path) -> None:
    given = {"corpus": {"paths": [str(corpus)]}, "vocab_size": 600, "superwords_from": 0.6, "pattern": pattern}
    recipe = Recipe.from_dict({**given, "special_tokens": ["aé"], "normalizer": ["nfd"]})
    truth = None
    for threads, shard_bytes, memory in ((1, 1 << 28, 1 << 30), (2, 1 << 16, 1 << 30), (4, 1, 1)):
        run = TrainingRun(tmp_path / f"{threads}", recipe, threads=threads, shard_bytes=shard_bytes, memory=memory)
        run.publish(tmp_path / f"{threads}" / "made")
        truth = truth or contents(tmp_path / "1" / "made")
        assert contents(tmp_path / f"{threads}" / "made") == truth
    assert len(list((tmp_path / "2" / "counts").glob("*.sorted"))) > 3


def test_merging_goes_on_from_any_merge_to_the_same_merges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_rounds: list[bytes] = []
    monkeypatch.setattr(MergeLog, "keep_rounds", lambda _, rounds: kept_rounds.append(rounds))
    for share in (0.8, 0.99):
        given = {"corpus": {"texts": TEXTS[:1]}, "vocab_size": 700, "superwords_from": share, "sizes": [300, 500]}
        recipe = Recipe.from_dict({**given, "special_tokens": ["<s>"], "initial_merges": [["a", "b"], ["ab", "c"]]})
        run = TrainingRun(tmp_path / f"{share}", recipe)
        run.merge()
        truth, (log,) = [one.hash for one in run.tokenizers()], (tmp_path / f"{share}").glob("merges-*")
        header, *lines = checksummed_file.read(log).splitlines()
        told = json.loads(header)
        first = int(kept_rounds.pop())
        for kept in [0, 1, first - 1, first, first + 1, len(lines) - 1, *random.Random(7).sample(range(len(lines)), 5)]:
            rounds = {"rounds": "" if kept < first else base64.b64encode(b"%d" % first).decode()}
            cut = told | {"complete": False, "merges": kept} | rounds
            checksummed_file.replace(log, b"\n".join([json.dumps(cut).encode(), *lines[:kept], b""]))
            again = TrainingRun(tmp_path / f"{share}", recipe)
            assert [one.hash for one in again.tokenizers()] == truth, kept
            assert again.report().frequencies == run.report().frequencies, kept


def test_extending_learns_more_superwords() -> None:
    made = train(iter(TEXTS), 320, superwords_from=0.875)
    assert extend(made, iter(TEXTS), 448).merges == train(iter(TEXTS), 448, superwords_from=0.625).merges


def test_patterns_are_known_to_the_kernel() -> None:
    assert LINES.keys() == PATTERNS.keys()
    for pattern in PATTERNS:
        settings = TrainSettings(pattern=pattern, superwords_from=0.5)
        assert PieceCounter(settings.pipeline().to_json(), threads=1).cut_places == "lines"


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"superwords_from": 0.0}, "superwords_from"),
        ({"superwords_from": 1}, "superwords_from"),
        ({"superwords_from": float("nan")}, "superwords_from"),
        ({"superwords_from": "0.5"}, "superwords_from"),
        ({"superwords_pattern": r"\S+"}, "superwords_pattern"),
        ({"superwords_from": 0.5, "pattern": r"\S+|\s+"}, "superwords_pattern"),
        ({"superwords_from": 0.5, "pattern": None}, "superwords_pattern"),
        ({"superwords_from": 0.5, "parity": True}, "superwords_from"),
        ({"superwords_from": 0.5, "superwords_pattern": "("}, "superwords_pattern"),
        ({"superwords_from": 0.5, "superwords_pattern": "\ud800"}, "superwords_pattern"),
        ({"superwords_from": 0.5, "superwords_pattern": 7}, "superwords_pattern"),
        ({"superwords_from": 0.5, "min_count": 2}, "min_count"),
    ],
)
def test_settings_without_sense_are_refused(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        TrainSettings(**settings)
    assert raised.value.place == {"field": field}


@pytest.mark.parametrize(
    "other", [{"style": "sentencepiece"}, {"model": "unigram"}, {"model": "wordpiece"}, {"extends": "artifacts/base"}]
)
def test_other_models_and_extended_ones_take_no_superwords(other: dict[str, Any]) -> None:
    with pytest.raises(InvalidSettings, match="superwords_from"):
        Recipe.from_dict({"corpus": {"texts": TEXTS}, "superwords_from": 0.5, **other})


def test_a_pattern_of_the_callers_cuts_superwords() -> None:
    given = {"pattern": r"\w+|\W+", "superwords_pattern": r"[^.]+|\."}
    made = train(iter(["to be. or not to be. " * 9]), 290, superwords_from=0.95, **given)
    assert b"to be" in {made.token_bytes(id) for id in range(made.vocab_size)}
    assert all(b"." not in made.token_bytes(id) for id in range(256, made.vocab_size))
