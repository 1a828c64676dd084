"""dolma's memory-mapped ``.npy``, which OLMo reads: despite the name there is no header."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.token_files.layouts.layout import (
    Batch,
    FlatSink,
    Layout,
    Outputs,
    Shape,
    Shard,
    Sink,
    by_ends,
    ids_of,
)


class Memmap(Layout):
    """Ids end to end, and a table of documents: start, end, number in the shard, source, number in the source."""

    names = "part-0-{number:05}{suffix}"
    dtypes = ("uint16", "uint32", "int32")

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        return _Listed(outputs, shape, ".npy")

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        with gzip.open(folder / shard.files[".csv.gz"]["name"], "rt", encoding="utf-8", newline="") as file:
            ends = np.array([int(row[1]) for row in csv.reader(file)], np.int64)
        return by_ends(ids_of(folder / shard.files[".npy"]["name"], shape), ends)


class _Listed(FlatSink):
    def __init__(self, outputs: Outputs, shape: Shape, suffix: str) -> None:
        super().__init__(outputs, shape, suffix)
        self._table = outputs.open(self.piece, ".csv.gz")
        # Without the time and a name in its header, equal tables are equal files.
        self._packed = gzip.GzipFile(fileobj=_Writes(self._table), mode="wb", filename="", mtime=0)

    def take(self, batch: Batch) -> None:
        first, start = self.piece.documents, self.piece.tokens
        super().take(batch)
        ends = batch.lengths.cumsum() + start
        rows = io.StringIO()
        table = csv.writer(rows)
        for at, (end, length, (source, number)) in enumerate(
            zip(ends.tolist(), batch.lengths.tolist(), batch.origins.tolist(), strict=True)
        ):
            table.writerow((end - length, end, first + at, self.outputs.sources[source], number))
        self._packed.write(rows.getvalue().encode(errors="surrogateescape"))

    def finish(self) -> None:
        super().finish()
        self._packed.close()
        self._table.close()


class _Writes(io.RawIOBase):
    """An output as the file that ``gzip`` writes to."""

    def __init__(self, output: Any) -> None:
        self._output = output

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._output.write(bytes(data))
        return len(data)
