"""Every way to name a corpus counts the same documents, and what cannot be read is refused with its place."""

from __future__ import annotations

import errno
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pyarrow
import pyarrow.parquet
import pytest

from tests.core.corpus.documents import DOCUMENTS, SETTINGS, TRUTH, of
from tokenizer_core import (
    CorpusError,
    CorpusNotFound,
    EmptyCorpus,
    Files,
    InvalidCorpus,
    InvalidOption,
    InvalidUnicode,
    Recipe,
    TrainingRun,
    counted,
    train,
)
from tokenizer_core.zstd import zstd


def write_lines(documents: list[str]) -> bytes:
    """Write a document a line, beside other fields."""
    return b"".join(json.dumps({"id": 1, "text": text, "x": {"text": [3]}}).encode() + b"\n" for text in documents)


def write_parquet(path: Path, documents: list[str]) -> Path:
    """Write a column of documents, and another one."""
    table = pyarrow.table({"number": list(range(len(documents))), "text": documents})
    pyarrow.parquet.write_table(table, path, row_group_size=77)
    return path


def unpacked(data: bytes) -> bytes:
    return data


def frames(data: bytes) -> bytes:
    """Pack two halves into a zstd frame each."""
    half = len(data) // 2
    return zstd.compress(data[:half]) + zstd.compress(data[half:])


PACKED: dict[str, Callable[[bytes], bytes]] = {"": unpacked, ".gz": gzip.compress, ".zst": frames}


