"""What is wrong with a corpus is said with its place, and nothing of the output is left."""

import json
import os
import resource
from pathlib import Path

import pytest

from tests.core.token_files.conftest import line
from tests.core.token_files.readers import READERS
from tests.support import tiny
from tokenizer_core import CorpusNotFound, EmptyCorpus, Files, InvalidCorpus, InvalidOption, Tokenizer, encode_corpus


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def cases(tokenizer):
    literal = json.dumps({"text": next(iter(tokenizer.special_tokens))}).encode()
    return {
        b'{"x": 1}': "invalid_corpus",
        b'{"text": 1}': "invalid_corpus",
        b"not json": "invalid_corpus",
        b'{"text": "\xff"}': "invalid_utf8",
        literal: "reserved_literal",
    }


def test_a_wrong_line_is_named_and_leaves_nothing(tokenizer, corpus, tmp_path):
    for wrong, code in cases(tokenizer).items():
        (corpus / "a.jsonl").write_bytes(b'{"text": "fine"}\n\n' + wrong + b"\n")
        with pytest.raises(InvalidCorpus, match=r"line 3 of .*a\.jsonl: ") as caught:
            encode_corpus(corpus, tokenizer, tmp_path / "out")
        assert (caught.value.code, caught.value.place["line"]) == (code, 3)
        assert ("not JSON: expected ident at column 2; mend it" in caught.value.message) == (wrong == b"not json")
        assert names(tmp_path) == ["in"]


def test_a_wrong_line_far_inside_a_cut_file_has_its_number_in_the_file(tokenizer, tmp_path):
    for wrong, code in cases(tokenizer).items():
        (tmp_path / "in.jsonl").write_bytes(line("some text") * 999 + wrong + b"\n" + line("more") * 500)
        out = tmp_path / f"out{len(names(tmp_path))}"
        with pytest.raises(InvalidCorpus, match=r"line 1000 of .*in\.jsonl: ") as caught:
            encode_corpus(tmp_path / "in.jsonl", tokenizer, out, shard_bytes=2048)
        assert (caught.value.code, caught.value.place["line"]) == (code, 1000)
        if code == "invalid_utf8":
            assert caught.value.place["byte"] == 999 * len(line("some text")) + 10
        files = Files(paths=(tmp_path / "in.jsonl",), on_error="skip")
        with pytest.raises(FileExistsError, match="on_error 'stop'"):
            encode_corpus(files, tokenizer, out, shard_bytes=2048, resume=True)
        encode_corpus(files, tokenizer, tmp_path / f"skipped-{out.name}", shard_bytes=2048)


@pytest.mark.parametrize("shard_bytes", [2048, 1 << 30])
def test_documents_that_cannot_be_read_are_left_out_counted_and_named(tokenizer, end, tmp_path, shard_bytes):
    wrong = cases(tokenizer)
    (tmp_path / "in.jsonl").write_bytes(b"".join(line("good") * 100 + bad + b"\n" for bad in wrong) + line("last"))
    files = Files(paths=(tmp_path / "in.jsonl",), on_error="skip")
    written = encode_corpus(files, tokenizer, tmp_path / "out", shard_bytes=shard_bytes)
    assert (written.documents, written.skipped) == (501, len(wrong))
    good, last = ([*tokenizer.encode(text).tolist(), end] for text in ("good", "last"))
    assert READERS["megatron"](tmp_path / "out", written.dtype) == [good] * 500 + [last]
    first = written.manifest["first_skipped"]
    assert [place["line"] for place in first] == [101, 202, 303, 404, 505]
    assert all(place["reason"] and place["file"].endswith("in.jsonl") for place in first)


def test_the_way_out_of_what_is_no_text_is_one_of_encoding(tokenizer, tmp_path):
    for wrong in (b'{"text": "\xff"}', b'{"text": "\\ud800"}'):
        (tmp_path / "in.jsonl").write_bytes(wrong + b"\n")
        with pytest.raises(InvalidCorpus, match="left out with on_error") as caught:
            encode_corpus(tmp_path / "in.jsonl", tokenizer, tmp_path / "out")
        assert "replace_invalid" not in caught.value.message


