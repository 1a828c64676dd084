"""Files that are whole or not there: in which order they reach the disk, and what a failure leaves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tokenizer_core import atomic_files
from tokenizer_core.errors import InvalidArtifact
from tokenizer_core.formats import publish

Steps = list[tuple[str, str, int]]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Note what is waited for and what gets its name, with the last part of its path and the bytes it then has."""
    noted: Steps = []
    fsync, rename, put = os.fsync, os.replace, publish._rename

    def note(what: str, path: str) -> None:
        noted.append((what, "fresh" if ".tokd-" in Path(path).name else Path(path).name, size_of(Path(path))))

    def noted_fsync(descriptor: int) -> None:
        note("sync", str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    def noted_rename(source: Path, target: Path) -> None:
        rename(source, target)
        note("name", str(target))

    def noted_put(source: Path, target: Path, flag: int) -> bool:
        done = put(source, target, flag)
        note("name", str(target))
        return done

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_rename)
    monkeypatch.setattr(publish, "_rename", noted_put)
    return noted


def size_of(path: Path) -> int:
    return sum(each.stat().st_size for each in path.iterdir()) if path.is_dir() else path.stat().st_size


def test_a_file_lies_on_the_disk_before_it_has_its_name(tmp_path: Path, steps: Steps) -> None:
    (tmp_path / "kept").write_bytes(b"old")
    atomic_files.replace(tmp_path / "kept", [b"all ", b"of it"])
    assert steps == [("sync", "fresh", 9), ("name", "kept", 9), ("sync", tmp_path.name, 9)]


def test_a_directory_lies_on_the_disk_before_it_has_its_name(tmp_path: Path, steps: Steps) -> None:
    publish.publish(tmp_path / "made", {"one": b"1", "two": b"22"}, check_replaced=lambda _: None)
    assert steps[:2] == [("sync", "one", 1), ("sync", "two", 2)]
    assert steps[2:4] == [("sync", "fresh", 3), ("name", "made", 3)]
    assert [step[:2] for step in steps[4:]] == [("sync", tmp_path.name)]


def test_a_write_that_fails_leaves_the_file_from_before_and_no_other(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"half"
        raise MemoryError

    (tmp_path / "kept").write_bytes(b"old")
    with pytest.raises(MemoryError):
        atomic_files.replace(tmp_path / "kept", parts())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"kept": b"old"}


def test_what_is_put_at_the_place_meanwhile_is_asked_for_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "made"

    def refuse(_: Path) -> None:
        raise InvalidArtifact("somebody else's", field="made")

    def put_another(_: Path) -> None:
        place.mkdir(exist_ok=True)
        (place / "theirs").touch()

    monkeypatch.setattr(publish, "sync_directory", put_another)
    with pytest.raises(InvalidArtifact, match="somebody else's"):
        publish.publish(place, {"ours": b"1"}, check_replaced=refuse)
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "theirs"]
