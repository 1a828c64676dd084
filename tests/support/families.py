"""Tokenizers of other families: those with golden cases, which lie beside the project, and those that tests make."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import tokenizers

from tests.support.data import corpus, shared
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


def opened(peer: tokenizers.Tokenizer, place: Path) -> Tokenizer:
    """Open what Hugging Face writes of a tokenizer, by way of a file in ``place``."""
    file = place / "tokenizer.json"
    file.write_text(peer.to_str(), "utf-8")
    return Tokenizer.load(file)


def check_corpus(name: str, language: str) -> None:
    """Hold a family's ids of a corpus against Hugging Face's: line by line, and as one text."""
    tokenizer, peer_ = ours(name), peer(name)
    lines = corpus(language).splitlines(keepends=True)[:4000]
    truth = [one.ids for one in peer_.encode_batch(lines, add_special_tokens=False)]
    assert [row.tolist() for row in tokenizer.encode_batch(lines, special_tokens="parse")] == truth
    whole = "".join(lines)
    ids = peer_.encode(whole, add_special_tokens=False).ids
    assert tokenizer.encode(whole, special_tokens="parse").tolist() == ids
    assert tokenizer.offsets(whole, special_tokens="parse").ids.tolist() == ids
