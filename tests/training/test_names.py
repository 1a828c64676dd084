"""Patterns find what ``glob`` finds, and strings given as a corpus are told from names of files soon."""

from __future__ import annotations

import glob
import random
from pathlib import Path

import pytest

from tokenizer_core import InvalidOption
from tokenizer_core.corpus.files import Files, files_of, sources
from tokenizer_core.corpus.matching import matches
from tokenizer_core.corpus.names import name_files


def test_a_text_that_reads_like_a_pattern_for_every_file_is_told_from_one_soon(tmp_path: Path) -> None:
    # By two links to their own directory, every path has two longer ones: nobody comes to their end.
    for name in "ab":
        (tmp_path / name).symlink_to(".")
    assert files_of([f"{tmp_path}/**/ int main(void) {{ return 0; }}", "an ordinary text"]) is None
    (tmp_path / "c.txt").touch()
    with pytest.raises(InvalidOption, match=r"pathlib\.Path"):
        files_of([f"{tmp_path}/**/*.txt"])


PARTS = ["a", "b", "*", "**", "?", "*.txt", ".*", "[ab]", "[[]x*", "link", "l*", "c.txt", "d*", "dead"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for path in ("a/b/c.txt", "a/.d/c.txt", "b/a/[x].txt", ".d/a/b", "c.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("text", encoding="utf-8")
    (tmp_path / "b" / "link").symlink_to("../a")
    (tmp_path / "b" / "dead").symlink_to("nowhere")
    return tmp_path


def test_patterns_find_what_glob_finds_and_as_often(tree: Path) -> None:
    # A second way round would double the paths with each of forty links.
    for name, target in (("loop", "loop"), ("round", "..")):
        (tree / "a" / "b" / name).symlink_to(target)
    dice = random.Random(5)
    parts = [*PARTS, "..", "a**", "round", "loop"]
    for _ in range(300):
        pattern = "/".join(dice.choices(parts, k=dice.randint(1, 3)))
        if pattern.count("**") > 1:
            # Of a round way every further one makes forty times as many.
            continue
        found = glob.glob(f"{tree}/{pattern}", recursive=True)  # noqa: PTH207
        expected = sorted(path for path in found if not path.endswith("/"))
        assert sorted(matches(str(tree), pattern.split("/"))) == expected, pattern


def test_a_pattern_may_begin_at_the_root_of_all_files(tree: Path) -> None:
    first, *others = tree.parts[1:]
    pattern = "/".join(["", f"[{first[0]}]{first[1:]}", *others, "c.txt"])
    assert [source.name for source in sources(Files(paths=(pattern,)))] == [f"{tree}/c.txt"]


def test_a_string_names_files_if_glob_finds_some(tree: Path) -> None:
    dice = random.Random(4)
    for _ in range(3000):
        pattern = dice.choice(("", f"{tree}/")) + "/".join(dice.choices(PARTS, k=dice.randint(1, 4)))
        # A directory itself, which a last `**` also finds, has a slash at its end.
        found = [path for path in glob.glob(pattern, recursive=True) if not path.endswith("/")]  # noqa: PTH207
        assert name_files([pattern]) == (bool(found) and (glob.has_magic(pattern) or Path(pattern).exists())), pattern
