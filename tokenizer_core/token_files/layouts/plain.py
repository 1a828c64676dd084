"""The files of llm.c and nanoGPT: ids end to end, whose borders are end-of-text tokens."""

from __future__ import annotations

import struct
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
    ids_of,
    in_blocks,
)

_HEADER_BYTES = 1024
_VERSIONS = {"uint16": (20240520, 1), "uint32": (20240801, 7)}
"""llm.c's magic number and version: of GPT-2 in two bytes, of Llama 3 in four."""

_MOST_TOKENS = 2**31 - 1
"""llm.c counts the tokens of a file in a signed number of four bytes."""


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
