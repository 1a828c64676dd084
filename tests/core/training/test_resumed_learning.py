"""Learning that is killed goes on from what it has kept, to the same bytes."""

from __future__ import annotations

import base64
import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.core.training.test_training_run import contents
from tests.support.corpora import text
from tests.support.paths import ROOT
from tokenizer_core import Recipe, TrainingRun
from tokenizer_core._kernel import Counter, learn_merges
from tokenizer_core.config import PipelineConfig
from tokenizer_core.training import checksummed_file
from tokenizer_core.training.learning import Known
from tokenizer_core.training.merge_log import MergeLog
from tokenizer_core.training.progress import Progress

KINDS: dict[str, dict[str, Any]] = {
    "wordpiece": {"model": "wordpiece"},
    "wordpiece by likelihood": {"model": "wordpiece", "score": "likelihood", "min_frequency": 2},
    "wordpiece with a mark that text has": {"model": "wordpiece", "prefix": "a", "pretokenizer": "whitespace_split"},
    "sentencepiece": {"style": "sentencepiece"},
    "sentencepiece of ids": {"style": "sentencepiece", "tie_break": "lowest_ids", "character_coverage": 0.9},
    "sentencepiece of bytes": {"style": "sentencepiece", "tie_break": "lexicographic_high", "byte_fallback": True},
}


def recipe_of(kind: str, seed: int = 20_26) -> Recipe:
    rng = random.Random(seed)
    # Few letters, so that many pairs are equally frequent; some words are long.
    texts = ["".join(rng.choices("aabbcé# ", k=rng.randint(1, 300))) for _ in range(40)]
    return Recipe.from_dict(
        {"corpus": {"texts": [*texts, "ab" * 3000]}, "vocab_size": 500, "name": "same", **KINDS[kind]}
    )


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_merging_goes_on_from_any_merge_to_the_same_bytes(tmp_path: Path, kind: str) -> None:
    recipe = recipe_of(kind)
    run = TrainingRun(tmp_path / "run", recipe)
    run.publish(tmp_path / "whole")
    (log,) = (tmp_path / "run").glob("merges-*")
    header, *lines = checksummed_file.read(log).splitlines()
    assert len(lines) > 100
    kept_header = {key: value for key, value in json.loads(header).items() if key not in ("tokens", "scores")}
    for kept in [0, 1, 2, *random.Random(20_26).sample(range(3, len(lines)), 6), len(lines)]:
        cut = json.dumps(kept_header | {"complete": False, "merges": kept}).encode()
        checksummed_file.replace(log, b"\n".join([cut, *lines[:kept], b""]))
        told: list[Progress] = []
        again = TrainingRun(tmp_path / "run", recipe, progress=told.append)
        again.merge()
        assert again.report().frequencies == run.report().frequencies, kept
        again.publish(tmp_path / f"from-{kept}")
        assert contents(tmp_path / f"from-{kept}") == contents(tmp_path / "whole"), kept
        made = [one.done for one in told if one.phase == "merging"]
        # Before the first merge nothing is known yet; whatever is told next has all that was kept.
        assert made == sorted(made)
        assert min(done for done in made if done) >= kept, kept


@pytest.mark.parametrize("kind", KINDS)
def test_merges_that_are_kept_are_not_found_again(tmp_path: Path, kind: str) -> None:
    recipe = recipe_of(kind)
    TrainingRun(tmp_path, recipe).merge()
    (log,) = tmp_path.glob("merges-*")
    header, first, *lines = checksummed_file.read(log).splitlines()
    left, right, product, _ = first.split()
    cut = json.loads(header) | {"complete": False, "merges": 50}
    marked = b"%s %s %s 7654321" % (left, right, product)
    checksummed_file.replace(log, b"\n".join([json.dumps(cut).encode(), marked, *lines[:49], b""]))
    assert TrainingRun(tmp_path, recipe).report().frequencies[0] == 7654321


@pytest.mark.parametrize("level", ["bytes", "characters", "word_pieces"])
def test_merges_that_no_run_makes_end_what_is_known(level: Any) -> None:
    """As those of a file that somebody changed: no panic, and the rest is found."""
    counter = Counter(PipelineConfig().to_json())
    counter.feed_documents(["ababab"] * 3 + ["éa#a"] * 2)
    counts = counter.finish()
    prefix = "##" if level == "word_pieces" else ""
    alphabet = learn_merges(counts, 1000, level=level, prefix=prefix)[1]
    truth = learn_merges(counts, alphabet + 4, level=level, prefix=prefix)
    huge = (1 << 32) - 1
    for merge in [(0, 0, 0, 1), (huge, 0, alphabet, 1), (0, huge, alphabet, 1), (0, 0, huge, 1)]:
        assert learn_merges(counts, alphabet + 4, level=level, prefix=prefix, known=[merge]) == truth, merge
    assert learn_merges(counts, alphabet + 4, level=level, prefix=prefix, known=truth[2]) == truth
    assert learn_merges(counts, alphabet + 2, level=level, prefix=prefix, known=truth[2])[2] == truth[2][:2]


def unigram_of(sizes: list[int]) -> Recipe:
    texts = [text(number, 4000) for number in range(3)]
    chosen = {"model": "unigram", "vocab_size": 150, "sizes": sizes, "seed_size": 3000, "shrinking_factor": 0.95}
    chosen["split_by_unicode_script"] = False
    return Recipe.from_dict({"corpus": {"texts": texts}, "name": "same", **chosen})


