"""Lines of JSON as others write them: only the text that is read is judged by more than JSON's grammar."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from tokenizer_core import (
    EmptyCorpus,
    Files,
    InvalidCorpus,
    Recipe,
    TrainingRun,
    TrainingWarning,
    TrainSettings,
    counted,
    sample_corpus,
)
from tokenizer_core.training.counts import Counts
from tokenizer_core.zstd import zstd

SETTINGS = TrainSettings(vocab_size=300)
GOOD = ["low lower lowest", "new newer newest", "wide wider"]
TRUTH = counted(iter(GOOD), SETTINGS).hash
BAD = {
    **{
        b'{"text": %b}' % value: f'the field "text" is {kind}, not a string'
        for value, kind in {
            b"null": "null",
            b"true": "true",
            b"5": "a number",
            b"-5": "a number",
            b"1.5": "a number",
            b'["a"]': "a list",
            b'{"a": "b"}': "an object",
        }.items()
    },
    b'{"text": "a", "deep": ' + b"[" * 250 + b"]" * 250 + b"}": "nested deeper than 200 lists or objects",
    b'{"text": "a", "long": [' + b"7" * 5000 + b"]}": "a number of more than 4300 digits",
    b'{"other": "a"}': 'there is no field "text"',
    b'{"text": "a", "score": NaN}': "NaN is not JSON; write null",
    b'{"score": -Infinity, "text": "a"}': "Infinity is not JSON; write null",
    b'{"text": "\\udc00 a \\ud83d"}': "a surrogate stands alone in the text",
    b'{"text": "\xff"}': "is not UTF-8",
    b'{"text": "a"': "EOF while parsing",
    b"[]": 'not an object with a string "text"',
    b'{"text": "a\tb", "x": "\\ud800"}': "control character",
}


class Empty(BaseModel):
    """A body whose fields are all passed over."""


def write(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def count(path: Path, *, on_error: Any = "stop", **options: Any) -> Counts:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        return counted(Files(paths=(path,), on_error=on_error), SETTINGS, **options)


def line(text: str, **more: Any) -> bytes:
    return json.dumps({"text": text, **more}).encode()


@pytest.mark.parametrize(
    "more",
    [
        {"id": "\ud800"},
        {"\udfff": [{"\ud83d": "\ud83d\ud83d"}]},
        {"number": 10**400, "deep": [[[[{}]]]]},
        {"same": 1, "pair": "\U0001f642"},
    ],
)
def test_fields_that_are_not_read_are_judged_by_the_grammar_alone(tmp_path: Path, more: dict[str, Any]) -> None:
    for replace_invalid in (False, True):
        path = write(tmp_path / "a.jsonl", [line(text, **more) for text in GOOD])
        assert count(path, replace_invalid=replace_invalid).hash == TRUTH
        path = write(tmp_path / "a.jsonl", [json.dumps({**more, "text": text}).encode() for text in GOOD])
        assert count(path, replace_invalid=replace_invalid).hash == TRUTH


@pytest.mark.parametrize(
    "text", ["\ud800", "a\udc00b", "\ud83d\ud83d\ude42", "\\\ud800", "\ufffd\udfff\\ud800", "\ud800\\"]
)
def test_a_lone_surrogate_in_a_text_is_refused_or_replaced(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "a.jsonl", [line(GOOD[0], x="\ud800"), line(text), line(GOOD[1])])
    with pytest.raises(InvalidCorpus, match=r"line 2, column [0-9]+: a surrogate stands alone in the text"):
        count(path)
    # Pairs are one character; what is left alone becomes U+FFFD, as bytes do that are not UTF-8.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if "\ud83d" in text else None
    replaced = "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    expected = "\ufffd\U0001f642" if whole else replaced
    assert count(path, replace_invalid=True).hash == counted(iter([GOOD[0], expected, GOOD[1]]), SETTINGS).hash


@pytest.mark.parametrize("bad", BAD)
def test_a_line_that_cannot_be_read_stops_the_run_or_is_skipped(tmp_path: Path, bad: bytes) -> None:
    lines = [line(GOOD[0]), b"", bad, line(GOOD[1]), line(GOOD[2])]
    path = write(tmp_path / "a.jsonl", lines)
    with pytest.raises(InvalidCorpus, match="on_error") as raised:
        count(path)
    assert BAD[bad] in raised.value.message
    counts = count(path, on_error="skip")
    assert (counts.hash, counts.documents, counts.skipped) == (TRUTH, 3, 1)
    (first,) = counts.first_skipped
    assert first.startswith(f"{path}: ")
    assert BAD[bad] in first
    assert "on_error" not in first


@pytest.mark.parametrize("depth", [199, 200, 201, 202])
@pytest.mark.parametrize("nested", [("[", "", "]"), ("[", "1", "]"), ('{"a":', "1", "}"), ('[{"a":', '"b"', "}]")])
def test_lines_have_the_limits_of_bodies(tmp_path: Path, depth: int, nested: tuple[str, str, str]) -> None:
    opening, inner, closing = nested
    times = depth // len(closing)
    value = opening * times + inner + closing * times
    assert _is_read(tmp_path, value) == _is_parsed(value)


@pytest.mark.parametrize("digits", [4299, 4300, 4301])
@pytest.mark.parametrize("form", ["%s", "-%s", "%s.5", "%se5", "0.%s", "1e%s", "1E-%s", "1e+%s"])
def test_numbers_in_lines_have_the_limits_of_bodies(tmp_path: Path, digits: int, form: str) -> None:
    assert _is_read(tmp_path, form % ("7" * digits)) == _is_parsed(form % ("7" * digits))


def _is_read(folder: Path, value: str) -> bool:
    path = write(folder / "a.jsonl", [b'{"x": %b, "text": "low"}' % value.encode()])
    try:
        return count(path).documents == 1
    except InvalidCorpus:
        return False


def _is_parsed(value: str) -> bool:
    """Tell whether the parser of bodies takes a value that is not used."""
    try:
        TypeAdapter(Empty).validate_json(f'{{"x":{value}}}')
    except ValidationError:
        return False
    return True


def test_a_byte_order_mark_before_the_first_line_is_not_part_of_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [b"\xef\xbb\xbf" + line(GOOD[0]), *map(line, GOOD[1:])])
    assert count(path).hash == TRUTH
    assert sample_corpus(path, 1 << 20) == GOOD
    for bad in (b"\xef\xbb\xbf\xef\xbb\xbf" + line("a"), b"\xef\xbb\xbf" + line("\u00e9")[:-1]):
        with pytest.raises(InvalidCorpus, match="line 1, column"):
            count(write(tmp_path / "b.jsonl", [bad]))
    with pytest.raises(InvalidCorpus) as raised:
        count(write(tmp_path / "b.jsonl", [b'\xef\xbb\xbf{"text": "\xff"}']))
    assert raised.value.place["byte"] == 13


@pytest.mark.parametrize("shard_bytes", [1 << 30, 1 << 16])
def test_lines_of_a_text_that_are_not_utf8_are_skipped(tmp_path: Path, shard_bytes: int) -> None:
    words = [b"words of line %d\n" % number for number in range(200_000)]
    torn = words.copy()
    torn[7], torn[150_000] = b"torn \xff\n", b"\xe4\r\n"
    path, whole = tmp_path / "torn.txt", tmp_path / "whole.txt"
    path.write_bytes(b"".join(torn) + b"half \xc3")
    whole.write_bytes(b"".join(words[:7] + words[8:150_000] + words[150_001:]))
    with pytest.raises(InvalidCorpus, match="set replace_invalid; mend it, or have such lines left out with on_error"):
        count(path)
    first = [
        f"{path}: byte {byte} of line {number} is not UTF-8" for byte, number in ((5, 8), (0, 150_001), (5, 200_001))
    ]
    counts = count(path, on_error="skip")
    assert (counts.hash, counts.skipped, list(counts.first_skipped)) == (count(whole).hash, 3, first)
    recipe = {"corpus": {"paths": [str(path)], "on_error": "skip"}, "vocab_size": 300}
    report = TrainingRun(tmp_path / "run", Recipe.from_dict(recipe), shard_bytes=shard_bytes).report()
    assert (report.skipped, list(report.first_skipped)) == (3, first)
    assert report.corpus["hash"] == counts.hash
    assert count(path, on_error="skip", replace_invalid=True).skipped == 0


def test_the_first_skipped_lines_are_told_whatever_the_threads_and_shards(tmp_path: Path) -> None:
    paths = []
    for name in "abc":
        lines = [b"{}" if number % 100 == 7 else line(f"{name} {number} " + "word " * 50) for number in range(9000)]
        paths.append(write(tmp_path / f"{name}.jsonl", lines))
    files = Files(paths=tuple(paths), on_error="skip")
    expected = [f'{paths[0]}: line {number}, column 2: there is no field "text"' for number in range(8, 1000, 100)]
    for threads in (1, 3):
        with pytest.warns(TrainingWarning, match="270 lines of the corpus were skipped, first .*a.jsonl: line 8,"):
            counts = counted(files, SETTINGS, threads=threads)
        assert (counts.skipped, list(counts.first_skipped)) == (270, expected)
    recipe = {"corpus": {"paths": list(map(str, paths)), "on_error": "skip"}, "vocab_size": 300}
    for shard_bytes in (1 << 30, 1 << 16):
        for _ in range(2):
            run = TrainingRun(tmp_path / f"run-{shard_bytes}", Recipe.from_dict(recipe), shard_bytes=shard_bytes)
            report = run.report()
            assert (report.skipped, list(report.first_skipped)) == (270, expected)
            assert report.corpus["hash"] == counts.hash


def test_what_is_skipped_is_no_part_of_an_artifact(tmp_path: Path) -> None:
    made = []
    for name, lines in (("whole", []), ("torn", [b"{", b"null"])):
        path = write(tmp_path / f"{name}.jsonl", [*map(line, GOOD), *lines])
        recipe = Recipe.from_dict(
            {"corpus": {"paths": [str(path)], "on_error": "skip"}, "vocab_size": 300, "name": "x"}
        )
        run = TrainingRun(tmp_path / name, recipe)
        run.publish(tmp_path / name / "artifact")
        made.append({file.name: file.read_bytes() for file in (tmp_path / name / "artifact").iterdir()})
        assert run.report().skipped == len(lines)
    assert made[0] == made[1]


def test_a_run_that_stops_is_not_gone_on_with_as_one_that_skips(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [line(GOOD[0]), b"{}"])
    corpus = {"paths": [str(path)]}
    with pytest.raises(InvalidCorpus):
        TrainingRun(tmp_path / "run", Recipe.from_dict({"corpus": corpus})).count()
    TrainingRun(tmp_path / "run", Recipe.from_dict({"corpus": {**corpus, "on_error": "skip"}})).count()
    with pytest.raises(InvalidCorpus):
        TrainingRun(tmp_path / "run", Recipe.from_dict({"corpus": corpus})).count()


def test_where_every_line_is_skipped_the_error_says_why(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [b'{"text": null}'] * 3)
    with pytest.raises(
        EmptyCorpus, match=r"3 skipped lines: .*a\.jsonl: line 1, column 13: the field \"text\" is null"
    ):
        count(path, on_error="skip")


def test_rows_without_a_text_are_skipped_too(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    bytes_of: list[bytes | None] = [GOOD[0].encode(), None, b"\xff", GOOD[1].encode(), GOOD[2].encode()]
    column = pyarrow.array(bytes_of, pyarrow.binary()).cast(pyarrow.string(), safe=False)
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), path)
    with pytest.raises(InvalidCorpus, match=r"row 1 of .* has no text"):
        count(path)
    counts = count(path, on_error="skip")
    assert (counts.hash, counts.skipped) == (TRUTH, 2)
    assert ["has no text" in counts.first_skipped[0], "byte 0 of row 2" in counts.first_skipped[1]] == [True, True]
    assert count(path, on_error="skip", replace_invalid=True).skipped == 1


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst"])
def test_what_a_file_begins_with_says_how_it_is_packed(
    tmp_path: Path, pack: Callable[[bytes], bytes], name: str
) -> None:
    (tmp_path / name).write_bytes(pack(b"\n".join(map(line, GOOD))))
    assert count(tmp_path / name).hash == TRUTH
    assert sample_corpus(tmp_path / name, 1 << 20) == GOOD
    (tmp_path / name).write_bytes(pack(b"\n".join(map(line, GOOD)))[:-3])
    with pytest.raises(InvalidCorpus):
        count(tmp_path / name)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5])
def test_short_files_are_read_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "a.txt").write_bytes(b"words"[:size])
    if size:
        assert count(tmp_path / "a.txt").text_bytes == size
        assert sample_corpus(tmp_path / "a.txt", 100) == ["words"[:size]]
    (tmp_path / "b.txt.gz").write_bytes(b"words"[:size])
    with pytest.raises((InvalidCorpus, EmptyCorpus)):
        count(tmp_path / "b.txt.gz")


def test_a_sample_passes_over_what_a_run_skips(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [b"{}", *map(line, GOOD)])
    assert sample_corpus(Files(paths=(path,), on_error="skip"), 1000) == GOOD
    with pytest.raises(InvalidCorpus):
        sample_corpus(path, 1000)
