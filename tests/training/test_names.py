"""Strings given as a corpus are told from names of files as ``glob`` finds these, but soon."""

from __future__ import annotations

import glob
import random
from pathlib import Path

import pytest

from tokenizer_core import InvalidOption
from tokenizer_core.corpus.files import files_of
from tokenizer_core.corpus.names import name_files


def test_a_text_that_reads_like_a_pattern_for_every_file_is_told_from_one_soon(tmp_path: Path) -> None:
    # By two links to their own directory, every path has two longer ones: nobody comes to their end.
    for name in "ab":
        (tmp_path / name).symlink_to(".")
    assert files_of([f"{tmp_path}/**/ int main(void) {{ return 0; }}", "an ordinary text"]) is None
    (tmp_path / "c.txt").touch()
    with pytest.raises(InvalidOption, match=r"pathlib\.Path"):
        files_of([f"{tmp_path}/**/*.txt"])


def test_a_string_names_files_if_glob_finds_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("a/b/c.txt", "a/.d/c.txt", "b/a/[x].txt", ".d/a/b", "c.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("text", encoding="utf-8")
    (tmp_path / "b" / "link").symlink_to("../a")
    (tmp_path / "b" / "dead").symlink_to("nowhere")
    dice = random.Random(4)
    parts = ["a", "b", "*", "**", "?", "*.txt", ".*", "[ab]", "[[]x*", "link", "l*", "c.txt", "d*", "dead"]
    for _ in range(3000):
        pattern = dice.choice(("", f"{tmp_path}/")) + "/".join(dice.choices(parts, k=dice.randint(1, 4)))
        # A directory itself, which a last `**` also finds, has a slash at its end.
        found = [path for path in glob.glob(pattern, recursive=True) if not path.endswith("/")]  # noqa: PTH207
        assert name_files([pattern]) == (bool(found) and (glob.has_magic(pattern) or Path(pattern).exists())), pattern
