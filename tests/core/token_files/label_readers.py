"""Readers of the labels of every layout, written from the formats' definitions as `readers` is.

Each returns the labels of the documents of a folder, in the form of `READERS`.
"""

import json
import struct
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.core.token_files.readers import READERS, Documents

SUFFIXES = {"ds": ".ds.loss", "megatron": ".mask", "memmap": ".mask", "llmc": ".mask", "nanogpt": ".mask"}


def flat(layout: str):
    """Read the mask that stands beside ids."""

    def read(folder: Path, dtype: str) -> Documents:
        marks = np.concatenate([np.fromfile(path, np.uint8) for path in sorted(folder.glob(f"*{SUFFIXES[layout]}"))])
        assert set(marks.tolist()) <= {0, 1}
        found, at = [], 0
        for ids in READERS[layout](folder, dtype):
            mask = marks[at : at + len(ids)].tolist()
            found.append([id if is_trained else -100 for id, is_trained in zip(ids, mask, strict=True)])
            at += len(ids)
        assert at == len(marks)
        return found

    return read


def samples(data: bytes):
    (count,) = struct.unpack_from("<I", data)
    return [data[a:b] for a, b in pairwise(struct.unpack_from(f"<{count + 1}I", data, 4))]


def columns(sample: bytes, count: int) -> list[bytes]:
    """Return the columns of a sample, whose sizes stand before them."""
    sizes = struct.unpack_from(f"<{count}I", sample)
    ends = [*accumulate(sizes, initial=4 * count)]
    assert ends[-1] == len(sample)
    return [sample[a:b] for a, b in pairwise(ends)]


def mds(folder: Path, dtype: str, column: str = "labels") -> Documents:
    found: Documents = []
    for entry in json.loads((folder / "index.json").read_text())["shards"]:
        at = entry["column_names"].index(column)
        kind = entry["column_encodings"][at].removeprefix("ndarray:")
        for sample in samples((folder / entry["raw_data"]["basename"]).read_bytes()):
            array = columns(sample, len(entry["column_names"]))[at]
            width = 1 << (array[0] & 3)
            found.append(np.frombuffer(array[1 + width :], kind).tolist())
            assert len(found[-1]) == int.from_bytes(array[1 : 1 + width], "little")
    return found


def litdata(folder: Path, dtype: str, at: int = 1) -> Documents:
    found: Documents = []
    index = json.loads((folder / "index.json").read_text())
    formats = index["config"]["data_format"]
    kind = {"16": "int32", "18": "int64"}[formats[at].partition(":")[2]]
    assert index["config"]["item_loader"] == "PyTreeLoader"
    for chunk in index["chunks"]:
        for sample in samples((folder / chunk["filename"]).read_bytes()):
            found.append(np.frombuffer(columns(sample, len(formats))[at], kind).tolist())
    return found


def parquet(folder: Path, dtype: str) -> Documents:
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    return [row for table in tables for row in table.column("labels").to_pylist()]


def arrow(folder: Path, dtype: str) -> Documents:
    found: Documents = []
    features = json.loads((folder / "dataset_info.json").read_text())["features"]
    for entry in json.loads((folder / "state.json").read_text())["_data_files"]:
        with pa.memory_map(str(folder / entry["filename"])) as file:
            table = pa.ipc.open_stream(file).read_all()
            kind = pa.list_(getattr(pa, features["labels"]["feature"]["dtype"])())
            assert table.schema.field("labels").type == kind
            found += table.column("labels").to_pylist()
    return found


LABEL_READERS = {
    **{layout: flat(layout) for layout in SUFFIXES},
    "mds": mds,
    "litdata": litdata,
    "parquet": parquet,
    "arrow": arrow,
}
