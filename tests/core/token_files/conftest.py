"""A tokenizer with an end-of-text token, and a small corpus in several files."""

import gzip
import json
import random
from pathlib import Path

import pytest

from tokenizer_core import Tokenizer, base_artifact
from tokenizer_core.zstd import zstd

TEXTS = ["Hello world", "", "naïve 東京\n", "def f(x):\n    return x", "a" * 5000]


def line(text: str) -> bytes:
    return json.dumps({"n": 1, "text": text}, ensure_ascii=len(text) % 2 == 0).encode() + b"\n"


def many_texts(count: int = 300) -> list[str]:
    chosen = random.Random(7)
    words = ["tokens", "日本", " of", " every", "\n", "file", " überall", " 12"]
    return ["".join(chosen.choices(words, k=chosen.randrange(60))) for _ in range(count)]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    tok = Tokenizer.open(base_artifact())
    return tok.with_roles(eos=next(iter(tok.special_tokens)))


@pytest.fixture(scope="session")
def end(tokenizer: Tokenizer) -> int:
    return tokenizer.special_tokens[tokenizer.parts.settings.eos]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = [line(text) for text in TEXTS]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(b"".join(lines[:2]) + b"\n")
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[2:])))
    return tmp_path / "in"


@pytest.fixture
def large_corpus(tmp_path: Path) -> Path:
    """A corpus of several shards of 4 kB: a plain file, two packed ones, and small ones."""
    texts = many_texts()
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b"".join(map(line, texts[:100])))
    (folder / "b.jsonl.zst").write_bytes(zstd.compress(b"".join(map(line, texts[100:200]))))
    (folder / "c.jsonl.gz").write_bytes(gzip.compress(b"".join(map(line, texts[200:280])), mtime=0))
    for number, text in enumerate(texts[280:]):
        (folder / f"d{number:02}.txt").write_text(text)
    return folder
