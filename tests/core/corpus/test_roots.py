"""Roots with links followed say what the standard library says, and look at each directory once."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tokenizer_core import Bounds
from tokenizer_core.corpus.roots import RealRoots


def test_a_path_leads_where_realpath_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    top, dice, names = tmp_path / "top", random.Random(5), "abc"
    directories = [top, *(top / "/".join(dice.choices(names, k=dice.randint(1, 4))) for _ in range(12))]
    for directory in directories:
        directory.mkdir(parents=True, exist_ok=True)
    (top / "file").write_text("a file is not a directory")
    targets = [".", "..", "/", "../link1", "link2", "a/b", "/nowhere", str(top / "a"), "file", "../../top", "link0"]
    for directory in directories:
        for number in range(3):
            (directory / f"link{number}").unlink(missing_ok=True)
            (directory / f"link{number}").symlink_to(dice.choice(targets))
    parts = [*names, "link0", "link1", "link2", "file", "none", ".."]
    real = RealRoots((), ())
    for _ in range(3000):
        path = Path(dice.choice((str(top), "top", "/", "."))) / "/".join(dice.choices(parts, k=dice.randint(0, 7)))
        assert real.real(path) == os.path.realpath(path), path


def test_a_directory_is_looked_at_once_for_all_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[object] = []
    lstat = os.lstat

    def counted(path: str) -> os.stat_result:
        looked_at.append(path)
        return lstat(path)

    deep = tmp_path.joinpath(*"d" * 50)
    deep.mkdir(parents=True)
    bounds = Bounds(roots=(tmp_path,), closed=(tmp_path / "closed",))
    monkeypatch.setattr(os, "lstat", counted)
    real = bounds.real_roots()
    for number in range(100):
        bounds.local(f"{deep}/{number}.txt", "corpus", real)
    # Nothing is looked for below a directory that does not exist.
    bounds.local(f"{tmp_path}/none{'/d' * 1500}", "corpus", real)
    assert len(looked_at) <= len(deep.parts) + 100 + 2
