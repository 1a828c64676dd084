"""Packs in the layouts of token files: a pack is a document, with its labels and the lengths of its members."""

import json
import struct
from itertools import accumulate, pairwise
from typing import get_args

import numpy as np
import pytest

from tests.core.token_files.label_readers import LABEL_READERS, litdata, mds
from tests.core.token_files.readers import READERS, wanted
from tests.core.token_files.test_checking import rehashed
from tokenizer_core import (
    InvalidOption,
    PackLayout,
    Tokenizer,
    base_artifact,
    check_token_files,
    pack_files,
    read_token_files,
)

LENGTH = 48


@pytest.fixture(scope="module")
def tokenizer():
    tok = Tokenizer.open(base_artifact())
    return tok.with_roles(eos=next(iter(tok.special_tokens)))


@pytest.fixture
def corpus(tmp_path):
    examples = [{"prompt": "1 + " * (at % 5), "completion": f"{at} 東京" * (1 + at % 4)} for at in range(200)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in examples))
    return tmp_path / "in.jsonl"


def members(folder, layout, dtype, packs):
    """Return the lengths of the members of every pack, as the format has them."""
    if layout == "megatron":
        index = (folder / "tokens-00000.idx").read_bytes()
        _, _, _, sequences, ends = struct.unpack_from("<9sQBQQ", index)
        lengths = np.frombuffer(index, "<i4", sequences, 34)
        firsts = np.frombuffer(index, "<i8", ends, 34 + 12 * sequences)
        return [lengths[a:b].tolist() for a, b in pairwise(firsts.tolist())]
    if layout == "mds":
        return mds(folder, dtype, "seq_lengths")
    if layout == "litdata":
        return litdata(folder, dtype, 2)
    (path,) = folder.glob("*.seq_lengths")
    lengths = np.fromfile(path, "<i4").tolist()
    borders, found = {0: 0} | {end: at for at, end in enumerate(accumulate(lengths), 1)}, []
    start = 0
    for pack in packs:
        found.append(lengths[borders[start] : borders[start + len(pack)]])
        start += len(pack)
    return found


@pytest.mark.parametrize("layout", get_args(PackLayout))
@pytest.mark.parametrize("pad", [False, True])
def test_token_files_hold_packs(tokenizer, corpus, tmp_path, layout, pad):
    tokenizer = tokenizer.with_roles(pad=tokenizer.settings.eos)
    out = tmp_path / "out"
    packs = pack_files(corpus, tokenizer, out, LENGTH, layout=layout, pad=pad, overflow="split", seed=3)
    block = packs.block(0, len(packs))
    cuts = [slice(a, b) for a, b in pairwise(block.token_offsets.tolist())]
    ids, labels = ([values[cut].tolist() for cut in cuts] for values in (block.input_ids, block.labels))
    written = read_token_files(out)
    assert READERS[layout](out, written.dtype) == wanted(ids, layout)
    assert LABEL_READERS[layout](out, written.dtype) == wanted(labels, layout)
    own = [np.diff(block.cu_seqlens(at)).tolist() for at in range(len(packs))]
    assert members(out, layout, written.dtype, ids) == own
    assert (written.documents, written.tokens) == (len(packs), len(block.input_ids))
    assert written.trained == sum(label != -100 for row in labels for label in row)
    assert (written.manifest["packed"]["length"], written.manifest["shuffle"]) == (LENGTH, 3)
    assert check_token_files(out, tokenizer).problems == ()
    assert {len(row) for row in ids} == {LENGTH} or not pad