@pytest.mark.nightly
@pytest.mark.parametrize("sizes", [[], [300, 80, 150]])
def test_unigram_goes_on_behind_any_round_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int]
) -> None:
    kept: list[bytes] = []
    keep = MergeLog.known

    def noted(log: MergeLog) -> Known:
        known = keep(log)
        return replace(known, keep=lambda rounds: (kept.append(rounds), log.keep_rounds(rounds)))

    with monkeypatch.context() as patched:
        patched.setattr(MergeLog, "known", noted)
        TrainingRun(tmp_path / "run", unigram_of(sizes)).publish(tmp_path / "whole")
    assert len(kept) > 3
    (log,) = (tmp_path / "run").glob("merges-*")
    whole = json.loads(checksummed_file.read(log))
    assert "rounds" not in whole
    header = {key: value for key, value in whole.items() if key not in ("tokens", "scores", "smaller")}
    damaged = [b"x", kept[-1][:-1], kept[-1] + b"x", bytes(4), b"\xff" * 400]
    for number, rounds in enumerate([*kept, *damaged]):
        left: list[bytes] = []
        # Every attempt forgets what the one before it has finished.
        begun = header | {"complete": False, "rounds": base64.b64encode(rounds).decode()}
        checksummed_file.replace(log, json.dumps(begun).encode() + b"\n")
        with monkeypatch.context() as patched:
            patched.setattr(MergeLog, "keep_rounds", lambda _, rounds, left=left: left.append(rounds))
            TrainingRun(tmp_path / "run", unigram_of(sizes)).publish(tmp_path / f"from-{number}")
        for path in (tmp_path / "whole").parent.glob("whole*"):
            again = path.with_name(path.name.replace("whole", f"from-{number}"))
            assert contents(again) == contents(path), number
        # Only the rounds behind it are made.
        assert left == (kept[number + 1 :] if number < len(kept) else kept)


CHILD = """\
import json, os, signal, sys

from tokenizer_core import Recipe, TrainingRun
from tokenizer_core.training import merge_log

folder, moment = sys.argv[1], int(sys.argv[2])
merge_log.INTERVAL = -1e9  # Every report is written.
written = 0


def count_down(event, arguments):
    global written
    if event == "os.rename" and "merges-" in str(arguments[1]):
        written += 1
        if written == moment:
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(count_down)
TrainingRun(folder, Recipe.from_dict(json.loads(sys.argv[3]))).merge()
"""


def killed(folder: Path, given: dict[str, Any], moment: int) -> None:
    """Run until the log is to be put into its place for the ``moment``-th time."""
    command = [sys.executable, "-c", CHILD, str(folder), str(moment), json.dumps(given)]
    done = subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == -9


@pytest.fixture
def dice() -> random.Random:
    """Return a generator whose seed a failure shows."""
    seed = random.randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    return random.Random(seed)


@pytest.mark.process
@pytest.mark.parametrize("kind", ["wordpiece", "wordpiece by likelihood", "sentencepiece"])
def test_a_run_that_is_killed_while_it_merges_goes_on_to_the_same_bytes(
    tmp_path: Path, kind: str, dice: random.Random
) -> None:
    texts = [text(number, 2000) for number in range(3)]
    given = {"corpus": {"texts": texts}, "vocab_size": 400, "name": "same", **KINDS[kind]}
    TrainingRun(tmp_path / "whole-run", Recipe.from_dict(given)).publish(tmp_path / "whole")
    folder, kept = tmp_path / "run", 0
    for moment in (dice.randint(2, 12), dice.randint(2, 6)):
        killed(folder, given, moment)
        (log,) = folder.glob("merges-*")
        made = len(checksummed_file.read(log).splitlines()) - 1
        assert made >= kept
        kept = made
    told: list[Progress] = []
    again = TrainingRun(folder, Recipe.from_dict(given), progress=told.append)
    again.publish(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "whole")
    assert min(one.done for one in told if one.phase == "merging" and one.done) >= kept > 0


@pytest.mark.process
@pytest.mark.parametrize("sizes", [[], [300, 80]])
def test_a_run_of_unigram_that_is_killed_in_a_round_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int], dice: random.Random
) -> None:
    recipe = unigram_of(sizes)
    TrainingRun(tmp_path / "whole-run", recipe).publish(tmp_path / "whole")
    folder, kept = tmp_path / "run", b""
    for moment in (dice.randint(5, 10), dice.randint(2, 6)):
        killed(folder, recipe.to_dict(), moment)
        (log,) = folder.glob("merges-*")
        rounds = base64.b64decode(json.loads(checksummed_file.read(log))["rounds"])
        assert pieces_in(rounds) < pieces_in(kept) or rounds == kept
        kept = rounds
    made: list[bytes] = []
    with monkeypatch.context() as patched:
        patched.setattr(MergeLog, "keep_rounds", lambda _, rounds: made.append(rounds))
        TrainingRun(folder, recipe).publish(tmp_path / "again")
    for path in tmp_path.glob("whole*[!n]"):
        assert contents(path.with_name(path.name.replace("whole", "again"))) == contents(path)
    assert all(pieces_in(rounds) <= pieces_in(kept) and rounds != kept for rounds in made)


def pieces_in(rounds: bytes) -> float:
    """Return how many pieces the last round has left; before the first there are any number."""
    return int.from_bytes(rounds[:4], "little") if rounds else float("inf")


@pytest.mark.process
@pytest.mark.parametrize("model", ["word", "character"])
@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_run_whose_vocabulary_is_made_in_one_step_is_killed_at_any_moment_and_goes_on_to_the_same_bytes(
    tmp_path: Path, model: str, moment: int
) -> None:
    given = {"corpus": {"texts": [text(1, 2000)]}, "vocab_size": 50, "name": "same", "model": model}
    TrainingRun(tmp_path / "whole-run", Recipe.from_dict(given)).publish(tmp_path / "whole")
    folder = tmp_path / "run"
    killed(folder, given, moment)
    TrainingRun(folder, Recipe.from_dict(given)).publish(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "whole")
