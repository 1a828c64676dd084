"""Tokenizers of other families and their golden cases, which lie beside the project."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import tokenizers

from tests.support.data import shared
from tokenizer_core import Tokenizer


@cache
def ours(name: str) -> Tokenizer:
    """Open a family's tokenizer."""
    return Tokenizer.load(shared(f"families/{name}"))


@cache
def peer(name: str) -> tokenizers.Tokenizer:
    """Open the same ``tokenizer.json`` with Hugging Face's own."""
    return tokenizers.Tokenizer.from_file(str(shared(f"families/{name}/tokenizer.json")))


@cache
def cases(name: str) -> tuple[dict[str, Any], ...]:
    """Return the golden cases of a family that are single texts."""
    # Not of text: it would end lines at U+2028 as well.
    lines = shared(f"families/{name}/cases.jsonl").read_bytes().splitlines()
    return tuple(case for case in map(json.loads, lines) if "text" in case)
