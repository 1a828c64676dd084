"""Write token files with a peer's own writer, or read ours with its own reader; run in the peers' environment.

``write FORMAT EXAMPLES OUT SOURCE`` and ``read FORMAT FOLDER`` are asked for. Examples are Parquet with ``input_ids``
and perhaps ``labels``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus_worker import megatron_file
from benchmarks.corpus_worker import write as llmc_file

IGNORED = -100


@dataclass(frozen=True)
class Examples:
    """Ids, labels if there are some, and the name of the corpus that they are from."""

    ids: list[Any]
    labels: list[Any] | None
    source: str


def examples(path: Path, source: str) -> Examples:
    """Read what a peer is to write."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    columns = [
        [np.asarray(row.values) for row in table.column(name)] if name in table.column_names else None
        for name in ("input_ids", "labels")
    ]
    return Examples(columns[0] or [], columns[1], source)


def write_megatron(rows: Examples, out: Path) -> None:
    """As ``tools/preprocess_data.py`` does."""
    megatron_file(out / "tokens-00000", rows.ids)


def write_ds(rows: Examples, out: Path) -> None:
    """As ``DocumentTokenizer`` does."""
    from datatrove.io import get_datafolder
    from datatrove.pipeline.tokens.tokenizer import TokenizedFile

    file = TokenizedFile(
        get_datafolder(str(out)),
        "00000_tokens.ds",
        save_loss_metadata=rows.labels is not None,
        tokenizer_name_or_path="gpt2",
        save_final_metadata=True,
        token_size=2,
    )
    for at, row in enumerate(rows.ids):
        file.write(row.tolist(), None if rows.labels is None else rows.labels[at] != IGNORED)
    file.close()
    file.write_final_metadata()


def write_mds(rows: Examples, out: Path) -> None:
    """As ``MDSWriter`` does, of samples as numpy has them."""
    from streaming import MDSWriter

    columns = {"tokens": "ndarray:uint16"} | ({} if rows.labels is None else {"labels": "ndarray:int32"})
    with MDSWriter(out=str(out), columns=columns, exist_ok=True) as writer:
        for at, row in enumerate(rows.ids):
            sample = {"tokens": row.astype(np.uint16)}
            writer.write(sample if rows.labels is None else sample | {"labels": rows.labels[at].astype(np.int32)})


def write_litdata(rows: Examples, out: Path) -> None:
    """As ``optimize`` does, whose processes have such a writer each."""
    import torch
    from litdata.streaming.item_loader import TokensLoader
    from litdata.streaming.writer import BinaryWriter

    def tensor(row: Any) -> Any:
        return torch.from_numpy(row.astype(np.int32))

    writer = BinaryWriter(str(out), chunk_bytes=1 << 26, item_loader=TokensLoader() if rows.labels is None else None)
    for at, row in enumerate(rows.ids):
        writer[at] = (
            tensor(row) if rows.labels is None else {"input_ids": tensor(row), "labels": tensor(rows.labels[at])}
        )
    writer.done()
    writer.merge()
    # The time of the writing is no part of the data.
    index = json.loads((out / "index.json").read_text(encoding="utf-8"))
    index.pop("updated_at", None)
    (out / "index.json").write_text(json.dumps(index, sort_keys=True), encoding="utf-8")


def write_nanogpt(rows: Examples, out: Path) -> None:
    """As ``data/openwebtext/prepare.py`` does."""
    array = np.memmap(out / "train.bin", np.uint16, "w+", shape=(sum(map(len, rows.ids)),))
    array[:] = np.concatenate(rows.ids)
    array.flush()


def write_llmc(rows: Examples, out: Path) -> None:
    """As ``dev/data/data_common.py`` does."""
    llmc_file(out / "tokens_train_000000.bin", np.concatenate(rows.ids).astype(np.uint16))


def write_memmap(rows: Examples, out: Path) -> None:
    """As dolma does, whose rows name the file, the document in it, and its place."""
    # What its packages import first needs many libraries.
    (place,) = importlib.util.find_spec("dolma").submodule_search_locations  # type: ignore[union-attr, misc]
    for name in ("dolma", "dolma.core", "dolma.tokenizer"):
        package = sys.modules[name] = types.ModuleType(name)
        package.__path__ = [str(Path(place, *name.split(".")[1:]))]
    from dolma.tokenizer.data_types import TokenizerOutput
    from dolma.tokenizer.memmap_writer import MemmapWriter

    with MemmapWriter(str(out / "part-0-00000.npy"), np.dtype(np.uint16), sum(map(len, rows.ids)) + 1) as writer:
        for at, row in enumerate(rows.ids):
            writer.write(TokenizerOutput.from_tokens(id=str(at), src=rows.source, loc=at, tokens=row.tolist()))


