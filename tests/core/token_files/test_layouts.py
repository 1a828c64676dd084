"""Every layout holds the ids of single texts, as a reader of its own says."""

import csv
import gzip
import hashlib
import json
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.core.token_files.conftest import TEXTS, line, many_texts
from tests.core.token_files.readers import READERS, wanted
from tokenizer_core import Files, InvalidArtifact, InvalidCorpus, InvalidOption, LayoutName, encode_corpus
from tokenizer_core._kernel import DocumentEncoder
from tokenizer_core.token_files.layouts import LAYOUTS, samples, tables
from tokenizer_core.token_files.layouts.layout import Shape
from tokenizer_core.token_files.recipe import _dtype
from tokenizer_core.token_files.store import Outputs


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"}


FOUR_BYTES = {"megatron": "int32", "ds": "uint32", "memmap": "uint32", "llmc": "uint32", "nanogpt": "uint32"}


def documents(tokenizer, texts, end, place):
    found = []
    for text in texts:
        ids = tokenizer.encode(text).tolist()
        beside = {"after": [*ids, end], "before": [end, *ids], "none": ids}[place]
        found.append(beside if ids else [])
    return found


def test_every_layout_has_a_reader_here():
    assert set(READERS) == set(LAYOUTS) == set(LayoutName.__args__)


@pytest.mark.parametrize("eos", ["after", "before", "none", None])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_files_hold_the_ids_of_single_texts(tokenizer, end, corpus, tmp_path, layout, eos):
    written = encode_corpus(corpus, tokenizer, tmp_path / "out", layout=layout, eos=eos)
    place = eos or ("before" if layout == "llmc" else "after")
    expected = documents(tokenizer, TEXTS, end, place)
    assert READERS[layout](tmp_path / "out", written.dtype) == wanted(expected, layout)
    assert (written.documents, written.tokens) == (len(TEXTS), sum(map(len, expected)))
    assert written.manifest["eos"] == {"id": None if eos == "none" else end, "place": place}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shards_hold_the_documents_in_the_order_of_the_corpus(tokenizer, end, large_corpus, tmp_path, layout):
    written = encode_corpus(large_corpus, tokenizer, tmp_path / "out", layout=layout, shard_bytes=4096)
    place = "before" if layout == "llmc" else "after"
    expected = documents(tokenizer, many_texts(), end, place)
    assert READERS[layout](tmp_path / "out", written.dtype) == wanted(expected, layout)
    if layout != "nanogpt":
        assert len(written.shards) > 5


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_type_that_a_layout_has_holds_the_same_ids(tokenizer, corpus, tmp_path, layout):
    found = []
    for dtype in LAYOUTS[layout].dtypes:
        written = encode_corpus(corpus, tokenizer, tmp_path / dtype, layout=layout, dtype=dtype)
        assert written.dtype == dtype
        found.append(READERS[layout](tmp_path / dtype, dtype))
    assert found == found[:1] * len(found)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_large_vocabulary_gets_ids_of_four_bytes(layout):
    dtype = LAYOUTS[layout].dtype(65_537)
    assert np.iinfo(dtype).max > 65_536
    assert dtype == FOUR_BYTES.get(layout, dtype)


def test_megatron_takes_four_bytes_from_65500_ids_on():
    assert [LAYOUTS["megatron"].dtype(size) for size in (65_499, 65_500)] == ["uint16", "int32"]


def test_the_types_that_would_cut_ids_off_are_refused(tokenizer, corpus, tmp_path):
    with pytest.raises(InvalidOption, match="int8"):
        encode_corpus(corpus, tokenizer, tmp_path / "out", dtype="int8")
    with pytest.raises(InvalidOption, match="has no uint32"):
        encode_corpus(corpus, tokenizer, tmp_path / "out", dtype="uint32")
    with pytest.raises(InvalidOption, match="the id 65536 of the tokenizer does not fit into uint16"):
        _dtype("uint16", LAYOUTS["ds"], "ds", 65_537)
    with pytest.raises(InvalidArtifact, match="65536 does not fit") as caught:
        DocumentEncoder(tokenizer, after=65_536, id_bytes=2).encode_texts(["a"])
    assert caught.value.code == "id_out_of_range"


