"""The texts to measure on, cut the same way for everybody."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.process import ROOT

LANGUAGES = {
    "english": "English",
    "code": "code",
    "ja": "Japanese",
    "zh": "Chinese",
    "ru": "Russian",
    "eu": "European",
}
VOCABULARIES = ("cl100k_base", "o200k_base", "gpt2")

WHOLE_BYTES = 2_000_000
SMALL = {200: (0.2, 1000), 1_000: (0.3, 1000), 8_000: (0.5, 200)}
"""Characters of a small text: the share of the rest that such texts are cut from, and how many there are at most."""

DOCUMENT = 4_000
"""Characters of a text in a batch."""

_CL100K, _ENGLISH, _MIXED = "vocabs/cl100k_base.tiktoken", "corpora/english.txt", "corpora/mixed"
WANTED = {
    "encode": (_CL100K, "vocabs/o200k_base.tiktoken", "vocabs/gpt2_vocab.json", "vocabs/gpt2_tokenizer.json"),
    "http": (_CL100K, _ENGLISH),
    "chats": (_CL100K, _ENGLISH, "templates"),
    "agents": (_CL100K, _ENGLISH, "corpora/code.txt", "templates"),
    "train": (_MIXED, "corpora/zh.txt"),
    "choosing": tuple(f"corpora/{name}.txt" for name in LANGUAGES),
    "models": (_MIXED, _ENGLISH, "corpora/ja.txt"),
    "beside": (_CL100K, _ENGLISH, _MIXED),
    "memory": (_CL100K,),
    "formats": (_MIXED, "vocabs/gpt2_tokenizer.json"),
    "overload": (_CL100K, _ENGLISH),
    "corpus": (_MIXED, "vocabs/gpt2_tokenizer.json", "vocabs/gpt2_vocab.json"),
    "cluster": (_MIXED,),
    "counting": (),
    "packing": (),
    "engines": ("vocabs/qwen2_tokenizer.json", "templates"),
    "families": (_ENGLISH, "corpora/ja.txt", "corpora/ru.txt", "families"),
}
"""What each benchmark reads of the folder of ``data_dir``; ``encode`` also a corpus a language, if given no texts."""

LEAST_BYTES = 100_000
"""Of a file that is measured on; a shorter one is over before a clock can tell."""


def data_dir() -> Path:
    """Return the folder with ``corpora`` and ``vocabs``: ``TOKD_TEST_DATA``, or ``shared/data`` beside the project."""
    return Path(os.environ.get("TOKD_TEST_DATA", ROOT.parent / "shared" / "data"))


def missing(benchmark: str) -> str | None:
    """Say what of the files that a benchmark reads is not there."""
    for name in WANTED[benchmark]:
        path = data_dir() / name
        if not path.exists():
            return f"{path} is not there; TOKD_TEST_DATA names the folder with corpora/ and vocabs/"
    return None


def unfit(texts: Iterable[Path]) -> str | None:
    """Say which text cannot be measured on."""
    for path in texts:
        try:
            if not path.is_file():
                return f"{path} is not there"
            size = len(path.read_text(encoding="utf-8").encode())
        except ValueError:
            return f"{path} is not UTF-8"
        if size < LEAST_BYTES:
            return f"{path} has {size:,} bytes; {LEAST_BYTES:,} are the least that can be timed"
    return None


@dataclass(frozen=True)
class Cuts:
    """One corpus: its beginning as one text, that again as documents, and what follows as distinct small texts."""

    whole: str
    documents: list[str]
    small: dict[int, list[str]]


def pieces(text: str, length: int) -> list[str]:
    """Cut a text into pieces of one length; what is left over is dropped."""
    return [text[start : start + length] for start in range(0, len(text) - length + 1, length)]


def cuts(path: Path) -> Cuts:
    """Cut one corpus; no small text has been seen before, and a shorter corpus keeps a third for them."""
    data = path.read_bytes()
    whole = data[: min(WHOLE_BYTES, len(data) * 2 // 3)].decode("utf-8", errors="ignore")
    rest = data[len(whole.encode("utf-8")) :].decode("utf-8", errors="ignore")
    small, start = {}, 0
    for length, (share, most) in SMALL.items():
        end = start + int(len(rest) * share)
        small[length] = pieces(rest[start:end], length)[:most]
        start = end
    return Cuts(whole, pieces(whole, DOCUMENT), small)
