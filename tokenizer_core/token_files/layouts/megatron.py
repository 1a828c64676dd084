"""Megatron-LM's ``.bin`` and ``.idx``, which NeMo, Megatron-Bridge and GPT-NeoX read too."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.token_files.layouts.layout import (
    Batch,
    Dtype,
    FlatSink,
    Layout,
    Outputs,
    Shape,
    Shard,
    Sink,
    ids_of,
)

_UINT16_BELOW = 65_500
"""Megatron-LM's own limit of a vocabulary whose ids are written in two bytes."""

_CODES = {"uint16": 8, "int32": 4, "int64": 5}
"""Megatron-LM's numbers of types."""

_HEADER = "<9sQBQQ"
_MAGIC = b"MMIDIDX\0\0"


class Megatron(Layout):
    """An empty document has no sequence, as in Megatron-LM; a pack has one for each member."""

    names = "tokens-{number:05}{suffix}"
    dtypes = ("uint16", "int32", "int64")

    def dtype(self, vocab_size: int) -> Dtype:
        return "uint16" if vocab_size < _UINT16_BELOW else "int32"

    def sink(self, outputs: Outputs, shape: Shape) -> Sink:
        return _Indexed(outputs, shape, ".bin")

    def read(self, folder: Path, shard: Shard, shape: Shape) -> Iterator[npt.NDArray[Any]]:
        index = (folder / shard.files[".idx"]["name"]).read_bytes()
        magic, _, code, sequences, borders = struct.unpack_from(_HEADER, index)
        start = struct.calcsize(_HEADER)
        if magic != _MAGIC or code != _CODES[shape.dtype] or len(index) != start + 12 * sequences + 8 * borders:
            raise ValueError("the index is not Megatron-LM's")
        lengths = np.frombuffer(index, "<i4", sequences, start).astype(np.int64)
        firsts = np.frombuffer(index, "<i8", borders, start + 12 * sequences)
        ends = np.concatenate([np.zeros(1, np.int64), lengths.cumsum()])
        ids = ids_of(folder / shard.files[".bin"]["name"], shape)
        for first, last in pairwise(firsts.tolist()):
            yield ids[ends[first] : ends[last]]


class _Indexed(FlatSink):
    members_suffix = None

    def __init__(self, outputs: Outputs, shape: Shape, suffix: str) -> None:
        super().__init__(outputs, shape, suffix)
        self._members: list[bytes] = []

    def take(self, batch: Batch) -> None:
        super().take(batch)
        self._members += batch.members

    def finish(self) -> None:
        super().finish()
        lengths = self.lengths()
        sequences, counts = lengths[lengths > 0], (lengths > 0).astype(np.int64)
        if self.shape.is_packed:
            sequences = np.frombuffer(b"".join(self._members), "<i4").astype(np.int64)
            counts = np.array([len(members) // 4 for members in self._members], np.int64)
        index = self.outputs.open(self.piece, ".idx")
        index.write(struct.pack(_HEADER, _MAGIC, 1, _CODES[self.shape.dtype], len(sequences), len(counts) + 1))
        index.write(sequences.astype("<i4").tobytes())
        index.write(((sequences.cumsum() - sequences) * self.shape.item).astype("<i8").tobytes())
        index.write(np.concatenate([np.zeros(1, "<i8"), counts.cumsum().astype("<i8")]).tobytes())
        index.close()
