"""Write packs as the files that trainers read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import numpy as np

from tokenizer_core.atomic_files import replacing
from tokenizer_core.corpus.reading import needed
from tokenizer_core.errors import InvalidOption
from tokenizer_core.packing.packs import PackBlock, Packs

PackFormat = Literal["parquet", "arrow", "npy"]
"""Parquet, a stream of Arrow, or the NumPy file that NeMo reads."""

_LIMIT = (1 << 31) - 1
"""The largest id of a column of ``int32``."""


def format_of(path: Path) -> PackFormat:
    """Return the format that a file's name says.

    Raises:
        InvalidOption
    """
    for name in get_args(PackFormat):
        if path.suffix == f".{name}":
            return name  # type: ignore[no-any-return]
    known = ", ".join(f".{name}" for name in get_args(PackFormat))
    raise InvalidOption(f"the output's name ends in {known}, which says what it is", field="output")


def write_packs(packs: Packs, path: Path) -> None:
    """Write packs into a file, which appears whole; its name says the format.

    A row of Parquet and Arrow is a pack: ``input_ids``, ``labels``, ``position_ids``, ``seq_lengths``, ``cu_seqlens``
    (lists of ``int32``) and ``source_rows`` (``int64``). NeMo's file is a pickled array of dictionaries with
    ``input_ids``, ``loss_mask``, which is shifted to where the next token is predicted, and ``seq_start_id``.

    Raises:
        InvalidOption: the name says no format, or an id does not fit into ``int32``.
        OSError
    """
    write = _WRITERS[format_of(path)]
    if packs.rows.ids.size and int(packs.rows.ids.max()) > _LIMIT:
        raise InvalidOption(f"the id {packs.rows.ids.max()} does not fit into int32", field="tokenizer")
    with replacing(path) as file:
        write(packs, file)


def _write_parquet(packs: Packs, file: BinaryIO) -> None:
    parquet, schema = needed("pyarrow.parquet", "parquet"), _schema()
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(packs, schema):
            writer.write_batch(batch)


def _write_arrow(packs: Packs, file: BinaryIO) -> None:
    arrow, schema = needed("pyarrow", "parquet"), _schema()
    with arrow.ipc.new_stream(file, schema) as writer:
        for batch in _batches(packs, schema):
            writer.write_batch(batch)


def _schema() -> Any:
    arrow = needed("pyarrow", "parquet")
    short = ("input_ids", "labels", "position_ids", "seq_lengths", "cu_seqlens")
    columns = [(name, arrow.list_(arrow.int32())) for name in short]
    return arrow.schema([*columns, ("source_rows", arrow.list_(arrow.int64()))])


def _batches(packs: Packs, schema: Any) -> Iterator[Any]:
    arrow = needed("pyarrow", "parquet")
    for block in packs.blocks():
        tokens, members = block.token_offsets, block.member_offsets
        ends = np.concatenate([np.empty(0, np.int64), *map(block.cu_seqlens, range(len(block)))])
        # One place more than a pack has members.
        borders = members + np.arange(len(members))
        columns = (
            (tokens, block.input_ids, np.int32),
            (tokens, block.labels, np.int32),
            (tokens, block.position_ids, np.int32),
            (members, block.seq_lengths, np.int32),
            (borders, ends, np.int32),
            (members, block.source_rows, np.int64),
        )
        lists = [
            arrow.ListArray.from_arrays(arrow.array(offsets.astype(np.int32)), arrow.array(values.astype(dtype)))
            for offsets, values, dtype in columns
        ]
        yield arrow.record_batch(lists, schema=schema)


def _write_npy(packs: Packs, file: BinaryIO) -> None:
    np.save(file, np.array([_nemo(block, at) for block in packs.blocks() for at in range(len(block))], dtype=object))


def _nemo(block: PackBlock, pack: int) -> dict[str, list[Any]]:
    tokens = slice(block.token_offsets[pack], block.token_offsets[pack + 1])
    # In a collator of NeMo's a place's loss is that of the token behind it.
    learned = np.append(block.labels[tokens][1:] >= 0, False)
    return {
        "input_ids": block.input_ids[tokens].tolist(),
        "loss_mask": learned.tolist(),
        "seq_start_id": block.cu_seqlens(pack)[:-1].tolist(),
    }


_WRITERS: dict[PackFormat, Callable[[Packs, BinaryIO], None]] = {
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "npy": _write_npy,
}
