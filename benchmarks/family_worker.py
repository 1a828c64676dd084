"""How each library opens a tokenizer of another family from one file, and what it does in this fresh process, on one
core.

Nothing heavy is imported before a library is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.openers import Encoder, ids_attribute, joined


def _tokd(path: Path) -> Encoder:
    from tokenizer_core import Tokenizer

    tok = Tokenizer.load(path)
    return Encoder(
        encode=lambda text: tok.encode(text, special_tokens="parse"),
        batch=lambda texts: tok.encode_batch(texts, special_tokens="parse", threads=1),
        flat=lambda answer: answer.ids,
    )


def _tokenizers(path: Path) -> Encoder:
    import tokenizers

    tok = tokenizers.Tokenizer.from_file(str(path))
    return Encoder(
        encode=lambda text: tok.encode(text, add_special_tokens=False),
        ids_of=ids_attribute,
        batch=lambda texts: tok.encode_batch(texts, add_special_tokens=False),
        flat=lambda answer: joined(row.ids for row in answer),
    )


def _sentencepiece(path: Path) -> Encoder:
    import sentencepiece

    tok = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return Encoder(
        encode=tok.encode,
        batch=lambda texts: tok.encode(texts, num_threads=1),
        flat=joined,
    )


def _kitoken(path: Path) -> Encoder:
    import kitoken

    is_model = path.suffix == ".model"
    open_file = kitoken.Kitoken.from_sentencepiece_file if is_model else kitoken.Kitoken.from_tokenizers_file
    tok = open_file(str(path))
    return Encoder(
        encode=lambda text: tok.encode(text, True),
        batch=lambda texts: tok.encode_all(texts, True),
        flat=joined,
    )


def _gigatoken(path: Path) -> Encoder:
    from gigatoken import Tokenizer

    tok = Tokenizer(str(path))
    return Encoder(
        encode=tok.encode,
        batch=tok.encode_batch,
        flat=lambda answer: joined(answer.to_list()),
    )


LIBRARIES = {
    "tokd": _tokd,
    "tokenizers": _tokenizers,
    "sentencepiece": _sentencepiece,
    "kitoken": _kitoken,
    "gigatoken": _gigatoken,
}
"""How every library opens a file, by its name in the table, which pip has, too."""


@dataclass(frozen=True)
class Family:
    """One tokenizer: its file in the folder of data, who opens it, and whose ids are right."""

    file: str
    libraries: tuple[str, ...]
    truth: str


_MODELS = ("tokd", "sentencepiece", "kitoken")
_CHARACTERS = ("tokd", "tokenizers", "kitoken", "gigatoken")

FAMILIES = {
    "WordPiece": Family(
        "families/hf-wordpiece-uncased/tokenizer.json", ("tokd", "tokenizers", "kitoken"), "tokenizers"
    ),
    "Unigram": Family("families/spm-unigram-nmt_nfkc/tokenizer.model", _MODELS, "sentencepiece"),
    "Mistral 7B": Family("families/mistral-spm-v1/tokenizer.model", _MODELS, "sentencepiece"),
    "Llama 2": Family("families/hf-bpe-llama2/tokenizer.json", _CHARACTERS, "tokenizers"),
    "Gemma": Family("families/hf-bpe-gemma/tokenizer.json", _CHARACTERS, "tokenizers"),
}
"""What is measured."""

BYTES = 1_500_000
"""Of the lines that are encoded."""
REPEATS = 3


def lines_of(path: Path) -> list[str]:
    """Return the first lines of a text, without their ends."""
    return path.read_bytes()[:BYTES].decode("utf-8", errors="ignore").splitlines()[:-1]


def work(name: str, file: str, text: str) -> dict[str, Any]:
    """Encode a call a line, twice or more, then all lines in one call; all answers must be the same."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    import numpy as np

    from benchmarks.worker import digest, timed

    lines = lines_of(Path(text))
    encoder = LIBRARIES[name](Path(file))
    seconds: dict[str, list[float]] = {}
    proofs: set[str] = set()

    def take(regime: str, call: Callable[[], Any], ids_of: Callable[[Any], Any]) -> None:
        taken, answer = timed(call)
        seconds.setdefault(regime, []).append(taken)
        proofs.add(digest(np.fromiter(ids_of(answer), dtype="<u4")))

    def each_line(rows: Any) -> Any:
        return (id for row in rows for id in encoder.ids_of(row))

    take("cold", lambda: [encoder.encode(line) for line in lines], each_line)
    for _ in range(REPEATS):
        take("warm", lambda: [encoder.encode(line) for line in lines], each_line)
        if (encode_all := encoder.batch) is not None:
            take("one call", lambda: encode_all(lines), encoder.flat)
    best = {regime: min(taken) for regime, taken in seconds.items()}
    size = sum(len(line.encode()) for line in lines)
    return {"seconds": best, "bytes": size, "proof": " and ".join(sorted(proofs))}