@pytest.mark.parametrize("suffix", PACKED)
def test_text_and_lines_count_as_their_documents_do(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a.jsonl{suffix}").write_bytes(PACKED[suffix](write_lines(DOCUMENTS)))
    assert of(tmp_path / f"a.jsonl{suffix}") == TRUTH
    (tmp_path / f"a.txt{suffix}").write_bytes(PACKED[suffix]("<|end|>".join(DOCUMENTS).encode()))
    assert of(tmp_path / f"a.txt{suffix}") == TRUTH


def test_a_list_a_glob_a_directory_a_url_and_parquet_count_alike(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "1.jsonl").write_bytes(write_lines(DOCUMENTS[:100]))
    (tmp_path / "2.txt.zst").write_bytes(zstd.compress("<|end|>".join(DOCUMENTS[100:200]).encode()))
    write_parquet(tmp_path / "deep" / "3.parquet", DOCUMENTS[200:])
    (tmp_path / "README.md").write_text("no corpus", encoding="utf-8")
    assert of(tmp_path) == TRUTH
    assert of(str(tmp_path / "**" / "*.*[lt]*")) == TRUTH
    assert of([tmp_path / "2.txt.zst", tmp_path / "deep", tmp_path / "1.jsonl"]) == TRUTH
    assert of(Files(paths=(tmp_path / "1.jsonl", str(tmp_path / "2*"), tmp_path / "deep"))) == TRUTH
    assert of(f"file://{tmp_path}") == TRUTH
    memory = fsspec.filesystem("memory")
    for path in (tmp_path / "1.jsonl", tmp_path / "2.txt.zst", tmp_path / "deep" / "3.parquet"):
        memory.pipe(f"/corpus/{path.name}", path.read_bytes())
    assert of("memory://corpus") == TRUTH
    assert of("memory://corpus/*") == TRUTH


def test_a_directory_that_cannot_be_listed_is_refused_and_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("open", "shut", ".hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("low lower", encoding="utf-8")
    list_directory, shut = os.scandir, [".hidden"]

    def scandir(path: Any) -> Any:
        # Whoever runs tests as root may read all there is.
        if Path(path).name in shut:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return list_directory(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert of(tmp_path) == of(iter(["low lower"] * 2))
    shut.append("shut")
    for corpus in (tmp_path, f"{tmp_path}/**", f"{tmp_path}/**/*.txt", f"{tmp_path}/*/*.txt", f"{tmp_path}/sh[u]t/*"):
        with pytest.raises(CorpusNotFound, match=f"cannot be read: .*Permission denied: '{tmp_path}/shut'"):
            of(corpus)
    for corpus in (f"{tmp_path}/o*/*.txt", f"{tmp_path}/*/a.txt"):
        assert of(corpus)


def test_a_file_counts_as_often_as_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("low lower", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    twice = of(iter(["low lower"] * 2))
    for paths in (["a.txt", "a.txt"], [".", "a.txt"], ["a.txt", "./a.txt"], [str(tmp_path), "*.txt"]):
        assert of(Files(paths=tuple(paths))) == twice != of("a.txt"), paths


def test_other_fields_columns_and_formats_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_bytes(b"".join(json.dumps({"body": text}).encode() + b"\n" for text in DOCUMENTS))
    assert of(Files(paths=(tmp_path / "a.data",), format="jsonl", field="body")) == TRUTH
    pyarrow.parquet.write_table(pyarrow.table({"body": DOCUMENTS}), tmp_path / "a.parquet")
    assert of(Files(paths=(tmp_path / "a.parquet",), column="body")) == TRUTH


def test_a_document_counts_the_same_wherever_its_bytes_are_cut(tmp_path: Path) -> None:
    # Large enough to be given to the threads in many parts.
    text = "".join(DOCUMENTS) * 60
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    assert len(text.encode()) > 1 << 20
    whole = counted(iter([text]), SETTINGS, threads=1)
    for threads in (1, 2, 5):
        assert of(tmp_path / "a.txt", threads=threads) == whole.hash


@pytest.mark.parametrize("suffix", PACKED)
def test_invalid_utf8_stops_with_file_and_byte_or_is_replaced(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"bad.txt{suffix}"
    path.write_bytes(PACKED[suffix](b"good " * 240_000 + b"\xe6\x97" + b"good"))
    with pytest.raises(InvalidCorpus) as raised:
        of(path)
    assert raised.value.code == "invalid_utf8"
    assert raised.value.place == {"file": str(path), "byte": 1_200_000}
    assert of(path, replace_invalid=True) == of(iter(["good " * 240_000 + "\ufffdgood"]))
    lines = tmp_path / f"bad.jsonl{suffix}"
    lines.write_bytes(PACKED[suffix](write_lines(["good"]) + b'{"text": "ba\xffd"}\n'))
    with pytest.raises(InvalidCorpus) as raised:
        of(lines)
    assert raised.value.place == {"file": str(lines), "byte": len(write_lines(["good"])) + 12}
    assert of(lines, replace_invalid=True) == of(iter(["good", "ba\ufffdd"]))


def test_a_text_that_ends_inside_a_character_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes("good é".encode()[:-1])
    with pytest.raises(InvalidCorpus) as raised:
        of(tmp_path / "bad.txt")
    assert raised.value.place == {"file": str(tmp_path / "bad.txt"), "byte": 5}


def test_a_lone_surrogate_in_a_string_is_refused_with_its_document() -> None:
    with pytest.raises(InvalidUnicode) as raised:
        of(iter(["good", "good", "ba\ud800d"]))
    assert raised.value.place["document"] == 2


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"other": "b"}\n', "line 2, column 14: there is no field"),
        ("a.jsonl", b'{"text": 7}\n', 'line 1, column 10: the field "text" is a number, not a string'),
        ("a.jsonl", b'\n\n{"text": "a", "text": "b"}\n', 'line 3, column 26: the field "text" stands twice'),
        ("a.jsonl", b'{"text": "a"}\n\xef\xbb\xbf{"text": "a"}\n', "line 2, column 1: a byte order mark"),
        ("a.jsonl", b'["text"]\n', 'line 1, column 1: not an object with a string "text"'),
        ("a.jsonl", b'{"text": "a"} {"text": "b"}\n', "line 1, column 15: trailing characters"),
        ("a.jsonl", b'{"text": "a\n', "line 1, column"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', "line 1, column 17: a surrogate stands alone"),
        ("a.jsonl", b"[" * 200_000, "line 1, column"),
        ("a.counts", b'5\t"a"\n-1\t"b"\n', "line 2 is not a count"),
        ("a.counts", b'5\t"a"\n5\t""\n', "line 2 is not a count"),
        ("a.counts", b'5 "a"\n', "line 1 is not a count"),
        ("a.counts", b'99999999999999999999999\t"a"\n', "line 1 is not a count"),
        ("a.counts", b'{"format": "tokd counts 2"}\n', "does not name the format"),
        ("a.counts", b'{"format": ' + b"[" * 200_000 + b"\n", "is nested too deeply"),
        ("a.txt.gz", gzip.compress(b"text", mtime=0)[:-3], "cannot be read"),
        ("a.txt.gz", b"no gzip", "cannot be read"),
        ("a.txt.zst", zstd.compress(b"text" * 99)[:-3], "cut short"),
        ("a.txt.zst", b"no zstd", "cannot be read"),
        ("a.parquet", b"no parquet", "cannot be read"),
        ("a.parquet.zst", b"", "compressed inside"),
        ("a.pdf", b"text", "does not say what is in it"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_files_that_are_not_what_they_say_are_refused(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InvalidCorpus) as raised:
        of(tmp_path / name)
    assert reason in raised.value.message
    assert raised.value.place["file"] == str(tmp_path / name)


def test_parquet_without_the_column_or_with_another_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"body": ["a"], "number": [1], "gap": ["a"]}), path)
    with pytest.raises(InvalidCorpus, match="no column 'text', only body, number, gap"):
        of(path)
    with pytest.raises(InvalidCorpus, match="holds int64, not strings"):
        of(Files(paths=(path,), column="number"))
    table = pyarrow.Table.from_arrays([pyarrow.array(["a"]), pyarrow.array(["b"])], ["text", "text"])
    pyarrow.parquet.write_table(table, path)
    with pytest.raises(InvalidCorpus, match=r"has 2 columns 'text'; rename or drop all but one") as raised:
        of(path)
    assert raised.value.place == {"file": str(path), "field": "column"}


def test_a_column_is_taken_by_its_name_whatever_lies_in_others(tmp_path: Path) -> None:
    nested = pyarrow.array([{"b": "within", "text": "within"}] * 2)
    for column, other in (("a.b", "a"), ("text", "text.source")):
        for order in ((column, other), (other, column)):
            values = {column: ["low lower", "lowest"], other: nested if other == "a" else ["url", "url"]}
            pyarrow.parquet.write_table(pyarrow.table({name: values[name] for name in order}), tmp_path / "a.parquet")
            assert of(Files(paths=(tmp_path / "a.parquet",), column=column)) == of(iter(["low lower", "lowest"]))


@pytest.mark.parametrize("at", [0, 1, 2, 1500])
@pytest.mark.parametrize("files", [1, 3])
def test_a_row_of_parquet_without_text_is_told_with_its_file(tmp_path: Path, at: int, files: int) -> None:
    for number in range(files):
        texts = pyarrow.array(["a"] * at + [None if number == files - 1 else "a"], pyarrow.string())
        pyarrow.parquet.write_table(pyarrow.table({"text": texts}), path := tmp_path / f"{number}.parquet")
    with pytest.raises(InvalidCorpus) as raised:
        of(tmp_path)
    assert raised.value.message == f"row {at} of {path} has no text"
    assert raised.value.place == {"file": str(path), "row": at}


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("files", [1, 3])
def test_parquet_that_is_not_utf8_stops_with_file_row_and_byte_or_is_replaced(
    tmp_path: Path, at: int, files: int
) -> None:
    for number in range(files):
        texts = [b"good"] * at + [b"ba\xffd" if number == files - 1 else b"good"]
        table = pyarrow.table({"text": pyarrow.array(texts).view(pyarrow.string())})
        pyarrow.parquet.write_table(table, path := tmp_path / f"{number}.parquet")
    with pytest.raises(InvalidCorpus) as raised:
        of(tmp_path)
    assert raised.value.code == "invalid_utf8"
    assert raised.value.place == {"file": str(path), "row": at, "byte": 2}
    assert of(tmp_path, replace_invalid=True) == of(iter(["good"] * (files * (at + 1) - 1) + ["ba\ufffdd"]))


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string()], ids=str)
def test_rows_that_repeat_or_are_long_are_read_as_they_are(tmp_path: Path, kind: Any) -> None:
    texts = ["same"] * 3000 + [f"{number} é " * 90_000 for number in range(5)] + ["", "same"]
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": pyarrow.array(texts, kind)}), path, row_group_size=999)
    assert of(path) == of(iter(texts))


def test_the_first_failure_in_the_order_of_the_files_is_told(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.jsonl").write_bytes(write_lines(["good"]) + (b"{}\n" if number in (2, 4) else b""))
    for threads in (1, 4):
        with pytest.raises(InvalidCorpus) as raised:
            of(tmp_path, threads=threads)
        assert raised.value.place["file"] == str(tmp_path / "2.jsonl")


@pytest.mark.parametrize("corpus", [[], [""], ["", "<|end|>"]], ids=str)
def test_an_empty_corpus_is_refused(corpus: list[str]) -> None:
    with pytest.raises(EmptyCorpus):
        of(corpus)


def test_a_corpus_of_which_everything_is_left_out_is_refused_by_the_bound(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower")
    recipe = Recipe.from_dict(
        {"corpus": {"paths": [str(tmp_path / "a.txt")]}, "vocab_size": 300, "max_piece_length": 2}
    )
    for work in (
        lambda: train(tmp_path / "a.txt", 300, max_piece_length=2),
        TrainingRun(tmp_path / "run", recipe).merge,
    ):
        with pytest.raises(EmptyCorpus, match="longer than 2 bytes") as raised:
            work()
        assert raised.value.place["field"] == "max_piece_length"


@pytest.mark.parametrize(
    "path", ["nowhere.txt", "*.txt", "", "a\0b", "a" * 300, "memory://nowhere.txt", "strange://a.txt"]
)
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(CorpusNotFound) as raised:
        of(path)
    assert raised.value.place["field"] == "corpus"


@pytest.mark.parametrize(
    "text", ["a.txt", "FOLDER/a.txt", "FOLDER", ".", "*.txt", "FOLDER/**/*", "https://a.org/b.txt"]
)
def test_a_list_that_could_be_files_or_texts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    named = text.replace("FOLDER", str(tmp_path))
    for corpus in ([named], ["a.txt", named]):
        with pytest.raises(InvalidOption, match=r"pathlib\.Path"):
            of(corpus)
    assert of(iter([named])) == of([named, ""]) != of([tmp_path / "a.txt"])


@pytest.mark.parametrize(
    "text", ["", "b.txt", "why?", "*.json", "[z-a]*", "a\0b", "see https://a.org", "a\nb", "[" * 5000]
)
def test_a_list_of_what_can_be_no_files_is_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert of([text, "low"]) == of(iter([text, "low"]))


@pytest.mark.parametrize(
    "corpus",
    [7, None, [b"text"], iter([7]), b"text", {"text": 7}],
    ids=["number", "none", "list of bytes", "numbers", "bytes", "object"],
)
def test_what_is_no_corpus_is_refused(corpus: Any) -> None:
    with pytest.raises((InvalidOption, CorpusError)) as raised:
        of(corpus)
    assert raised.value.place["field"] == "corpus"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"paths": "text"}, "paths"),
        ({"paths": None}, "paths"),
        ({"paths": (b"a.txt",)}, "paths"),
        ({"paths": ("a",), "format": "csv"}, "format"),
        ({"paths": ("a",), "format": ["text"]}, "format"),
        ({"paths": ("a",), "field": 5}, "field"),
        ({"paths": ("a",), "column": None}, "column"),
    ],
)
def test_files_of_another_type_are_refused_when_they_are_named(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        Files(**options)
    assert raised.value.place == {"field": f"corpus.{field}"}
