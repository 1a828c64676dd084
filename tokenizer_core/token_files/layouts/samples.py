"""Files of samples with a table of places: MosaicML's MDS and LitData's chunks."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tokenizer_core.token_files.layouts.layout import Batch, Dtype, Layout, Outputs, Shape, Shard, Sink

_FILE_BYTES = 1 << 26
"""A file has at most so many bytes, unless one document alone has more: what MDSWriter takes."""

_MOST_BYTES = 2**32 - 2**20
"""Places are numbers of four bytes."""


class _Samples(Sink):
    """Gathers documents until a file is full; an empty document is no sample."""

    suffix = ".bin"
    config = b""
    extra = 4
    """Bytes that the size limit counts for a sample beside its own: its place."""

    def __init__(self, outputs: Outputs, shape: Shape) -> None:
        super().__init__(outputs, shape)
        self._samples: list[bytes] = []
        self._size = self._tokens = 0

    @abstractmethod
    def sample(self, columns: list[bytes]) -> bytes:
        """Return what is written of a document: the values of ``_columns``."""

    def take(self, batch: Batch) -> None:
        item, start = self.shape.item, 0
        for number, length in enumerate(batch.lengths.tolist()):
            end = start + length
            if length:
                columns = [batch.ids[start * item : end * item]]
                if self.shape.is_labeled:
                    columns.append(self.shape.labels(columns[0], batch.trained[start:end]))
                if self.shape.is_packed:
                    columns.append(batch.members[number])
                self._add(self.sample(columns), length)
            start = end

    def _add(self, sample: bytes, length: int) -> None:
        size = len(sample) + self.extra
        limit = _FILE_BYTES - 8 - len(self.config)
        if self._samples and self._size + size > limit:
            self._flush()
        self._samples.append(sample)
        self._size += size
        self._tokens += length

    def _flush(self) -> None:
        count = len(self._samples)
        places = np.zeros(count + 1, np.uint32)
        np.cumsum([len(sample) for sample in self._samples], out=places[1:], dtype=np.uint32)
        places += np.uint32(4 + 4 * (count + 1) + len(self.config))
        piece = self.outputs.piece()
        piece.documents, piece.tokens = count, self._tokens
        file = self.outputs.open(piece, self.suffix)
        file.write(count.to_bytes(4, "little") + places.astype("<u4").tobytes() + self.config)
        file.write(b"".join(self._samples))
        file.close()
        self._samples = []
        self._size = self._tokens = 0

    def finish(self) -> None:
        if self._samples:
            self._flush()


def _columns(shape: Shape, ids: str) -> dict[str, Dtype]:
    """Return the types of a sample's arrays by name."""
    columns: dict[str, Dtype] = {ids: shape.dtype}
    if shape.is_labeled:
        columns["labels"] = shape.label_dtype
    if shape.is_packed:
        columns["seq_lengths"] = "int32"
    return columns


def _bytes_of_token(shape: Shape) -> int:
    # The lengths of members are at most as many as the ids.
    return sum(np.dtype(dtype).itemsize for dtype in _columns(shape, "").values())


def _samples(path: Path) -> Iterator[memoryview]:
    data = np.memmap(path, np.uint8, "r").data
    count = int.from_bytes(data[:4], "little")
    places = np.frombuffer(data, "<u4", count + 1, 4).tolist()
    for start, end in pairwise(places):
        yield data[start:end]


