"""Patterns find what ``glob`` finds, and strings given as a corpus are told from names of files soon."""

from __future__ import annotations

import glob
import random
from pathlib import Path

import fsspec
import pytest

from tokenizer_core import Bounds, CorpusNotFound, CorpusTooLarge, InvalidOption
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


def found_by(pattern: str, directory: Path) -> list[str]:
    return sorted(matches(str(directory), pattern.split("/"), lambda _: None))


def test_patterns_find_what_glob_finds_and_each_path_once(tree: Path) -> None:
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
        expected = sorted({path for path in found if not path.endswith("/")})
        assert found_by(pattern, tree) == expected, pattern


def test_any_number_of_stars_finds_what_glob_finds(tree: Path) -> None:
    dice = random.Random(6)
    for _ in range(1000):
        pattern = "/".join(dice.choices(["**", "**", "*", "a", "b", "l*", "c.txt", "*.txt"], k=dice.randint(2, 6)))
        found = glob.glob(f"{tree}/{pattern}", recursive=True)  # noqa: PTH207
        assert found_by(pattern, tree) == sorted({path for path in found if not path.endswith("/")}), pattern


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("**/" * 8 + "*.txt", 200),
        ("**/*/" * 3 + "**/*.txt", 200),
        ("**/*/" * 8 + "*.txt", 0),
        ("**/" * 200 + "*.txt", 200),
    ],
)
def test_a_directory_is_looked_at_once_whatever_the_pattern(tmp_path: Path, pattern: str, files: int) -> None:
    for number in range(200):
        place = tmp_path.joinpath(*(f"{digit}{level}" for level, digit in enumerate(f"{number:03}")))
        place.mkdir(parents=True)
        (place / "a.txt").touch()
    looks = 0

    def look(entries: int) -> None:
        nonlocal looks
        looks += entries

    assert len(list(matches(str(tmp_path), pattern.split("/"), look))) == files
    entries = sum(1 for _ in tmp_path.rglob("*"))
    assert looks <= entries * len(pattern.split("/"))


@pytest.mark.parametrize("path", ["{}", "{}/**/*.txt", "{}/*/*"])
def test_no_more_entries_are_looked_at_than_the_bounds_allow(tmp_path: Path, path: str) -> None:
    for number in range(20):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / f"{number}.txt").write_text("text")
    files = Files(paths=(path.format(tmp_path),))
    assert len(sources(files, Bounds(max_entries=100))) == 20
    with pytest.raises(CorpusTooLarge, match="20 entries of directories"):
        sources(files, Bounds(max_entries=20))
    # Of all paths together.
    twice = Files(paths=files.paths * 3)
    with pytest.raises(CorpusTooLarge) as raised:
        sources(twice, Bounds(max_entries=60))
    assert raised.value.place["field"].startswith("corpus.paths[")


def test_a_tree_without_an_end_ends(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).symlink_to(".")
    with pytest.raises(CorpusTooLarge):
        sources(Files(paths=(f"{tmp_path}/**/**/*.txt",)), Bounds(max_entries=10_000))


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


def test_a_remote_search_finds_what_fsspec_finds_and_is_bounded() -> None:
    memory = fsspec.filesystem("memory")
    for name in ("a.txt", "b/c.txt", "b/d/e.txt", "b/d/f/g.txt", "b/note.md", "h.jsonl"):
        memory.pipe(f"/names/{name}", b"low")
    for pattern in ("*", "*.txt", "*/*.txt", "**", "**/*.txt", "b/**/*.txt", "*/d/*", "b/[cd].txt", "?.*", "x*"):
        files = Files(paths=(f"memory://names/{pattern}",), format="text")
        expected = [f"memory://{name}" for name in memory.glob(f"/names/{pattern}") if memory.isfile(name)]
        if expected:
            assert [source.name for source in sources(files)] == expected
        else:
            with pytest.raises(CorpusNotFound):
                sources(files)
    for path in ("memory://names", "memory://names/**/*.txt", "memory://*/**/*.txt"):
        assert sources(Files(paths=(path,)), Bounds(max_entries=1000))
        with pytest.raises(CorpusTooLarge, match="among 5 entries of directories"):
            sources(Files(paths=(path,)), Bounds(max_entries=5))
    memory.rm("/names", recursive=True)
