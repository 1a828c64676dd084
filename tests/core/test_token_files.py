"""A corpus becomes Megatron-LM's files, which a reader of their format finds equal to single texts."""

import gzip
import json
import resource
import struct
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest

from service.cli import main
from tokenizer_core import Files, InvalidCorpus, InvalidOption, Tokenizer, base_artifact, encode_corpus

TEXTS = ["Hello world", "", "naïve 東京\n", "def f(x):\n    return x", "a" * 5000]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    tok = Tokenizer.open(base_artifact())
    return tok.with_roles(eos=next(iter(tok.special_tokens)))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = [json.dumps({"text": text}).encode() + b"\n" for text in TEXTS]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(b"".join(lines[:2]) + b"\n")
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[2:])))
    return tmp_path / "in"


def read(folder: Path) -> list[list[int]]:
    index, data = (folder / "tokens.idx").read_bytes(), (folder / "tokens.bin").read_bytes()
    magic, version, code, sequences, ends = struct.unpack_from("<9sQBQQ", index)
    assert (magic, version) == (b"MMIDIDX\0\0", 1)
    dtype = {8: "<u2", 4: "<i4"}[code]
    lengths = np.frombuffer(index, "<i4", sequences, 34)
    starts = np.frombuffer(index, "<i8", sequences, 34 + 4 * sequences)
    firsts = np.frombuffer(index, "<i8", ends, 34 + 12 * sequences)
    assert len(index) == 34 + 12 * sequences + 8 * ends
    assert int(lengths.sum()) * np.dtype(dtype).itemsize == len(data)
    rows = [np.frombuffer(data, dtype, n, at).tolist() for n, at in zip(lengths, starts, strict=True)]
    return [[*chain.from_iterable(rows[a:b])] for a, b in pairwise(firsts)]


@pytest.mark.parametrize("eos", ["after", "before", "none"])
def test_the_files_hold_the_ids_of_single_texts(tokenizer, corpus, tmp_path, eos):
    written = encode_corpus(corpus, tokenizer, tmp_path / "out", eos=eos)
    end = [] if eos == "none" else [tokenizer.special_tokens[tokenizer.parts.settings.eos]]
    wanted = []
    for text in TEXTS:
        ids = tokenizer.encode(text).tolist()
        wanted.append((end + ids if eos == "before" else ids + end) if ids else [])
    assert read(tmp_path / "out") == wanted
    assert (written.documents, written.tokens) == (len(TEXTS), sum(map(len, wanted)))


def test_threads_never_change_a_byte(tokenizer, corpus, tmp_path):
    for threads in (1, 3):
        encode_corpus(corpus, tokenizer, tmp_path / str(threads), threads=threads)
    for name in ("tokens.bin", "tokens.idx", "manifest.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "3" / name).read_bytes()


def test_a_wrong_line_is_named_and_leaves_nothing(tokenizer, corpus, tmp_path):
    literal = next(iter(tokenizer.special_tokens))
    for line, code in ((b'{"x": 1}', "invalid_corpus"), (json.dumps({"text": literal}).encode(), "reserved_literal")):
        (corpus / "a.jsonl").write_bytes(b'{"text": "fine"}\n\n' + line + b"\n")
        with pytest.raises(InvalidCorpus, match=r"line 3 of .*a\.jsonl") as caught:
            encode_corpus(corpus, tokenizer, tmp_path / "out")
        assert (caught.value.code, caught.value.place["line"]) == (code, 3)
        assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_would_be_guessed_is_refused(tokenizer, corpus, tmp_path):
    with pytest.raises(InvalidOption, match="eos"):
        encode_corpus(corpus, tokenizer, tmp_path / "out", eos="twice")
    with pytest.raises(InvalidOption, match="on_error"):
        encode_corpus(Files(paths=(corpus,), on_error="skip"), tokenizer, tmp_path / "out")
    with pytest.raises(FileExistsError):
        encode_corpus(corpus, tokenizer, corpus)


def test_the_command_writes_what_the_library_does(tokenizer, corpus, tmp_path, capsys):
    tokenizer.save(tmp_path / "artifact")
    encode_corpus(corpus, tokenizer, tmp_path / "one")
    assert main(["encode-corpus", str(corpus), "-t", str(tmp_path / "artifact"), "-o", str(tmp_path / "two")]) == 0
    assert "5 documents" in capsys.readouterr().out
    for name in ("tokens.bin", "tokens.idx", "manifest.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert main(["encode-corpus", str(corpus), "-t", str(tmp_path / "artifact"), "-o", str(tmp_path / "two")]) == 1
    assert "output_exists" in capsys.readouterr().err


def test_a_full_disk_is_said_and_leaves_nothing(corpus, tmp_path, capsys):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        assert main(["encode-corpus", str(corpus), "-o", str(tmp_path / "out")]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "unwritable_output" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
