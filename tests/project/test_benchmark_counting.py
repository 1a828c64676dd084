"""The corpus of ``benchmarks counting`` has the pieces that were asked for, and every bound makes the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import counting
from benchmarks.made_counts import write_counts
from tokenizer_core import TrainSettings, counted

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(("pieces", "files"), [(1, 1), (999, 2), (70_000, 5)])
def test_made_counts_have_the_pieces_that_were_asked_for(tmp_path: Path, pieces: int, files: int) -> None:
    paths = write_counts(tmp_path, pieces, files)
    assert len(paths) == files
    lines = [line for path in paths for line in path.read_bytes().splitlines()]
    found = counted(list(paths), TrainSettings()).pieces
    assert len(found) == len({line.partition(b"\t")[2] for line in lines}) == pieces
    assert found.total == sum(int(line.partition(b"\t")[0]) for line in lines)
    if files > 1 and pieces > 1000:
        assert len(lines) > pieces


def test_a_bound_changes_no_byte_and_what_is_measured_is_told(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    write_counts(corpus, 20_000, 2)
    told = [counting.run(counting.Size(20_000, 2, memory, 2, 400), corpus) for memory in (1 << 20, 1 << 30)]
    assert told[0]["hash"] == told[1]["hash"]
    assert told[0]["kept"] == told[1]["kept"] < 20_000
    assert [name for name, _, _ in told[0]["phases"]] == ["counting", "adding up and merging"]


def test_unequal_bytes_are_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "EQUAL", (50, (1 << 20, 1 << 21)))
    monkeypatch.setattr(counting, "run", lambda size, _: {"hash": str(size.memory)})
    with pytest.raises(SystemExit, match="memory changes the result"):
        counting.require_equal(tmp_path)