@pytest.mark.parametrize("layout", get_args(PackLayout))
@pytest.mark.parametrize("overflow", ["truncate", "split"])
def test_cut_examples_keep_the_border_that_trainers_look_for(tokenizer, tmp_path, layout, overflow):
    end = tokenizer.eos_id
    examples = [{"text": "word " * size} for size in (3, 300, 46, 47, 48, 95, 5)]
    examples += [{"prompt": "1 + " * 30, "completion": "2 " * size} for size in (1, 30)]
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "word " * 60}]
    # Ids whose lost part holds no border have none to keep.
    examples += [{"messages": turns}, {"input_ids": [end, *range(70)]}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in examples))
    tokenizer = tokenizer.with_template("{% for m in messages %}{{ m.content }}{{ eos_token }}\n{% endfor %}")
    out = tmp_path / "out"
    packs = pack_files(tmp_path / "in.jsonl", tokenizer, out, LENGTH, layout=layout, overflow=overflow, seed=2)
    block = packs.block(0, len(packs))
    ends = np.cumsum(block.seq_lengths)
    parts = {row: [] for row in range(len(examples))}
    for row, ids, labels in zip(
        block.source_rows.tolist(),
        np.split(block.input_ids, ends[:-1]),
        np.split(block.labels, ends[:-1]),
        strict=True,
    ):
        parts[row].append((ids.tolist(), labels.tolist()))
    *written, given = parts.values()
    for row, (example, found) in enumerate(zip(examples, written, strict=False)):
        # A chat that is whole has a line break behind its end.
        assert {ids[-1] for ids, _ in found} <= ({end, tokenizer.encode("\n")[0]} if row == 9 else {end})
        assert max(len(ids) for ids, _ in found) <= LENGTH
        if "text" in example:
            whole = tokenizer.encode(example["text"]).tolist()
            if len(whole) < LENGTH:
                assert found == [([*whole, end], [-100, *whole[1:], end])]
            elif overflow == "truncate":
                # Nobody ends a text where it is cut.
                assert found == [([*whole[: LENGTH - 1], end], [-100, *whole[1 : LENGTH - 1], -100])]
            else:
                assert len(found) > 1
                assert sorted(id for ids, _ in found for id in ids if id != end) == sorted(whole)
    assert end not in given[0][0][1:]
    stored = read_token_files(out)
    assert READERS[layout](out, stored.dtype) == wanted(
        [ids.tolist() for ids in np.split(block.input_ids, block.token_offsets[1:-1])], layout
    )
    assert stored.manifest["end_of_text"] == {"id": end, "tokens": block.input_ids.tolist().count(end)}
    assert check_token_files(out, tokenizer).problems == ()


def test_a_lost_border_is_found(tokenizer, tmp_path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "word " * 99}) + "\n")
    for layout in ("memmap", "nanogpt", "llmc"):
        out = tmp_path / layout
        pack_files(tmp_path / "in.jsonl", tokenizer, out, LENGTH, layout=layout, overflow="truncate")
        (path,) = [*out.glob("*.bin"), *out.glob("*.npy")]
        ids = np.memmap(path, "<u2", "r+")
        assert ids[-1] == tokenizer.eos_id
        ids[-1] = 5
        ids.flush()
        rehashed(out)
        assert check_token_files(out).problems == ("0 end-of-text tokens were read, not 1",)


def test_tables_tell_the_borders_themselves(tokenizer, tmp_path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "word " * 99}) + "\n")
    packs = pack_files(tmp_path / "in.jsonl", tokenizer, tmp_path / "out.npy", LENGTH, overflow="truncate")
    assert packs.block(0, 1).input_ids.tolist() == tokenizer.encode("word " * 99)[:LENGTH].tolist()


def test_nothing_is_left_where_packs_cannot_be_written(tokenizer, corpus, tmp_path, monkeypatch):
    with pytest.raises(InvalidOption, match="layout"):
        pack_files(corpus, tokenizer, tmp_path / "out", LENGTH, layout="parquet")

    def full(*_):
        raise OSError(28, "no space is left")

    monkeypatch.setattr("tokenizer_core.packing.token_files.replace", full)
    with pytest.raises(OSError, match="no space"):
        pack_files(corpus, tokenizer, tmp_path / "out", LENGTH, layout="mds", overflow="split")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
