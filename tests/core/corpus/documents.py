"""Documents, how they are counted, and what that gives."""

from __future__ import annotations

from typing import Any

from tokenizer_core import (
    Counts,
    TrainSettings,
    counted,
)
from tokenizer_core.corpus.files import Corpus

SETTINGS = TrainSettings(pattern="gpt2", special_tokens=["<|end|>"])


DOCUMENTS = [f"document {number}: it's {number * 7} naïve 日本語 words\r\n\n  and «more» " for number in range(300)]


def of(corpus: Corpus | Counts, **options: Any) -> str:
    """Count a corpus and hash its counts."""
    return counted(corpus, SETTINGS, **options).hash


TRUTH = of(iter(DOCUMENTS))