def read_megatron(folder: Path) -> Iterable[Any]:
    """Read sequences."""
    from megatron.core.datasets.indexed_dataset import IndexedDataset

    data = IndexedDataset(str(folder / "tokens-00000"))
    return (data[at] for at in range(len(data)))


def read_ds(folder: Path) -> Iterable[Any]:
    """Read blocks of tokens, as nanotron does."""
    from datatrove.utils.dataset import DatatroveFileDataset

    data = DatatroveFileDataset(str(folder / "00000_tokens.ds"), seq_len=1023, token_size=2)
    return (data[at]["input_ids"].numpy() for at in range(len(data)))


def read_mds(folder: Path) -> Iterable[Any]:
    """Read samples."""
    from streaming import LocalDataset

    data = LocalDataset(str(folder))
    return (data[at]["tokens"] for at in range(len(data)))


def read_litdata(folder: Path) -> Iterable[Any]:
    """Read samples, or blocks of tokens if there are no labels."""
    from litdata import StreamingDataset, TokensLoader

    config = json.loads((folder / "index.json").read_text(encoding="utf-8"))["config"]
    if config["item_loader"] == "PyTreeLoader":
        data = StreamingDataset(str(folder))
        return (data[at]["input_ids"].numpy() for at in range(len(data)))
    data = StreamingDataset(str(folder), item_loader=TokensLoader(block_size=1024))
    return (data[at].numpy() for at in range(len(data)))


def read_parquet(folder: Path) -> Iterable[Any]:
    """Read rows as ``datasets`` does."""
    from datasets import load_dataset

    data = load_dataset("parquet", data_files=str(folder / "*.parquet"), cache_dir=str(folder / "cache"))
    return (np.array(row) for row in data["train"]["input_ids"])


def read_arrow(folder: Path) -> Iterable[Any]:
    """Read rows as ``datasets`` does."""
    from datasets import load_from_disk

    return (np.array(row) for row in load_from_disk(str(folder))["input_ids"])


def read_llmc(folder: Path) -> Iterable[Any]:
    """Read a file as ``train_gpt2.py`` does."""
    data = (folder / "tokens_train_000000.bin").read_bytes()
    magic, version, tokens = np.frombuffer(data, np.int32, 3).tolist()
    if (magic, version) != (20240520, 1):
        raise ValueError("the header is not llm.c's")
    return [np.frombuffer(data, np.uint16, tokens, 1024)]


def read_memmap(folder: Path) -> Iterable[Any]:
    """Read all tokens at once, as OLMo does."""
    return [np.memmap(folder / "part-0-00000.npy", np.uint16, "r")]


def read_nanogpt(folder: Path) -> Iterable[Any]:
    """Read all tokens at once."""
    return [np.memmap(folder / "train.bin", np.uint16, "r")]


_WRITERS = (write_megatron, write_ds, write_mds, write_litdata, write_nanogpt, write_llmc, write_memmap)
_READERS = (
    read_megatron,
    read_ds,
    read_mds,
    read_litdata,
    read_nanogpt,
    read_llmc,
    read_memmap,
    read_parquet,
    read_arrow,
)
WRITERS = {one.__name__.removeprefix("write_"): one for one in _WRITERS}
READERS = {one.__name__.removeprefix("read_"): one for one in _READERS}


def digest(rows: Iterable[Any]) -> dict[str, Any]:
    """Hash ids, whatever their type and their borders."""
    hashed, count = hashlib.sha256(), 0
    for row in rows:
        hashed.update(np.ascontiguousarray(row).astype("<i8").tobytes())
        count += len(row)
    return {"tokens": count, "sha256": hashed.hexdigest()}


def agreement(found: dict[str, Any], rows: list[Any]) -> str:
    """Say whether a reader has found the ids of these rows; of blocks of one length, what fills none is missing."""
    ids = np.concatenate(rows)
    if len(ids) - 1024 >= found["tokens"]:
        return f"{found['tokens']} tokens of {len(ids)}"
    return "equal" if digest([ids[: found["tokens"]]]) == found else "unequal"


def work(what: str, name: str, *paths: str) -> dict[str, Any]:
    """Write, or read and say what was read."""
    if what == "read":
        return digest(READERS[name](Path(paths[0])))
    WRITERS[name](examples(Path(paths[0]), paths[2]), Path(paths[1]))
    return {}
