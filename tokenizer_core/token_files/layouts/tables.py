"""Tables with columns ``input_ids`` and ``labels``: Parquet, and Arrow as ``datasets`` keeps it on the disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.corpus.reading import needed
from tokenizer_core.token_files.layouts.layout import Batch, Dtype, Layout, OutputFile, Outputs, Shape, Shard, Sink

_GROUP = 1 << 20
"""Ids after which a group of rows ends."""

_MOST_PLACES = 2**31 - 1
"""The largest start of a row in its group: a signed number of four bytes."""


class _Table(Layout):
    dtypes = ("int32", "int64", "uint16", "uint32")

    def dtype(self, vocab_size: int) -> Dtype:
        del vocab_size
        return "int32"

    def longest(self, shape: Shape) -> int:
        # A group ends with the document that fills it.
        del shape
        return _MOST_PLACES - _GROUP


class Parquet(_Table):
    """Parquet, packed with zstd."""

    names = "train-{number:05}-of-{total:05}{suffix}"

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        writer = needed("pyarrow.parquet", "parquet").ParquetWriter
        return _Rows(outputs, shape, ".parquet", partial(writer, compression="zstd"))

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        file = needed("pyarrow.parquet", "parquet").ParquetFile(folder / shard.files[".parquet"]["name"])
        for batch in file.iter_batches(batch_size=1024):
            yield from _rows(batch.column("input_ids"), shape)


class Arrow(_Table):
    """A folder that ``datasets.load_from_disk`` reads."""

    names = "data-{number:05}-of-{total:05}{suffix}"

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        return _Rows(outputs, shape, ".arrow", needed("pyarrow", "arrow").ipc.new_stream)

    def index(self, shards: Sequence[Shard], shape: Shape) -> dict[str, bytes]:
        files = [{"filename": shard.files[".arrow"]["name"]} for shard in shards]
        state: dict[str, Any] = {
            "_data_files": files,
            # The name of the content for ``datasets``.
            "_fingerprint": "".join(shard.files[".arrow"]["sha256"] for shard in shards)[:16],
            "_format_columns": None,
            "_format_kwargs": {},
            "_format_type": None,
            "_output_all_columns": False,
            "_split": None,
        }
        features = {
            name: {"feature": {"dtype": dtype, "_type": "Value"}, "_type": "Sequence"}
            for name, dtype in _columns(shape).items()
        }
        info = {"citation": "", "description": "", "features": features, "homepage": "", "license": ""}
        written = {"state.json": state, "dataset_info.json": info}
        return {name: json.dumps(content, indent=2).encode() for name, content in written.items()}

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        arrow = needed("pyarrow", "arrow")
        with arrow.memory_map(str(folder / shard.files[".arrow"]["name"])) as file:
            for batch in arrow.ipc.open_stream(file):
                yield from _rows(batch.column("input_ids"), shape)


def _columns(shape: Shape) -> dict[str, Dtype]:
    labels: dict[str, Dtype] = {"labels": shape.label_dtype} if shape.is_labeled else {}
    return {"input_ids": shape.dtype, **labels}


def _rows(column: Any, shape: Shape) -> Iterator[npt.NDArray[Any]]:
    if str(column.type.value_type) != shape.dtype:
        raise ValueError(f"the column input_ids holds {column.type}")
    offsets, values = column.offsets.to_numpy(), column.values.to_numpy()
    for start, end in pairwise(offsets):
        yield values[start:end]


class _Rows(Sink):
    """Gathers documents into groups of rows, which do not depend on how they came.

    Args:
        writer: makes what writes the groups, of a file and a schema.
    """

    def __init__(self, outputs: Outputs, shape: Shape, suffix: str, writer: Callable[[OutputFile, Any], Any]) -> None:
        super().__init__(outputs, shape)
        self._arrow = needed("pyarrow", suffix.removeprefix("."))
        self._kinds = [getattr(self._arrow, dtype)() for dtype in _columns(shape).values()]
        self._schema = self._arrow.schema(
            [(name, self._arrow.list_(kind)) for name, kind in zip(_columns(shape), self._kinds, strict=True)]
        )
        self._piece = outputs.piece()
        self._output = outputs.open(self._piece, suffix)
        self._writer = writer(OutputFile(self._output), self._schema)
        self._ids: list[bytes] = []
        self._trained: list[bytes] = []
        self._lengths: list[npt.NDArray[np.int64]] = []
        self._waiting = 0

    def take(self, batch: Batch) -> None:
        ids, trained, lengths = batch.ids, batch.trained, batch.lengths
        while len(lengths):
            ends = self._waiting + lengths.cumsum()
            # The document with which the group is full.
            rows = int(np.searchsorted(ends, _GROUP)) + 1
            if rows > len(lengths):
                self._add(ids, trained, lengths)
                return
            count = int(ends[rows - 1]) - self._waiting
            size = count * self.shape.item
            self._add(ids[:size], trained[:count], lengths[:rows])
            self._flush()
            ids, trained, lengths = ids[size:], trained[count:], lengths[rows:]

    def _add(self, ids: bytes, trained: bytes, lengths: npt.NDArray[np.int64]) -> None:
        self._ids.append(ids)
        self._trained.append(trained)
        self._lengths.append(lengths)
        self._waiting += int(lengths.sum())

    def _flush(self) -> None:
        if not self._lengths:
            return
        lengths = np.concatenate(self._lengths)
        offsets = self._arrow.array(np.concatenate([np.zeros(1, np.int32), lengths.cumsum().astype(np.int32)]))
        ids, trained = b"".join(self._ids), b"".join(self._trained)
        columns = []
        for kind, data in zip(
            self._kinds, (ids, self.shape.labels(ids, trained) if self.shape.is_labeled else b""), strict=False
        ):
            values = self._arrow.Array.from_buffers(kind, self._waiting, [None, self._arrow.py_buffer(data)])
            columns.append(self._arrow.ListArray.from_arrays(offsets, values))
        self._writer.write_batch(self._arrow.record_batch(columns, schema=self._schema))
        self._piece.documents += len(lengths)
        self._piece.tokens += self._waiting
        self._ids, self._trained, self._lengths, self._waiting = [], [], [], 0

    def finish(self) -> None:
        self._flush()
        self._writer.close()
        self._output.close()