def test_dead_links_and_pipes_of_a_folder_are_not_passed_over(tokenizer, corpus, tmp_path):
    (corpus / "dead.jsonl").symlink_to("nowhere")
    with pytest.raises(CorpusNotFound, match=r"dead\.jsonl is gone"):
        encode_corpus(corpus, tokenizer, tmp_path / "out")
    (corpus / "dead.jsonl").unlink()
    os.mkfifo(corpus / "pipe.jsonl")
    with pytest.raises(InvalidCorpus, match=r"pipe\.jsonl is not a regular file"):
        encode_corpus(corpus, tokenizer, tmp_path / "out")
    assert names(tmp_path) == ["in"]


def test_a_literal_inside_a_document_is_text_or_an_id_as_the_caller_says(tokenizer, end, tmp_path):
    literal = tokenizer.parts.settings.eos
    (tmp_path / "in.jsonl").write_bytes(line(f"a{literal}b"))
    for policy in ("text", "parse"):
        written = encode_corpus(tmp_path / "in.jsonl", tokenizer, tmp_path / policy, special_tokens=policy)
        (found,) = READERS["megatron"](tmp_path / policy, written.dtype)
        assert found == [*tokenizer.encode(f"a{literal}b", special_tokens=policy).tolist(), end]
        assert (end in found[:-1]) == (policy == "parse")


def test_a_file_that_changes_during_the_run_is_refused(tokenizer, corpus, tmp_path):
    def change(progress):
        with (corpus / "a.jsonl").open("ab") as file:
            file.write(line("more"))

    with pytest.raises(InvalidCorpus, match=r"a\.jsonl changed while it was read"):
        encode_corpus(corpus, tokenizer, tmp_path / "out", progress=change)
    assert names(tmp_path) == ["in"]


def test_what_would_be_guessed_is_refused(tokenizer, corpus, tmp_path):
    for wrong in ({"eos": "twice"}, {"layout": "tar"}, {"shuffle": -1}, {"shard_bytes": 10}, {"threads": -1}):
        (field,) = wrong
        with pytest.raises(InvalidOption, match=field):
            encode_corpus(corpus, tokenizer, tmp_path / "out", **wrong)
    (tmp_path / "a.counts").write_bytes(b"")
    with pytest.raises(InvalidCorpus, match="counts, not texts"):
        encode_corpus(tmp_path / "a.counts", tokenizer, tmp_path / "out")
    (tmp_path / "blank.jsonl").write_bytes(b"\n \n")
    with pytest.raises(EmptyCorpus):
        encode_corpus(tmp_path / "blank.jsonl", tokenizer, tmp_path / "out")
    with pytest.raises(FileExistsError):
        encode_corpus(corpus, tokenizer, corpus)
    assert names(tmp_path) == ["a.counts", "blank.jsonl", "in"]


def test_a_tokenizer_without_an_end_of_text_is_told_the_ways_out(tokenizer, corpus, tmp_path):
    (tmp_path / "merges.txt").write_text(tiny.merges_txt())
    (tmp_path / "vocab.json").write_text(json.dumps(tiny.vocab()))
    without = Tokenizer.from_vocab_merges(tmp_path / "vocab.json", tmp_path / "merges.txt")
    with pytest.raises(InvalidOption, match='eos="none"'):
        encode_corpus(corpus, without, tmp_path / "out")
    assert encode_corpus(corpus, without, tmp_path / "out", eos="none").documents == 5


@pytest.mark.parametrize("layout", ["megatron", "parquet", "memmap", "nanogpt"])
def test_a_full_disk_leaves_nothing(tokenizer, corpus, tmp_path, layout):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            encode_corpus(corpus, tokenizer, tmp_path / "out", layout=layout)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(tmp_path) == ["in"]
