"""A run that is killed at any moment goes on to the same bytes, and makes nothing again that it had made."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from tests.core.training.test_training_run import contents
from tests.support.corpora import text
from tokenizer_core import InvalidCorpus, Recipe, Tokenizer, TrainingRun, extend, train, train_sizes
from tokenizer_core._kernel import BYTE_ORDER, Vocabulary
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.stages import Pretokenizer
from tokenizer_core.training import checksummed_file
from tokenizer_core.training.merge_log import MergeLog
from tokenizer_core.training.settings import TrainSettings

pytestmark = pytest.mark.process

SETTINGS: dict[str, Any] = {"vocab_size": 420, "pattern": "gpt2", "special_tokens": ["<|end|>"]}

CHILD = """\
import os, signal, sys

folder, corpus, moment = sys.argv[1], sys.argv[2], int(sys.argv[3])
import json
from tokenizer_core import Recipe, TrainingRun

events = 0


def count_down(event, arguments):
    global events
    if event in ("open", "os.rename", "os.mkdir", "os.remove") and str(arguments[0]).startswith(folder):
        events += 1
        if events == moment:
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(count_down)
run = TrainingRun(folder + "/run", Recipe.from_dict(json.loads(sys.argv[4])), shard_bytes=1, memory=int(sys.argv[5]))
run.count()
run.merge()
run.publish_under(folder + "/artifacts")
print(events)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a corpus of three files."""
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(3):
        (folder / f"{number}.txt").write_text(text(number, 3000), encoding="utf-8")
    return folder


def child(folder: Path, recipe: dict[str, Any], moment: int, memory: int = 1 << 30) -> subprocess.CompletedProcess[str]:
    """Train in a process that is killed before its ``moment``-th change of a file, if it comes so far."""
    command = [sys.executable, "-c", CHILD, str(folder), "", str(moment), json.dumps(recipe), str(memory)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


@pytest.mark.parametrize(("memory", "more"), [(1, {}), (1 << 30, {}), (1, {"superwords_from": 0.8})])
def test_a_run_killed_at_any_change_of_a_file_goes_on_to_the_same_bytes(
    tmp_path: Path, corpus: Path, memory: int, more: dict[str, Any]
) -> None:
    recipe = {"corpus": {"paths": [str(corpus)]}, **SETTINGS, **more}
    undisturbed = child(tmp_path / "whole", recipe, 0, memory)
    assert undisturbed.returncode == 0, undisturbed.stderr
    (expected,) = (tmp_path / "whole" / "artifacts").iterdir()
    moments = int(undisturbed.stdout)
    assert moments > 20
    for moment in random.Random(20_26).sample(range(1, moments + 1), 8):
        folder = tmp_path / str(moment)
        assert child(folder, recipe, moment, memory).returncode == -9, moment
        counts = folder / "run" / "counts"
        made = {path.name: path.stat().st_mtime_ns for path in counts.glob("[!.]*.sorted")} if counts.exists() else {}
        run = TrainingRun(folder / "run", Recipe.from_dict(recipe), shard_bytes=1, memory=memory)
        run.count()
        run.merge()
        published = run.publish_under(folder / "artifacts")[0]
        assert published.name == expected.name
        assert contents(published) == contents(expected), moment
        assert [path.name for path in (folder / "artifacts").iterdir()] == [expected.name], moment
        now = {path.name: path.stat().st_mtime_ns for path in counts.iterdir()}
        assert len(now) == 3
        assert {name: now[name] for name in made} == made, moment


@pytest.mark.parametrize("tie_break", ["lexicographic_low", "lexicographic_high", "lowest_ids"])
@pytest.mark.parametrize(
    "initial",
    [[], [["a", "b"], ["ab", "c"], ["b", "c"], ["a", "bc"]], [["b", "c"], ["a", "b"], ["ab", "c"], ["abc", "a"]]],
    ids=["bytes", "merges", "merges that come back"],
)
def test_merging_goes_on_from_any_merge_to_the_same_merges(tmp_path: Path, tie_break: str, initial: list[Any]) -> None:
    rng = random.Random(20_26)
    # Few letters, so that many pairs are equally frequent and merges make tokens that exist already.
    texts = ["".join(rng.choices("aabbc ", k=rng.randint(1, 400))) for _ in range(30)]
    settings = {**SETTINGS, "tie_break": tie_break, "initial_merges": initial}
    recipe = Recipe.from_dict({"corpus": {"texts": texts}, **settings})
    run = TrainingRun(tmp_path, recipe)
    run.merge()
    truth = run.tokenizers()[0]
    merges = [(left.encode(), right.encode()) for left, right in initial]
    assert truth.hash == train(iter(texts), **{**settings, "initial_merges": merges}).hash
    assert len(set(truth.merges)) == len(truth.merges)
    (log,) = tmp_path.glob("merges-*")
    header, *lines = checksummed_file.read(log).splitlines()
    assert len(lines) > 100
    for kept in [0, 1, *rng.sample(range(2, len(lines)), 10), len(lines)]:
        cut = json.loads(header) | {"complete": False, "merges": kept}
        checksummed_file.replace(log, b"\n".join([json.dumps(cut).encode(), *lines[:kept], b""]))
        again = TrainingRun(tmp_path, recipe)
        again.merge()
        assert again.tokenizers()[0].hash == truth.hash, kept
        assert again.report().frequencies == run.report().frequencies, kept


def test_merging_goes_on_behind_a_merge_that_makes_an_old_token_anew(tmp_path: Path) -> None:
    """A start with ``abc`` that no merge makes, and a merge of it: replayed by rank it would come before ``de``."""
    tokens = [*enumerate(BYTE_ORDER), (256, b"abc"), (257, b"abcd")]
    ids = {token: id for id, token in tokens}
    vocabulary = Vocabulary.from_tokens(tokens, [(256, ids[b"d"], 257)])
    config = PipelineConfig(pretokenizer=(Pretokenizer.into_matches("gpt2"),))
    Tokenizer(TokenizerParts(vocabulary, config)).save(tmp_path / "start")
    texts = ["abcde\n" * 5 + "abc\n" * 5 + "de\n" * 3]
    recipe = Recipe.from_dict({"corpus": {"texts": texts}, "extends": str(tmp_path / "start"), "vocab_size": 261})
    truth = TrainingRun(tmp_path / "run", recipe).tokenizers()[0].merges
    assert truth[1:4] == [(b"a", b"b"), (b"ab", b"c"), (b"d", b"e")]
    (log,) = (tmp_path / "run").glob("merges-*")
    header, *lines = checksummed_file.read(log).splitlines()
    for kept in range(len(lines) + 1):
        cut = json.loads(header) | {"complete": False, "merges": kept}
        checksummed_file.replace(log, b"\n".join([json.dumps(cut).encode(), *lines[:kept], b""]))
        assert TrainingRun(tmp_path / "run", recipe).tokenizers()[0].merges == truth, kept


@pytest.mark.parametrize("damage", ["cut", "empty", "other", "gone"])
@pytest.mark.parametrize("name", ["counts/*.sorted", "counted-*", "merges-*"])
def test_a_checkpoint_that_is_damaged_is_made_again(tmp_path: Path, corpus: Path, name: str, damage: str) -> None:
    recipe = Recipe.from_dict({"corpus": {"paths": [str(corpus)]}, **SETTINGS})
    run = TrainingRun(tmp_path, recipe)
    run.merge()
    truth = run.tokenizers()[0].hash
    for path in list(tmp_path.glob(name)):
        data = path.read_bytes()
        path.write_bytes({"cut": data[:30], "empty": b"", "other": b"[1]\n2", "gone": b""}[damage])
        if damage == "gone":
            path.unlink()
    if not name.startswith("merges"):
        for path in tmp_path.glob("merges-*"):
            path.unlink()
    again = TrainingRun(tmp_path, recipe)
    again.count()
    again.merge()
    assert again.tokenizers()[0].hash == truth


def test_the_seconds_of_merging_are_those_of_all_attempts(tmp_path: Path) -> None:
    MergeLog(tmp_path / "log", timeline=[(5.0, 1)], merges=[(97, 98, 256, 9)]).write()
    log = MergeLog.open(tmp_path / "log")
    log.restart()
    log.add([(97, 98, 256, 9), (256, 99, 257, 8)])
    assert 5.0 <= log.seconds < 60.0


@pytest.mark.filterwarnings("ignore:min_count 3 leaves out")
def test_a_checkpoint_of_other_settings_is_not_taken(tmp_path: Path) -> None:
    texts = [text(seed, 500) for seed in range(9)]
    for settings in (
        {},
        {"vocab_size": 400},
        {"tie_break": "lexicographic_high"},
        {"min_frequency": 3},
        {"max_token_length": 4},
        {"max_piece_length": 3},
        {"min_count": 3},
        {"special_tokens": ["<|other|>"]},
        {"pattern": "cl100k_base"},
        {"normalizer": ["nfd"]},
        {"initial_merges": [["a", "b"]]},
    ):
        chosen = {**SETTINGS, **settings}
        run = TrainingRun(tmp_path, Recipe.from_dict({"corpus": {"texts": texts}, **chosen}))
        run.merge()
        if "initial_merges" in chosen:
            chosen["initial_merges"] = [(b"a", b"b")]
        assert run.tokenizers()[0].hash == train(iter(texts), **chosen).hash, settings


def test_counts_of_another_reading_are_not_taken(tmp_path: Path) -> None:
    columns = {"a": ["low lower lowest"] * 9, "b": ["new newer newest"] * 9}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "table.parquet")
    rows = ({name: column[at] for name, column in columns.items()} for at in range(9))
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, option in (("lines.jsonl", "field"), ("table.parquet", "column")):
        for chosen in ("a", "b"):
            corpus = {"paths": [str(tmp_path / name)], option: chosen}
            run = TrainingRun(tmp_path / "run", Recipe.from_dict({"corpus": corpus, **SETTINGS}))
            run.merge()
            assert run.tokenizers()[0].hash == train(iter(columns[chosen]), **SETTINGS).hash, corpus


def test_merges_of_a_start_that_takes_whole_pieces_are_its_own(tmp_path: Path) -> None:
    tokens = [*enumerate(BYTE_ORDER), (256, b"abc")]
    vocabulary, split = Vocabulary.from_tokens(tokens, []), Pretokenizer.into_matches("gpt2")
    for takes_whole in (False, True):
        config = PipelineConfig(pretokenizer=(split,), ignore_merges=takes_whole)
        start = Tokenizer(TokenizerParts(vocabulary, config))
        start.save(tmp_path / f"start-{takes_whole}")
        texts = ["abc\nabc\nxyz"]
        recipe = {"corpus": {"texts": texts}, "extends": str(tmp_path / f"start-{takes_whole}"), "vocab_size": 258}
        run = TrainingRun(tmp_path / "run", Recipe.from_dict(recipe))
        assert (
            run.tokenizers()[0].merges
            == extend(start, iter(texts), 258).merges
            == [(b"x", b"y") if takes_whole else (b"a", b"b")]
        )


def test_counts_with_replaced_bytes_are_not_taken_where_they_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low lower lowest \xff")
    recipe = {"corpus": {"paths": [str(tmp_path / "a.txt")]}, **SETTINGS}
    TrainingRun(tmp_path / "run", Recipe.from_dict({**recipe, "replace_invalid": True})).merge()
    with pytest.raises(InvalidCorpus, match=r"a\.txt"):
        TrainingRun(tmp_path / "run", Recipe.from_dict(recipe)).merge()


def test_sizes_and_extended_artifacts_come_out_of_a_directory_too(tmp_path: Path) -> None:
    texts = [text(seed, 500) for seed in range(9)]
    run = TrainingRun(tmp_path / "a", Recipe.from_dict({"corpus": {"texts": texts}, **SETTINGS, "sizes": [300, 500]}))
    run.merge()
    each = train_sizes(iter(texts), [420, 300, 500], TrainSettings(**SETTINGS))
    assert [one.hash for one in run.tokenizers()] == [one.hash for one in each]
    run.publish(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out", "out-300", "out-500"]
    longer = {"corpus": {"texts": texts}, "vocab_size": 500, "extends": str(tmp_path / "out")}
    extended = TrainingRun(tmp_path / "b", Recipe.from_dict(longer))
    extended.merge()
    tokenizer = extended.tokenizers()[0]
    assert tokenizer.vocab_size == 500
    assert tokenizer.merges == each[2].merges
    assert [tokenizer.token_bytes(id) for id in range(420)] == [each[0].token_bytes(id) for id in range(420)]
