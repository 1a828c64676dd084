"""Write packs as the token files of a trainer: a pack is a document, and its members are told apart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tokenizer_core.atomic_files import fresh_directory, fresh_file, replace, sync_directory
from tokenizer_core.packing.packs import PackBlock, Packs
from tokenizer_core.padding import IGNORED
from tokenizer_core.token_files.layouts import LAYOUTS
from tokenizer_core.token_files.layouts.layout import Batch, Layout, Shape, Shard
from tokenizer_core.token_files.manifest import FORMAT, NAME
from tokenizer_core.token_files.store import Outputs
from tokenizer_core.tokenizer import Tokenizer

PackLayout = Literal["megatron", "ds", "memmap", "llmc", "nanogpt", "mds", "litdata"]
"""The layouts of token files; Parquet and Arrow have tables of packs of their own."""


def write_token_files(
    packs: Packs,
    place: Path,
    layout: PackLayout,
    tokenizer: Tokenizer,
    sources: Sequence[str],
    facts: Mapping[str, Any],
) -> None:
    """Write packs into a new directory, which appears whole.

    Args:
        sources: the names of the files that the examples are from.
        facts: what the manifest says of the packing.

    Raises:
        OSError
    """
    written = LAYOUTS[layout]
    shape = Shape(written.dtype(tokenizer.vocab_size), tokenizer.name, None, is_labeled=True, is_packed=True)
    eos = tokenizer.eos_id
    with fresh_directory(place) as folder:
        shards, trained, ends = _write_shards(packs, folder, written, shape, place.name, eos)
        described = [Shard(shard["documents"], shard["tokens"], shard["files"]) for shard in shards]
        for name, data in written.index(described, shape).items():
            replace(folder / name, [data])
        manifest = {
            "format": FORMAT,
            "layout": layout,
            "tokenizer": tokenizer.hash,
            "fingerprint": tokenizer.fingerprint(),
            "name": tokenizer.name,
            "vocab_size": tokenizer.vocab_size,
            "dtype": shape.dtype,
            "eos": {"id": None, "place": "none"},
            "messages": None,
            **facts,
            # Counted, since not only examples end with it: in a chat also turns do, and given ids need not.
            "end_of_text": None if eos is None else {"id": eos, "tokens": ends},
            "documents": len(packs),
            "tokens": sum(shard["tokens"] for shard in shards),
            "trained": trained,
            "skipped": 0,
            "shards": [shard | {"sources": [{"name": name} for name in sources]} for shard in shards],
        }
        replace(folder / NAME, [json.dumps(manifest, indent=1).encode() + b"\n"])
        sync_directory(folder)
        folder.rename(place)
    sync_directory(place.parent)


def _write_shards(
    packs: Packs, folder: Path, layout: Layout, shape: Shape, name: str, eos: int | None
) -> tuple[list[dict[str, Any]], int, int]:
    """Write the shards; return what the manifest says of them, the tokens that are trained on, and those of ``eos``."""
    outputs = Outputs(lambda piece, suffix: fresh_file(folder / f"{piece}{suffix}"))
    outputs.sources.append(name)
    try:
        sink = layout.sink(outputs, shape)
        first = trained = ends = 0
        for block in packs.blocks():
            batch = _batch(block, shape, first)
            sink.take(batch)
            first += len(block)
            trained += batch.trained.count(1)
            ends += int(np.count_nonzero(block.input_ids == eos))
        sink.finish()
        shards: list[dict[str, Any]] = []
        for number, piece in enumerate(outputs.pieces):
            for suffix, facts in piece.files.items():
                facts["name"] = layout.name(number, len(outputs.pieces), suffix)
                Path(facts.pop("path")).rename(folder / facts["name"])
            shards.append({"documents": piece.documents, "tokens": piece.tokens, "files": piece.files})
    finally:
        outputs.discard()
    return shards, trained, ends


def _batch(block: PackBlock, shape: Shape, first: int) -> Batch:
    lengths = np.diff(block.token_offsets)
    numbers = np.arange(first, first + len(lengths), dtype=np.int64)
    sizes = block.seq_lengths.astype("<i4")
    borders = block.member_offsets
    return Batch(
        block.input_ids.astype(shape.stored).tobytes(),
        lengths,
        np.column_stack([np.zeros_like(numbers), numbers]),
        (block.labels != IGNORED).tobytes(),
        [sizes[start:end].tobytes() for start, end in pairwise(borders.tolist())],
    )
