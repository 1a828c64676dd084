"""The texts to measure on, cut the same way for everybody."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ("english", "code", "ja", "zh", "ru", "eu")
VOCABULARIES = ("cl100k_base", "o200k_base", "gpt2")

WARM_BYTES = 2_000_000
SMALL_CHARS = 1_000
SMALL_TEXTS = 1_000


def data_dir() -> Path:
    """Return the folder with ``corpora`` and ``vocabs``: ``TOKD_TEST_DATA``, or ``shared/data`` beside the project."""
    return Path(os.environ.get("TOKD_TEST_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True)
class Cuts:
    """One language: its first 2 MB as one text, and what follows as distinct texts of 1,000 characters."""

    whole: str
    small: list[str]


def cuts(language: str) -> Cuts:
    """Cut one corpus; no small text has been seen in ``whole``."""
    data = (data_dir() / "corpora" / f"{language}.txt").read_bytes()
    whole = data[:WARM_BYTES].decode("utf-8", errors="ignore")
    rest = data[len(whole.encode("utf-8")) :].decode("utf-8", errors="ignore")
    starts = range(0, len(rest) - SMALL_CHARS + 1, SMALL_CHARS)
    return Cuts(whole, [rest[start : start + SMALL_CHARS] for start in starts][:SMALL_TEXTS])
