"""A large file is counted in segments, whose counts add up to those of the whole, wherever it is cut."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.core.corpus.test_corpus import PACKED
from tests.support.data import corpus, needs_data
from tokenizer_core import Bounds, CorpusTooLarge, InvalidCorpus, Recipe, TrainingRun, counted
from tokenizer_core.corpus import reading
from tokenizer_core.corpus.segments import cut_at
from tokenizer_core.training.settings import TrainSettings

Counted = Callable[..., TrainingRun]


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Count a file in segments of a few blocks of 1,000 bytes."""
    monkeypatch.setattr(reading, "BLOCK", 1000)

    def start(path: Path, bounds: Bounds | None = None, **settings: Any) -> TrainingRun:
        recipe = Recipe.from_dict({"corpus": {"paths": [str(path)]}, "vocab_size": 1000, **settings})
        run = TrainingRun(tmp_path / "run", recipe, shard_bytes=2500, bounds=bounds or Bounds())
        run.count()
        return run

    return start


def summary(run: TrainingRun) -> dict[str, Any]:
    """Return what was counted."""
    run.merge()
    return run.report().corpus


def many_texts() -> list[str]:
    rng = random.Random(20_26)
    words = ["it's", "naïve", "日本語", "e\u0301t", "x", "the", "12345", "\u0301", "'S", "<|end|>", "a b", "\r\n", "—"]
    return ["".join(rng.choice(words) + rng.choice([" ", "\n", "  ", ""]) for _ in range(60)) for _ in range(150)]


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("pattern", ["gpt2", "cl100k_base", "o200k_base", "qwen2", r"\s+|\S+"])
def test_segments_add_up_to_the_whole(tmp_path: Path, count: Counted, suffix: str, pattern: str) -> None:
    specials = ["<|end|>", "a b", "b <|"]
    settings: dict[str, Any] = {"pattern": pattern, "special_tokens": specials, "normalizer": ["nfc"]}
    texts = many_texts()
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    for name, data in (("a.jsonl", lines), ("a.txt", "".join(texts))):
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(PACKED[suffix](data.encode()))
        truth = counted(iter(texts if name == "a.jsonl" else ["".join(texts)]), TrainSettings(**settings))
        before = len(list((tmp_path / "run").glob("counts/*")))
        assert summary(count(path, **settings)) == truth.summary()
        made = len(list((tmp_path / "run").glob("counts/*"))) - before
        assert made > 4 if pattern != r"\s+|\S+" or name == "a.jsonl" else made == 1


@needs_data
@pytest.mark.parametrize("name", ["english", "code", "zh", "ru"])
def test_real_text_in_segments_is_counted_as_a_whole(tmp_path: Path, count: Counted, name: str) -> None:
    (tmp_path / "a.txt").write_text(corpus(name)[:60_000], encoding="utf-8", newline="")
    truth = counted(tmp_path / "a.txt", TrainSettings())
    assert summary(count(tmp_path / "a.txt")) == truth.summary()


def test_only_missing_segments_are_counted_again(tmp_path: Path, count: Counted) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(many_texts()), encoding="utf-8", newline="")
    expected = summary(count(path))
    files = sorted((tmp_path / "run" / "counts").iterdir())
    times = {file: file.stat().st_mtime_ns for file in files}
    for lost in random.Random(1).sample(files, 3):
        lost.unlink()
        count(path)
        now = {file: file.stat().st_mtime_ns for file in files}
        assert {file for file in files if now[file] != times[file]} == {lost}
        times = now
    for merges in (tmp_path / "run").glob("merges-*"):
        merges.unlink()
    assert summary(count(path)) == expected


def test_what_is_wrong_in_a_later_segment_is_named_by_its_place_in_the_file(tmp_path: Path, count: Counted) -> None:
    (tmp_path / "a.txt").write_bytes(b"good words " * 1000 + b"\xff" + b" good words" * 1000)
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "good words"}\n' * 900 + b"{}\n" + b'{"text": "good"}\n' * 900)
    with pytest.raises(InvalidCorpus) as raised:
        count(tmp_path / "a.txt")
    assert raised.value.place == {"file": str(tmp_path / "a.txt"), "byte": 11_000}
    with pytest.raises(InvalidCorpus, match="line 901, column"):
        count(tmp_path / "a.jsonl")
    assert summary(count(tmp_path / "a.txt", replace_invalid=True))["bytes"] == 22_003


def test_the_bound_on_bytes_is_that_of_all_segments(tmp_path: Path, count: Counted) -> None:
    path, data = tmp_path / "a.txt.zst", "".join(many_texts()).encode()
    path.write_bytes(PACKED[".zst"](data))
    too_little = Bounds(max_bytes=len(data) - 1)
    for _ in range(2):
        with pytest.raises(CorpusTooLarge):
            count(path, too_little)
        assert len(list((tmp_path / "run").glob("counts/*"))) > 4
    count(path, Bounds(max_bytes=len(data)))
    with pytest.raises(CorpusTooLarge):
        count(path, too_little)


def test_the_bound_on_bytes_counts_files_that_were_counted_before(tmp_path: Path) -> None:
    data = "".join(many_texts()).encode()
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt.zst").write_bytes(PACKED[".zst"](data))
    recipe = Recipe.from_dict({"corpus": {"paths": [str(tmp_path / "*.zst")]}, "vocab_size": 300})
    most = (tmp_path / "a.txt.zst").stat().st_size * 4
    TrainingRun(tmp_path / "run", recipe, shard_bytes=most).count()
    (tmp_path / "b.txt.zst").write_bytes(PACKED[".zst"](data + b" again"))
    with pytest.raises(CorpusTooLarge):
        TrainingRun(tmp_path / "run", recipe, shard_bytes=most, bounds=Bounds(max_bytes=2 * len(data))).count()


@pytest.mark.parametrize(
    ("literals", "rest"),
    [
        ([], b" nothing"),
        (["we know"], b" nothing"),
        (["know no"], b" know nothing"),
        (["we know nothing more"], b" time we know nothing"),
        (["know no", "e k", "time we"], b" time we know nothing"),
        (["x" * 100], b""),
    ],
)
def test_no_cut_goes_through_a_special_token(literals: list[str], rest: bytes) -> None:
    text = b"it was the end of the world, and of the end of time we know nothing"
    cut = cut_at("words", literals)(text)
    assert text[cut:] == rest if rest else cut == 0