def test_the_rows_of_parquet_are_documents(tokenizer, end, tmp_path):
    pq.write_table(pa.table({"body": TEXTS}), tmp_path / "in.parquet")
    files = Files(paths=(tmp_path / "in.parquet",), column="body")
    written = encode_corpus(files, tokenizer, tmp_path / "out")
    assert READERS["megatron"](tmp_path / "out", written.dtype) == documents(tokenizer, TEXTS, end, "after")
    (source,) = written.manifest["shards"][0]["sources"]
    assert (source["first"], source["read"]) == (0, len(TEXTS))


def test_large_parquet_is_cut_into_shards(tokenizer, end, tmp_path):
    texts = many_texts(5000)
    pq.write_table(pa.table({"text": texts}), tmp_path / "in.parquet", compression="none")
    written = encode_corpus(tmp_path / "in.parquet", tokenizer, tmp_path / "out", shard_bytes=100_000)
    assert len(written.shards) > 1
    assert READERS["megatron"](tmp_path / "out", written.dtype) == documents(tokenizer, texts, end, "after")


def test_an_id_stands_for_the_end_of_text(tokenizer, corpus, tmp_path):
    written = encode_corpus(corpus, tokenizer, tmp_path / "out", eos=7, layout="llmc")
    assert READERS["llmc"](tmp_path / "out", written.dtype) == wanted(documents(tokenizer, TEXTS, 7, "before"), "llmc")
    with pytest.raises(InvalidOption, match="no id"):
        encode_corpus(corpus, tokenizer, tmp_path / "other", eos=tokenizer.vocab_size)


@pytest.mark.parametrize("layout", ["mds", "litdata"])
def test_a_full_file_of_samples_is_followed_by_another(tokenizer, tmp_path, layout, monkeypatch):
    monkeypatch.setattr("tokenizer_core.token_files.layouts.samples._FILE_BYTES", 4096)
    (tmp_path / "in.jsonl").write_bytes(b"".join(map(line, many_texts())))
    written = encode_corpus(tmp_path / "in.jsonl", tokenizer, tmp_path / "out", layout=layout, eos="none")
    assert len(written.shards) > 3
    sizes = [shard.files[suffix]["bytes"] for shard in written.shards for suffix in shard.files]
    assert max(sizes) <= 4096
    expected = wanted([tokenizer.encode(text).tolist() for text in many_texts()], layout)
    assert READERS[layout](tmp_path / "out", written.dtype) == expected


@pytest.mark.parametrize("layout", ["parquet", "arrow"])
def test_groups_of_rows_do_not_depend_on_how_documents_come(tokenizer, tmp_path, layout, monkeypatch):
    monkeypatch.setattr("tokenizer_core.token_files.layouts.tables._GROUP", 1000)
    (tmp_path / "in.jsonl").write_bytes(b"".join(map(line, many_texts())))
    monkeypatch.setattr("tokenizer_core.corpus.reading.BLOCK", 700)
    encode_corpus(tmp_path / "in.jsonl", tokenizer, tmp_path / "one", layout=layout)
    monkeypatch.setattr("tokenizer_core.corpus.reading.BLOCK", 1 << 20)
    encode_corpus(tmp_path / "in.jsonl", tokenizer, tmp_path / "two", layout=layout)
    names = [path.name for path in (tmp_path / "one").iterdir()]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)


