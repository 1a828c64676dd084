"""Counts on the disk: whatever memory there is, runs make the same bytes, and a damaged file is never counted."""

from __future__ import annotations

import errno
import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.core.training.test_training_run import contents
from tokenizer_core import (
    EmptyCorpus,
    InvalidCorpus,
    Recipe,
    TrainingRun,
    TrainingWarning,
    TrainSettings,
    counted,
    train,
)
from tokenizer_core._kernel import Counter, PieceCounts
from tokenizer_core.corpus import reading
from tokenizer_core.training import sorted_counts
from tokenizer_core.training.counts import Counts

SETTINGS = TrainSettings(vocab_size=400, pattern="gpt2")


def words(seed: int, number: int) -> list[str]:
    chosen = random.Random(seed)
    return ["".join(chosen.choices("abcdeé日", k=chosen.randint(1, 5))) for _ in range(number)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files of words. One has six megabytes of lines: of these a thread has counted the first before the last is
    sent, since only two others wait for it.
    """
    folder = tmp_path_factory.mktemp("corpus")
    for seed, number in enumerate((20_000, 50_000, 500)):
        lines = "\n".join(f'{{"not_read": "{"-" * 100}", "text": "{word}"}}' for word in words(seed, number))
        (folder / f"{seed}.jsonl").write_text(lines)
    (folder / "text.txt").write_text(" ".join(words(9, 150_000)))
    return folder


def counts_of(texts: list[str]) -> Counts:
    return counted(iter(texts), SETTINGS)


def summed(*paths: Path) -> dict[bytes, int]:
    return pairs(sorted_counts.reduce(paths, None, 1, lambda: None)[0])


def pairs(pieces: PieceCounts) -> dict[bytes, int]:
    return dict(pieces.items(0, len(pieces)))


def run_in(place: Path, corpus: Path, **options: Any) -> TrainingRun:
    recipe = {"corpus": {"paths": [str(corpus)]}, "vocab_size": 400}
    min_count = options.pop("min_count", 1)
    return TrainingRun(place, Recipe.from_dict(recipe | {"min_count": min_count}), **options)


@pytest.mark.parametrize("shard_bytes", [1 << 20, 1 << 30])
@pytest.mark.parametrize("memory", [1, 1 << 30])
def test_memory_changes_no_byte(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int, shard_bytes: int
) -> None:
    spilled: list[int] = []
    add = sorted_counts.Spills.add

    def noted(self: sorted_counts.Spills, pieces: PieceCounts) -> None:
        spilled.append(len(pieces))
        add(self, pieces)

    monkeypatch.setattr(sorted_counts.Spills, "add", noted)
    monkeypatch.setattr(reading, "BLOCK", 1 << 16)
    run = run_in(tmp_path / "run", corpus, memory=memory, shard_bytes=shard_bytes, threads=1)
    run.publish(tmp_path / "mine")
    plain = run_in(tmp_path / "other", corpus)
    plain.publish(tmp_path / "plain")
    assert contents(tmp_path / "mine") == {
        name: data.replace(b'"plain"', b'"mine"') for name, data in contents(tmp_path / "plain").items()
    }
    assert run.report().corpus == plain.report().corpus
    if memory > 1:
        assert spilled == []
    elif shard_bytes == 1 << 30:
        assert len(spilled) > 1
    assert [each.name for each in (tmp_path / "run" / "counts").iterdir() if each.is_dir()] == []


def test_what_was_taken_and_what_comes_later_are_all_that_was_counted() -> None:
    counter = Counter(SETTINGS.pipeline().to_json(), threads=2)
    parts, found = [words(seed, 3000) for seed in range(4)], dict[bytes, int]()
    for part in parts:
        counter.feed_documents(part)
        taken = counter.take()
        for piece, count in pairs(taken).items():
            found[piece] = found.get(piece, 0) + count
    for piece, count in pairs(counter.finish()).items():
        found[piece] = found.get(piece, 0) + count
    assert found == pairs(counts_of([word for part in parts for word in part]).pieces)


def test_skipped_lines_are_told_whatever_left_memory(corpus: Path, tmp_path: Path) -> None:
    lines = (corpus / "1.jsonl").read_text().splitlines()
    lines[10], lines[-10] = "{", "[]"
    (tmp_path / "bad.jsonl").write_text("\n".join(lines))
    told = set()
    for memory in (1, 1 << 30):
        files = {"paths": [str(tmp_path / "bad.jsonl")], "on_error": "skip"}
        recipe = Recipe.from_dict({"corpus": files, "vocab_size": 300})
        run = TrainingRun(tmp_path / f"run{memory}", recipe, memory=memory, threads=1)
        report = run.report()
        assert report.skipped == 2
        told.add((report.first_skipped, report.hash))
    assert len(told) == 1


@pytest.mark.parametrize("min_count", [2, 50])
def test_rare_pieces_are_left_out_of_the_sum_and_told(corpus: Path, tmp_path: Path, min_count: int) -> None:
    everything = counted(corpus, SETTINGS)
    kept = {piece.decode(): count for piece, count in pairs(everything.pieces).items() if count >= min_count}
    rare = {piece: count for piece, count in pairs(everything.pieces).items() if count < min_count}
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        run = run_in(tmp_path / "run", corpus, min_count=min_count, shard_bytes=1 << 18)
        summary = run.report().corpus
        short = train(corpus, 400, min_count=min_count)
    assert summary["distinct_pieces"] == len(kept)
    assert summary["min_count"] == min_count
    assert summary["too_rare"] == {
        "distinct_pieces": len(rare),
        "pieces": sum(rare.values()),
        "bytes": sum(len(piece) * count for piece, count in rare.items()),
    }
    assert run.tokenizers()[0].hash == short.hash
    lines = (f"{count}\t{json.dumps(piece)}\n" for piece, count in kept.items())
    (tmp_path / "kept.counts").write_text("".join(lines))
    assert train(tmp_path / "kept.counts", 400).merges == short.merges


def test_a_script_that_loses_much_is_named() -> None:
    common = ["the cat and the dog "] * 50
    with pytest.warns(TrainingWarning, match=r"min_count 2 leaves out 100% of Han, in bytes of text"):
        tokenizer = train(iter([*common, "日本語 漢字 中国"]), 300, min_count=2)
    assert not any("日" in left.decode(errors="ignore") for left, _ in tokenizer.merges)


def test_a_bound_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmptyCorpus) as caught:
        train(iter(["a b c"]), 300, min_count=9)
    assert caught.value.place == {"field": "min_count"}


def test_files_are_added_up(tmp_path: Path) -> None:
    parts = [words(seed, 2000) for seed in range(70)]
    paths = [tmp_path / f"{number}.sorted" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        sorted_counts.save(path, counts_of(part), more=3)
    header = sorted_counts.read_header(paths[0])
    assert header is not None
    assert (header["more"], header["documents"]) == (3, 2000)
    truth = pairs(counts_of([word for part in parts for word in part]).pieces)
    assert summed(*paths) == truth
    halves = [(paths[:30], tmp_path / "one.sorted"), (paths[30:], tmp_path / "two.sorted")]
    for some, target in halves:
        sorted_counts.merge(some, target, {})
    assert summed(*(target for _, target in halves)) == truth
    # Each part has pieces of its own, and together they have all.
    for number, numbers in enumerate((range(100), range(100, 256))):
        sorted_counts.merge(paths, tmp_path / f"part{number}.sorted", {}, numbers)
    found = [summed(tmp_path / f"part{number}.sorted") for number in (0, 1)]
    assert not found[0].keys() & found[1].keys()
    assert found[0] | found[1] == truth


def test_a_damaged_file_is_refused_by_its_name_or_counted_again(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.sorted", tmp_path / "bad.sorted"
    sorted_counts.save(good, counts_of(words(1, 300)))
    data = good.read_bytes()
    chosen = random.Random(5)
    damages = [data[: chosen.randrange(len(data))] for _ in range(40)] + [b"", data + b"x"]
    for _ in range(300):
        flipped = bytearray(data)
        flipped[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
        damages.append(bytes(flipped))
    for damage in damages:
        bad.write_bytes(damage)
        with pytest.raises(InvalidCorpus) as caught:
            summed(good, bad)
        assert caught.value.place["file"] == str(bad)
    bad.unlink()
    with pytest.raises(InvalidCorpus, match="damaged or gone"):
        summed(good, bad)


def test_a_full_disk_leaves_no_half_and_the_run_goes_on_when_there_is_room(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_in(tmp_path / "run", corpus, memory=1, threads=1)

    def full(self: sorted_counts.Spills, pieces: PieceCounts) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(sorted_counts.Spills, "add", full)
        with pytest.raises(OSError, match="No space left"):
            run.count()
    assert list((tmp_path / "run" / "counts").iterdir()) == []
    run.count()
    assert run.tokenizers()[0].hash == train(corpus, 400).hash
