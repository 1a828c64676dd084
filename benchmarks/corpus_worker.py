"""Encode a corpus with another program, in the peers' own environments: llm.c's script with ``tiktoken``,
``megatron`` as Megatron-LM's ``preprocess_data.py`` with tokenizers, or ``datatrove``.
"""

from __future__ import annotations

import io
import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.openers import tiktoken_encoding

END_OF_TEXT = 50256
CHUNK = 16
"""Documents that a process takes at a time, as in llm.c."""

SHARD = 10**8
"""Tokens of a file, as in llm.c."""

_encode: Callable[[str], list[int]]


def prepare(library: str, vocabs: str) -> None:
    """Open the vocabulary in a process of the pool."""
    global _encode
    if library == "tiktoken":
        _encode = tiktoken_encoding("gpt2", Path(vocabs)).encode_ordinary
    else:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(Path(vocabs) / "gpt2_tokenizer.json"))
        _encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids  # noqa: E731


def encoded(text: str) -> Any:
    """Encode a document."""
    return np.array([END_OF_TEXT, *_encode(text)], np.uint16)


def texts(folder: Path) -> Iterator[str]:
    """Read the documents."""
    import zstandard

    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            packed = path.suffix == ".zst"
            data: Any = zstandard.ZstdDecompressor().stream_reader(file) if packed else file
            for line in io.TextIOWrapper(data, encoding="utf-8"):
                yield json.loads(line)["text"]


def write(path: Path, tokens: Any) -> None:
    """Write one file of llm.c."""
    header = np.zeros(256, np.int32)
    header[:3] = 20240520, 1, len(tokens)
    with path.open("wb") as file:
        file.write(header.tobytes())
        file.write(tokens.tobytes())


def megatron_file(name: Path, rows: Iterable[Any]) -> None:
    """Write documents with Megatron-LM's own builder."""
    import torch
    from megatron.core.datasets.indexed_dataset import DType, IndexedDatasetBuilder

    builder = IndexedDatasetBuilder(f"{name}.bin", dtype=DType.optimal_dtype(END_OF_TEXT + 1))
    for row in rows:
        builder.add_document(torch.from_numpy(row.astype(np.int64)), [len(row)])
    builder.finalize(f"{name}.idx")


def megatron(source: Path, folder: Path, vocabs: str, workers: int) -> None:
    """Encode as Megatron-LM's script does: lines over a pool, one builder."""
    with multiprocessing.Pool(workers, prepare, ("tokenizers", vocabs)) as pool:
        # Its token stands behind a document.
        rows = (np.roll(ids, -1) for ids in pool.imap(encoded, texts(source), 32))
        megatron_file(folder / "text_document", rows)


def datatrove(source: Path, folder: Path, vocabs: str, workers: int) -> None:
    """Encode with a task a file, so that the documents stand in their order."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer

    vocabulary = str(Path(vocabs) / "gpt2_tokenizer.json")
    end = "<|endoftext|>"
    writer = DocumentTokenizer(str(folder), vocabulary, eos_token=end, shuffle_documents=False)
    steps = [JsonlReader(str(source)), writer]
    tasks = len(list(source.iterdir()))
    LocalPipelineExecutor(steps, tasks=tasks, workers=workers, logging_dir=f"{folder}-logs").run()


def llmc(source: Path, folder: Path, vocabs: str, workers: int) -> None:
    """Write full files as they come."""
    tokens, count, shard = np.empty(SHARD, np.uint16), 0, 0
    with multiprocessing.Pool(workers, prepare, ("tiktoken", vocabs)) as pool:
        for ids in pool.imap(encoded, texts(source), CHUNK):
            while count + len(ids) > SHARD:
                room = SHARD - count
                tokens[count:] = ids[:room]
                write(folder / f"tokens_train_{shard:06}.bin", tokens)
                ids, count, shard = ids[room:], 0, shard + 1
            tokens[count : count + len(ids)] = ids
            count += len(ids)
    write(folder / f"tokens_train_{shard:06}.bin", tokens[:count])


def work(program: str, source: str, out: str, vocabs: str, workers: str) -> None:
    """Encode with another program."""
    Path(out).mkdir()
    run = {"megatron": megatron, "datatrove": datatrove, "tiktoken": llmc}[program]
    run(Path(source), Path(out), vocabs, int(workers))
