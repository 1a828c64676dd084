"""Layouts of ids end to end: of datatrove, dolma, llm.c and nanoGPT."""

from __future__ import annotations

import csv
import gzip
import io
import struct
from collections.abc import Iterator
from math import floor, log10
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.token_files.layouts.layout import (
    Batch,
    FlatSink,
    Layout,
    OutputFile,
    Outputs,
    Shape,
    Shard,
    Sink,
    by_ends,
    ids_of,
    in_blocks,
)

_HEADER_BYTES = 1024
_VERSIONS = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
"""llm.c's magic number and version: of GPT-2 in two bytes, of Llama 3 in four."""

_MOST_TOKENS = 2**31 - 1
"""llm.c counts the tokens of a file in a signed number of four bytes."""


class Ds(Layout):
    """datatrove's ``.ds``, which nanotron reads: ids end to end, and where each document ends."""

    names = "{number:05}_tokens{suffix}"
    dtypes = ("uint16", "uint32")

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        return _Ended(outputs, shape, ".ds")

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        ends = np.fromfile(folder / shard.files[".ds.index"]["name"], "<u8")
        return by_ends(ids_of(folder / shard.files[".ds"]["name"], shape), ends)


class _Ended(FlatSink):
    mask_suffix = ".ds.loss"

    def finish(self) -> None:
        super().finish()
        index = self.outputs.open(self.piece, ".ds.index")
        index.write(self.lengths().cumsum().astype("<u8").tobytes())
        index.close()
        tokens = self.piece.tokens
        metadata = self.outputs.open(self.piece, ".ds.metadata")
        metadata.write(f"{self.shape.tokenizer}|{self.shape.item}\n{tokens}\n{_metric(tokens)}".encode())
        metadata.close()


def _metric(tokens: int) -> str:
    """Write a number as datatrove does: three digits, and a prefix for thousands."""
    exponent = floor(log10(tokens)) if tokens else 0
    prefix = "" if exponent < 3 else "kMGTPE"[exponent // 3 - 1]
    return f"{tokens / 10 ** (exponent // 3 * 3):.{2 - exponent % 3}f} {prefix}T"


class Memmap(Layout):
    """dolma's memory-mapped ``.npy``, which OLMo reads: despite the name there is no header.

    Ids end to end, and a table of documents: start, end, number in the shard, source, number in the source.
    """

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
        self._packed = gzip.GzipFile(fileobj=OutputFile(self._table), mode="wb", filename="", mtime=0)

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


class Llmc(Layout):
    """llm.c's file: a header of 256 integers, then ids; the end-of-text token stands before a document."""

    names = "tokens_train_{number:06}{suffix}"
    eos = "before"
    dtypes = ("uint16", "uint32")

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        return _Counted(outputs, shape)

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        path = folder / shard.files[".bin"]["name"]
        with path.open("rb") as file:
            magic, version, tokens = struct.unpack("<3i", file.read(12))
        ids = ids_of(path, shape, _HEADER_BYTES)
        if (magic, version) != _VERSIONS[shape.dtype] or tokens != len(ids):
            raise ValueError("the header is not llm.c's")
        return in_blocks(ids)


class _Counted(Sink):
    """Begins another file with the document that the header of one could not count."""

    def __init__(self, outputs: Outputs, shape: Shape) -> None:
        super().__init__(outputs, shape)
        self._file = _Headed(outputs, shape, ".bin")

    def take(self, batch: Batch) -> None:
        left = batch
        while len(left.lengths):
            ends = self._file.piece.tokens + left.lengths.cumsum()
            fitting = int(np.searchsorted(ends, _MOST_TOKENS, "right"))
            if fitting == len(left.lengths):
                self._file.take(left)
                return
            self._file.take(left.part(0, fitting, self.shape.item))
            self._file.finish()
            self._file = _Headed(self.outputs, self.shape, ".bin")
            left = left.part(fitting, len(left.lengths), self.shape.item)

    def finish(self) -> None:
        self._file.finish()


class _Headed(FlatSink):
    def __init__(self, outputs: Outputs, shape: Shape, suffix: str) -> None:
        super().__init__(outputs, shape, suffix)
        self.file.reserve(_HEADER_BYTES)

    def finish(self) -> None:
        self.file.patch(struct.pack("<3i", *_VERSIONS[self.shape.dtype], self.piece.tokens))
        super().finish()


class NanoGpt(Layout):
    """nanoGPT's ``train.bin``: ids and nothing else, in one file."""

    names = "train{suffix}"
    dtypes = ("uint16", "uint32")
    is_one_file = True

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        return FlatSink(outputs, shape, ".bin")

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        return in_blocks(ids_of(folder / shard.files[".bin"]["name"], shape))