class Mds(Layout):
    """MosaicML's streaming dataset with a column ``tokens``; what is beside them stands before them, as names sort."""

    names = "shard.{number:05}{suffix}"

    def longest(self, shape: Shape) -> int:
        return min(2**31, _MOST_BYTES // _bytes_of_token(shape)) - 1

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        return _MdsSink(outputs, shape)

    def index(self, shards: Sequence[Shard], shape: Shape) -> dict[str, bytes]:
        config = _mds_config(shape)
        entries = []
        for shard in shards:
            file = shard.files[".mds"]
            raw = {"basename": file["name"], "bytes": file["bytes"], "hashes": {}}
            entries.append(config | {"samples": shard.documents, "raw_data": raw, "zip_data": None})
        return {"index.json": json.dumps({"version": 2, "shards": entries}, sort_keys=True).encode()}

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        columns = len(_columns(shape, "tokens"))
        for sample in _samples(folder / shard.files[".mds"]["name"]):
            tokens = sample[-int.from_bytes(sample[4 * columns - 4 : 4 * columns], "little") :]
            yield np.frombuffer(tokens, shape.stored, offset=1 + (1 << (tokens[0] & 3)))


def _mds_config(shape: Shape) -> dict[str, Any]:
    columns = _columns(shape, "tokens")
    return {
        "version": 2,
        "format": "mds",
        "compression": None,
        "hashes": [],
        "size_limit": _FILE_BYTES,
        "column_names": sorted(columns),
        "column_encodings": [f"ndarray:{columns[name]}" for name in sorted(columns)],
        "column_sizes": [None for _ in columns],
    }


class _MdsSink(_Samples):
    suffix = ".mds"

    def __init__(self, outputs: Outputs, shape: Shape) -> None:
        super().__init__(outputs, shape)
        self.config = json.dumps(_mds_config(shape), sort_keys=True).encode()

    def sample(self, columns: list[bytes]) -> bytes:
        named = zip(_columns(self.shape, "tokens").items(), columns, strict=True)
        arrays = [_ndarray(values, len(values) // np.dtype(dtype).itemsize) for (_, dtype), values in sorted(named)]
        return b"".join([len(array).to_bytes(4, "little") for array in arrays] + arrays)


def _ndarray(values: bytes, count: int) -> bytes:
    # The number of dimensions, one, and the type of its size: of one, two or four bytes.
    code = 0 if count < 1 << 8 else 1 if count < 1 << 16 else 2
    return bytes([1 << 2 | code]) + count.to_bytes(1 << code, "little") + values


class LitData(Layout):
    """LitData's chunks of tokens, as ``TokensLoader`` reads them, which cuts blocks by itself.

    With labels a sample is a dictionary of ``input_ids`` and ``labels``, and its loader LitData's default.
    """

    names = "chunk-0-{number}{suffix}"
    dtypes = ("int32", "int64", "uint16")

    _CODES: ClassVar[dict[Dtype, int]] = {"int32": 16, "int64": 18, "uint16": 20}
    """LitData's numbers of PyTorch's types."""

    def dtype(self, vocab_size: int) -> Dtype:
        # Older releases do not know uint16.
        del vocab_size
        return "int32"

    def longest(self, shape: Shape) -> int:
        return _MOST_BYTES // _bytes_of_token(shape) - 2

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        return _LitDataSink(outputs, shape)

    def index(self, shards: Sequence[Shard], shape: Shape) -> dict[str, bytes]:
        chunks = [
            {
                "chunk_bytes": shard.files[".bin"]["bytes"],
                "chunk_size": shard.documents,
                "dim": None if shape.is_labeled else shard.tokens,
                "filename": shard.files[".bin"]["name"],
            }
            for shard in shards
        ]
        columns = _columns(shape, "input_ids")
        is_tree = len(columns) > 1
        # A sample as PyTorch writes trees.
        leaf: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
        tree = {"type": "builtins.dict", "context": json.dumps([*columns]), "children_spec": [leaf] * len(columns)}
        config = {
            "chunk_bytes": _FILE_BYTES,
            "chunk_size": None,
            "compression": None,
            "compression_batch_size": None,
            "compression_level": None,
            "data_format": [f"no_header_tensor:{self._CODES[dtype]}" for dtype in columns.values()],
            "data_spec": json.dumps([1, tree if is_tree else leaf]),
            "encryption": None,
            "ipc_compression": None,
            "item_loader": "PyTreeLoader" if is_tree else "TokensLoader",
            "types": dict.fromkeys(columns, "tensor") if is_tree else "tensor",
        }
        return {"index.json": json.dumps({"chunks": chunks, "config": config}, sort_keys=True).encode()}

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        columns = len(_columns(shape, "input_ids"))
        for sample in _samples(folder / shard.files[".bin"]["name"]):
            # The sizes of a dictionary's arrays stand before them.
            start = 4 * columns
            ids = sample[start : start + int.from_bytes(sample[:4], "little")] if columns > 1 else sample
            yield np.frombuffer(ids, shape.stored)


class _LitDataSink(_Samples):
    def sample(self, columns: list[bytes]) -> bytes:
        sizes = [len(column).to_bytes(4, "little") for column in columns] if len(columns) > 1 else []
        return b"".join(sizes + columns)
