"""What texts cost, and the samples they are taken from."""

import gzip
import json

import pytest

from tests.support.tokenizers import write_layout
from tokenizer_core import (
    CorpusError,
    Files,
    InvalidOption,
    Tokenizer,
    fertility,
    fertility_by_language,
    sample_corpus,
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    write_layout(folder)
    return Tokenizer.from_hf(folder)


def test_fertility_is_what_encoding_and_unicode_say(tokenizer):
    texts = ["The harbour, naïve!", "你好"]
    found = fertility(tokenizer, texts)
    assert found.tokens == sum(len(tokenizer.encode(text)) for text in texts)
    assert (found.bytes, found.characters, found.words) == (26, 21, 5)
    assert found.per_word == found.tokens / 5
    assert found.per_byte == found.tokens / 26
    assert found.to_dict()["per_character"] == round(found.tokens / 21, 4)


def test_a_literal_of_a_special_token_is_text(tokenizer):
    literal = next(iter(tokenizer.special_tokens))
    assert fertility(tokenizer, [literal]).tokens == tokenizer.count(literal, special_tokens="text")


def test_nothing_costs_nothing(tokenizer):
    assert fertility(tokenizer, []).per_word == 0


def test_twenty_languages_say_the_same_and_others_can_be_given(tokenizer):
    found = fertility_by_language(tokenizer)
    assert len(found) == 20
    assert found["chinese"].bytes < found["english"].bytes < found["thai"].bytes
    assert all(one.tokens > 0 and one.words > 0 for one in found.values())
    assert list(fertility_by_language(tokenizer, {"mine": "abc"})) == ["mine"]


def test_a_sample_takes_the_beginning_of_every_file(tmp_path):
    (tmp_path / "a.txt").write_text("ä" * 100, encoding="utf-8")
    with gzip.open(tmp_path / "b.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": f"line {number}"}) + "\n\n" for number in range(100))
    (tmp_path / "c.counts").write_text('3\t"abc"\n', encoding="utf-8")
    text, *lines = sample_corpus(tmp_path, 42)
    assert text == "ä" * 10  # 21 bytes, and the eleventh character is cut off
    assert lines == ["line 0", "line 1", "line 2", "line 3"]


def test_a_sample_of_parquet_reads_the_column(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"body": ["one", "two", "three"]}), tmp_path / "a.parquet")
    files = Files(paths=(tmp_path / "a.parquet",), column="body")
    assert sample_corpus(files, 6) == ["one", "two"]


def test_a_sample_takes_lines_as_training_does(tmp_path):
    lines = [b'{"text":\r"one"}\r', b'{"text": "two", "id": ' + b"9" * 5000 + b"}", b'{"text": "\xff"}', b'{"body": 1}']
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(CorpusError, match="line 4"):
        sample_corpus(tmp_path / "a.jsonl", 1000)
    assert sample_corpus(tmp_path / "a.jsonl", 7) == ["one", "two", "\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("line", ['{"body": "x"}', '{"text": 1}', "{", "[]", "7", "[" * 100_000])
def test_a_line_without_a_text_is_named(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(f'{{"text": "fine"}}\n\n{line}\n', encoding="utf-8")
    with pytest.raises(CorpusError, match="line 3"):
        sample_corpus(tmp_path / "a.jsonl", 1000)


def test_counts_hold_no_texts(tmp_path):
    (tmp_path / "c.counts").write_text('3\t"abc"\n', encoding="utf-8")
    with pytest.raises(CorpusError, match="no texts"):
        sample_corpus(tmp_path / "c.counts", 10)


def test_one_string_is_not_counted_letter_by_letter(tokenizer):
    with pytest.raises(InvalidOption, match="make a list of it"):
        fertility(tokenizer, "abc")


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "5", None, 10**30])
def test_the_size_of_a_sample_is_a_number_of_bytes(size, tmp_path):
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    with pytest.raises(InvalidOption) as caught:
        sample_corpus(tmp_path / "a.txt", size)
    assert caught.value.place == {"field": "size"}