def test_the_table_of_memmap_names_the_source_and_the_number_of_every_document(tokenizer, corpus, tmp_path):
    encode_corpus(corpus, tokenizer, tmp_path / "out", layout="memmap")
    with gzip.open(tmp_path / "out" / "part-0-00000.csv.gz", "rt", newline="") as file:
        named = [(row[3].rpartition("/")[2], int(row[4])) for row in csv.reader(file)]
    assert named == [("a.jsonl", 0), ("a.jsonl", 1), ("b.jsonl.gz", 0), ("b.jsonl.gz", 1), ("b.jsonl.gz", 2)]


def test_the_manifest_has_the_hash_of_everything(tokenizer, corpus, tmp_path):
    encode_corpus(corpus, tokenizer, tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["format"] == "tokd tokens 1"
    assert manifest["tokenizer"] == tokenizer.hash
    (shard,) = manifest["shards"]
    for facts in shard["files"].values():
        data = (tmp_path / "out" / facts["name"]).read_bytes()
        assert (facts["bytes"], facts["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    plain, packed = shard["sources"]
    assert plain["sha256"] == hashlib.sha256((corpus / "a.jsonl").read_bytes()).hexdigest()
    unpacked = b"".join(map(line, TEXTS[2:]))
    assert (packed["read"], packed["sha256"]) == (len(unpacked), hashlib.sha256(unpacked).hexdigest())


def test_documents_that_a_header_of_llmc_cannot_count_are_in_another_file(tokenizer, end, tmp_path, monkeypatch):
    (tmp_path / "in.jsonl").write_bytes(b"".join(map(line, many_texts())))
    encode_corpus(tmp_path / "in.jsonl", tokenizer, tmp_path / "one", layout="llmc")
    monkeypatch.setattr("tokenizer_core.token_files.layouts.flat._MOST_TOKENS", 300)
    for block in (700, 1 << 20):
        monkeypatch.setattr("tokenizer_core.corpus.reading.BLOCK", block)
        written = encode_corpus(tmp_path / "in.jsonl", tokenizer, tmp_path / f"{block}", layout="llmc", threads=2)
        assert len(written.shards) > 10
        assert 250 < max(shard.tokens for shard in written.shards) <= 300
        assert READERS["llmc"](tmp_path / f"{block}", "uint16") == READERS["llmc"](tmp_path / "one", "uint16")
        # A file ends with a document.
        for path in (tmp_path / f"{block}").glob("*.bin"):
            assert np.fromfile(path, "<u2", 1, offset=1024)[0] == end
    assert content(tmp_path / "700") == content(tmp_path / "1048576")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_longest_document_of_a_layout_fits_into_the_numbers_of_its_files(layout):
    for dtype, is_labeled, is_packed in product(LAYOUTS[layout].dtypes, (False, True), (False, True)):
        shape = Shape(dtype, "name", 0, is_labeled=is_labeled, is_packed=is_packed)
        longest = LAYOUTS[layout].longest(shape)
        assert longest <= 2**31 - 1
        if layout in ("parquet", "arrow"):
            # The group in which it comes may be full but for one token.
            assert tables._GROUP - 1 + longest <= np.iinfo(np.int32).max
        if layout in ("mds", "litdata"):
            sink = LAYOUTS[layout].sink(Outputs(None), shape)
            # Every token of a pack may be a member, whose length has four bytes.
            widths = [np.dtype(each).itemsize for each in samples._columns(shape, "ids").values()]
            count = 70_000
            around = len(sink.sample([bytes(width * count) for width in widths])) - count * sum(widths)
            table = 4 + 2 * 4 + len(sink.config)
            assert table + around + longest * sum(widths) <= np.iinfo(np.uint32).max


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_document_that_is_too_long_for_a_layout_is_refused_by_name(tokenizer, corpus, tmp_path, layout, monkeypatch):
    monkeypatch.setattr(type(LAYOUTS[layout]), "longest", lambda self, shape: 10)
    with pytest.raises(InvalidCorpus, match=rf"b\.jsonl\.gz: a document has \d+ tokens; {layout} takes 10"):
        encode_corpus(corpus, tokenizer, tmp_path / "out", layout=layout)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
