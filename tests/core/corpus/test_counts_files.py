"""Files of counts: kept, made elsewhere, damaged, and of other rules."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from tests.core.corpus.documents import DOCUMENTS, SETTINGS, TRUTH, of
from tokenizer_core import (
    Cancelled,
    Files,
    InvalidCorpus,
    InvalidOption,
    TrainSettings,
    counted,
    train,
)
from tokenizer_core.corpus import reading
from tokenizer_core.corpus.files import sources
from tokenizer_core.training.counting import Counting
from tokenizer_core.training.plans import NewVocabulary
from tokenizer_core.training.progress import Reporter


def test_counts_can_be_kept_and_come_from_elsewhere(tmp_path: Path) -> None:
    counts = counted(iter(DOCUMENTS), SETTINGS)
    for name in ("all.counts", "all.counts.zst"):
        counts.save(tmp_path / name)
        assert of(tmp_path / name) == TRUTH
    assert train(counts, 400, pattern="gpt2", special_tokens=["<|end|>"]).hash == (
        train(iter(DOCUMENTS), 400, pattern="gpt2", special_tokens=["<|end|>"]).hash
    )
    counted(iter(DOCUMENTS[:90]), SETTINGS).save(tmp_path / "1.counts")
    lines = counted(iter(DOCUMENTS[90:]), SETTINGS)
    shuffled = lines.pieces.lines(0, len(lines.pieces)).splitlines(keepends=True)
    random.Random(1).shuffle(shuffled)
    (tmp_path / "2.counts").write_bytes(b"".join(shuffled))
    assert of([tmp_path / "1.counts", tmp_path / "2.counts"]) == TRUTH
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_counts_of_other_rules_are_refused(tmp_path: Path) -> None:
    counts = counted(iter(DOCUMENTS), SETTINGS)
    counts.save(tmp_path / "a.counts")
    for corpus in (counts, tmp_path / "a.counts"):
        with pytest.raises((InvalidOption, InvalidCorpus), match="with another"):
            train(corpus, 300, pattern="cl100k_base", special_tokens=["<|end|>"])
        with pytest.raises((InvalidOption, InvalidCorpus), match="with another special_tokens"):
            train(corpus, 300, pattern="gpt2")


def test_a_wrong_line_of_kept_counts_is_named_by_its_place_in_the_file(tmp_path: Path) -> None:
    counted(iter(["a b"]), SETTINGS).save(tmp_path / "a.counts")
    lines = (tmp_path / "a.counts").read_bytes().splitlines(keepends=True)
    (tmp_path / "a.counts").write_bytes(b"".join([*lines, b"no count\n"]))
    with pytest.raises(InvalidCorpus, match=f"line {len(lines) + 1} is not a count"):
        train(tmp_path / "a.counts", 300, pattern="gpt2", special_tokens=["<|end|>"])


@pytest.mark.parametrize("kept", [b"", b'1\t"a"\n', b'1\t"a"\n1\t" b"'])
def test_kept_counts_that_lost_pieces_are_refused_unless_nobody_says_how_many_there_were(
    tmp_path: Path, kept: bytes
) -> None:
    counts = counted(iter(["a b"]), SETTINGS)
    for name in ("a.counts", "b.counts"):
        counts.save(tmp_path / name)
    header, *pieces = (tmp_path / "a.counts").read_bytes().splitlines(keepends=True)
    assert sorted(pieces) == [b'1\t" b"\n', b'1\t"a"\n']
    (tmp_path / "a.counts").write_bytes(header + kept)
    with pytest.raises(InvalidCorpus, match="of the 2 pieces") as caught:
        counted([tmp_path / "b.counts", tmp_path / "a.counts"], SETTINGS)
    assert caught.value.place == {"file": str(tmp_path / "a.counts")}
    untold = {key: value for key, value in json.loads(header).items() if key != "distinct_pieces"}
    (tmp_path / "a.counts").write_bytes(json.dumps(untold).encode() + b"\n" + b"".join(pieces[:1]))
    assert counted([tmp_path / "b.counts", tmp_path / "a.counts"], SETTINGS).pieces.total == 3


def test_a_long_line_takes_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BLOCK", 64)
    (tmp_path / "a.counts").write_bytes(b"a\n" + b"ab" * (4 << 20))
    (source,) = sources(Files(paths=(tmp_path / "a.counts",)))
    started = time.monotonic()
    assert sum(map(len, reading.lines(source, reading.Meter()))) == source.size
    # It takes a tenth of a second; joining each of 131,072 blocks to all before it took more than 20.
    assert time.monotonic() - started < 5


def test_a_line_of_counts_beyond_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BLOCK", 64)
    monkeypatch.setattr(reading, "LINE_BYTES", 1000)
    (tmp_path / "a.counts").write_text(f'2\t"low"\n1\t"{"ab" * 2000}"\n', encoding="utf-8")
    with pytest.raises(InvalidCorpus, match=r"line 2 of .* has more than 1000 bytes") as refused:
        of(tmp_path / "a.counts")
    assert refused.value.place == {"file": str(tmp_path / "a.counts"), "line": 2}


def test_a_run_is_stopped_within_a_line_of_counts(tmp_path: Path) -> None:
    class Stopped(Reporter):
        def check(self) -> None:
            raise Cancelled("stopped")

    (tmp_path / "a.counts").write_bytes(b"no line that could be told")
    files, rules = Files(paths=(tmp_path / "a.counts",)), NewVocabulary(TrainSettings(), (300,)).rules()
    with pytest.raises(Cancelled):
        Counting(files, rules, Stopped(None)).of_sources(sources(files))


def test_counts_are_not_written_in_the_place_of_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    counts = counted(iter(["text"]), TrainSettings(vocab_size=256))
    with pytest.raises(FileExistsError, match="not a regular file"):
        counts.save(tmp_path / "pipe")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    assert (tmp_path / "pipe").is_fifo()
