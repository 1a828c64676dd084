"""datatrove's ``.ds``, which nanotron reads."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, log10
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.token_files.layouts.layout import FlatSink, Layout, Outputs, Shape, Shard, Sink, by_ends, ids_of


class Ds(Layout):
    """Ids end to end, and where each document ends."""

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
