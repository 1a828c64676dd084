"""Encode a corpus as llm.c's script does it, with another library; run in the peers' own environment.

``python -m benchmarks.corpus_worker LIBRARY SOURCE OUT VOCABULARIES WORKERS``
"""

from __future__ import annotations

import io
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

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


def main() -> None:
    """Encode, and write full files as they come."""
    library, source, out, vocabs, workers = sys.argv[1:]
    folder = Path(out)
    folder.mkdir()
    tokens, count, shard = np.empty(SHARD, np.uint16), 0, 0
    with multiprocessing.Pool(int(workers), prepare, (library, vocabs)) as pool:
        for ids in pool.imap(encoded, texts(Path(source)), CHUNK):
            while count + len(ids) > SHARD:
                room = SHARD - count
                tokens[count:] = ids[:room]
                write(folder / f"tokens_train_{shard:06}.bin", tokens)
                ids, count, shard = ids[room:], 0, shard + 1
            tokens[count : count + len(ids)] = ids
            count += len(ids)
    write(folder / f"tokens_train_{shard:06}.bin", tokens[:count])


if __name__ == "__main__":
    main()
