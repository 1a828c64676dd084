"""Readers of every layout, written from the formats' definitions and not from the code that writes them.

Each returns the documents of a folder, or for formats without borders all ids as one document.
"""

import csv
import gzip
import json
import struct
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Documents = list[list[int]]


def rows(values: np.ndarray, ends: list[int]) -> Documents:
    assert (ends[-1] if ends else 0) == len(values)
    return [values[a:b].tolist() for a, b in pairwise([0, *ends])]


def megatron(folder: Path, dtype: str) -> Documents:
    found: Documents = []
    for path in sorted(folder.glob("*.idx")):
        index, data = path.read_bytes(), path.with_suffix(".bin").read_bytes()
        magic, version, code, sequences, ends = struct.unpack_from("<9sQBQQ", index)
        assert (magic, version) == (b"MMIDIDX\0\0", 1)
        assert {8: "uint16", 4: "int32", 5: "int64"}[code] == dtype
        lengths = np.frombuffer(index, "<i4", sequences, 34)
        starts = np.frombuffer(index, "<i8", sequences, 34 + 4 * sequences)
        firsts = np.frombuffer(index, "<i8", ends, 34 + 12 * sequences)
        assert len(index) == 34 + 12 * sequences + 8 * ends
        assert int(lengths.sum()) * np.dtype(dtype).itemsize == len(data)
        parts = [np.frombuffer(data, dtype, n, at).tolist() for n, at in zip(lengths, starts, strict=True)]
        found += [[*chain.from_iterable(parts[a:b])] for a, b in pairwise(firsts)]
    return found


def ds(folder: Path, dtype: str) -> Documents:
    found: Documents = []
    for path in sorted(folder.glob("*.ds")):
        values = np.fromfile(path, dtype)
        found += rows(values, np.fromfile(f"{path}.index", "<u8").tolist())
        name, count, _ = Path(f"{path}.metadata").read_text().split("\n")
        assert name.endswith(f"|{np.dtype(dtype).itemsize}")
        assert int(count) == len(values)
    return found


def memmap(folder: Path, dtype: str) -> Documents:
    found: Documents = []
    for path in sorted(folder.glob("*.npy")):
        with gzip.open(path.with_suffix(".csv.gz"), "rt", newline="") as file:
            table = [*csv.reader(file)]
        assert all(int(a[1]) == int(b[0]) for a, b in pairwise(table))
        assert [int(row[2]) for row in table] == list(range(len(table)))
        found += rows(np.fromfile(path, dtype), [int(row[1]) for row in table])
    return found


def llmc(folder: Path, dtype: str) -> Documents:
    found: list[int] = []
    for path in sorted(folder.glob("*.bin")):
        header = np.fromfile(path, "<i4", 256)
        values = np.fromfile(path, dtype, offset=1024)
        assert tuple(header[:3]) == (*{"uint16": (20240520, 1), "uint32": (20240801, 7)}[dtype], len(values))
        assert not header[3:].any()
        found += values.tolist()
    return [found]


def nanogpt(folder: Path, dtype: str) -> Documents:
    return [np.fromfile(folder / "train.bin", dtype).tolist()]


def mds(folder: Path, dtype: str) -> Documents:
    found: Documents = []
    index = json.loads((folder / "index.json").read_text())
    assert index["version"] == 2
    for entry in index["shards"]:
        data = (folder / entry["raw_data"]["basename"]).read_bytes()
        assert len(data) == entry["raw_data"]["bytes"]
        names = entry["column_names"]
        assert names == sorted(names)
        assert entry["column_encodings"][-1] == f"ndarray:{dtype}"
        (count,) = struct.unpack_from("<I", data)
        assert count == entry["samples"]
        places = struct.unpack_from(f"<{count + 1}I", data, 4)
        config = json.loads(data[4 + 4 * (count + 1) : places[0]])
        assert {key: entry[key] for key in config} == config
        for start, end in pairwise(places):
            sizes = struct.unpack_from(f"<{len(names)}I", data, start)
            assert start + 4 * len(names) + sum(sizes) == end
            at = end - sizes[-1]
            code = data[at]
            assert code >> 2 == 1
            width = 1 << (code & 3)
            length = int.from_bytes(data[at + 1 : at + 1 + width], "little")
            found.append(np.frombuffer(data[at + 1 + width : end], dtype).tolist())
            assert len(found[-1]) == length
    return found


def litdata(folder: Path, dtype: str) -> Documents:
    found: Documents = []
    index = json.loads((folder / "index.json").read_text())
    codes = {"int32": 16, "int64": 18, "uint16": 20}
    formats = index["config"]["data_format"]
    head = 4 * len(formats) if len(formats) > 1 else 0
    assert formats[0] == f"no_header_tensor:{codes[dtype]}"
    for chunk in index["chunks"]:
        data = (folder / chunk["filename"]).read_bytes()
        (count,) = struct.unpack_from("<I", data)
        places = struct.unpack_from(f"<{count + 1}I", data, 4)
        assert (places[0], places[-1]) == (4 + 4 * (count + 1), len(data))
        assert chunk["chunk_size"] == count
        assert chunk["chunk_bytes"] == len(data)
        if head:
            # The sizes, the ids, what is beside them.
            ends = [a + head + struct.unpack_from("<I", data, a)[0] for a in places[:-1]]
            documents = [np.frombuffer(data[a + head : b], dtype).tolist() for a, b in zip(places, ends, strict=False)]
        else:
            documents = [np.frombuffer(data[a:b], dtype).tolist() for a, b in pairwise(places)]
        assert chunk["dim"] == (None if head else sum(map(len, documents)))
        found += documents
    return found


def parquet(folder: Path, dtype: str) -> Documents:
    tables = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    assert all(table.schema.field("input_ids").type == pa.list_(getattr(pa, dtype)()) for table in tables)
    return [row for table in tables for row in table.column("input_ids").to_pylist()]


def arrow(folder: Path, dtype: str) -> Documents:
    found: Documents = []
    state = json.loads((folder / "state.json").read_text())
    features = json.loads((folder / "dataset_info.json").read_text())["features"]
    assert features["input_ids"]["feature"]["dtype"] == dtype
    for entry in state["_data_files"]:
        with pa.memory_map(str(folder / entry["filename"])) as file:
            table = pa.ipc.open_stream(file).read_all()
            assert table.schema.field("input_ids").type == pa.list_(getattr(pa, dtype)())
            found += table.column("input_ids").to_pylist()
    return found


READERS = {
    "megatron": megatron,
    "ds": ds,
    "memmap": memmap,
    "llmc": llmc,
    "nanogpt": nanogpt,
    "mds": mds,
    "litdata": litdata,
    "parquet": parquet,
    "arrow": arrow,
}


def wanted(documents: Documents, layout: str) -> Documents:
    """Return documents as a layout keeps them."""
    if layout in ("llmc", "nanogpt"):
        return [[*chain.from_iterable(documents)]]
    if layout in ("mds", "litdata"):
        return [ids for ids in documents if ids]
    return documents
