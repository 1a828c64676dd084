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
    def sample(self, ids: bytes) -> bytes:
        """Return what is written of a document."""

    def take(self, batch: Batch) -> None:
        item, start = self.shape.item, 0
        for length in batch.lengths.tolist():
            end = start + length * item
            if length:
                self._add(self.sample(batch.ids[start:end]), length)
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
        size = int(places[-1])
        places += np.uint32(4 + 4 * (count + 1) + len(self.config))
        piece = self.outputs.piece()
        piece.documents, piece.tokens = count, self._tokens
        piece.facts = {"bytes": size}
        file = self.outputs.open(piece, self.suffix)
        file.write(count.to_bytes(4, "little") + places.astype("<u4").tobytes() + self.config)
        file.write(b"".join(self._samples))
        file.close()
        self._samples = []
        self._size = self._tokens = 0

    def finish(self) -> None:
        if self._samples:
            self._flush()


def _samples(path: Path) -> Iterator[memoryview]:
    data = np.memmap(path, np.uint8, "r").data
    count = int.from_bytes(data[:4], "little")
    places = np.frombuffer(data, "<u4", count + 1, 4).tolist()
    for start, end in pairwise(places):
        yield data[start:end]


class Mds(Layout):
    """MosaicML's streaming dataset with a column ``tokens``."""

    names = "shard.{number:05}{suffix}"

    def longest(self, shape: Shape) -> int:
        return min(2**31, _MOST_BYTES // shape.item) - 1

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
        for sample in _samples(folder / shard.files[".mds"]["name"]):
            width = 1 << (sample[4] & 3)
            yield np.frombuffer(sample, shape.stored, offset=5 + width)


def _mds_config(shape: Shape) -> dict[str, Any]:
    return {
        "version": 2,
        "format": "mds",
        "compression": None,
        "hashes": [],
        "size_limit": _FILE_BYTES,
        "column_names": ["tokens"],
        "column_encodings": [f"ndarray:{shape.dtype}"],
        "column_sizes": [None],
    }


class _MdsSink(_Samples):
    suffix = ".mds"

    def __init__(self, outputs: Outputs, shape: Shape) -> None:
        super().__init__(outputs, shape)
        self.config = json.dumps(_mds_config(shape), sort_keys=True).encode()

    def sample(self, ids: bytes) -> bytes:
        count = len(ids) // self.shape.item
        # The number of dimensions, one, and the type of its size: of one, two or four bytes.
        code = 0 if count < 1 << 8 else 1 if count < 1 << 16 else 2
        head = bytes([1 << 2 | code]) + count.to_bytes(1 << code, "little")
        return (len(head) + len(ids)).to_bytes(4, "little") + head + ids


class LitData(Layout):
    """LitData's chunks of tokens, as ``TokensLoader`` reads them, which cuts blocks by itself."""

    names = "chunk-0-{number}{suffix}"
    dtypes = ("int32", "int64", "uint16")

    _CODES: ClassVar[dict[Dtype, int]] = {"int32": 16, "int64": 18, "uint16": 20}
    """LitData's numbers of PyTorch's types."""

    def dtype(self, vocab_size: int) -> Dtype:
        # Older releases do not know uint16.
        del vocab_size
        return "int32"

    def longest(self, shape: Shape) -> int:
        return _MOST_BYTES // shape.item - 1

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        return _LitDataSink(outputs, shape)

    def index(self, shards: Sequence[Shard], shape: Shape) -> dict[str, bytes]:
        chunks = [
            {
                "chunk_bytes": shard.facts["bytes"],
                "chunk_size": shard.documents,
                "dim": shard.tokens,
                "filename": shard.files[".bin"]["name"],
            }
            for shard in shards
        ]
        config = {
            "chunk_bytes": _FILE_BYTES,
            "chunk_size": None,
            "compression": None,
            "data_format": [f"no_header_tensor:{self._CODES[shape.dtype]}"],
            # The one leaf of a sample, as PyTorch writes trees.
            "data_spec": json.dumps([1, {"type": None, "context": None, "children_spec": []}]),
            "encryption": None,
            "item_loader": "TokensLoader",
        }
        return {"index.json": json.dumps({"chunks": chunks, "config": config}, sort_keys=True).encode()}

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        for sample in _samples(folder / shard.files[".bin"]["name"]):
            yield np.frombuffer(sample, shape.stored)


class _LitDataSink(_Samples):
    def sample(self, ids: bytes) -> bytes:
        return ids
