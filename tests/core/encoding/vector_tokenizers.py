"""The tokenizers that cases of ``vectors.jsonl`` name."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import vocabularies
from tests.support.data import shared
from tokenizer_core import Tokenizer

CHATML = {"<|im_start|>": 50257, "<|im_end|>": 50258, "<tool_call>": 50259}


@cache
def gpt2_json() -> dict[str, Any]:
    return dict(json.loads(shared("vocabs/gpt2_tokenizer.json").read_text("utf-8")))


def changed_gpt2(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> Tokenizer:
    """Open GPT-2's ``tokenizer.json`` after a change."""
    document = copy.copy(gpt2_json())
    document["added_tokens"] = list(document["added_tokens"])
    document["pre_tokenizer"] = dict(document["pre_tokenizer"])
    document["model"] = dict(document["model"])
    change(document)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document), "utf-8")
    return Tokenizer.from_hf(path)


def literal(id: int, content: str, **flags: bool) -> dict[str, Any]:
    """Write an added token as ``tokenizer.json`` has it."""
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": id, "content": content, **plain, **flags}


def variant(vocab: str | dict[str, Any], tmp_path: Path) -> Tokenizer:
    """Open the tokenizer that a vector's ``vocab`` describes.

    Raises:
        ValueError: the description has a part that is not known here.
    """
    if isinstance(vocab, str):
        name = vocab.split(" ")[0].removesuffix("+chatml")
        if "+chatml" not in vocab:
            return vocabularies.tokenizer(name)
        vocab = {"base": "gpt2+chatml"}
    known = {"base", "added_tokens", "normalizer", "pre_tokenizer_regex", "behavior", "add_prefix_space"}
    known |= {"trim_offsets", "added_normalized", "model.dropout"}
    if set(vocab) - known or vocab["base"] not in {"gpt2", "gpt2+chatml"}:
        raise ValueError(f"unknown vocabulary {vocab}")

    def change(document: dict[str, Any]) -> None:
        document["added_tokens"] += vocab.get("added_tokens", [])
        if vocab["base"].endswith("+chatml"):
            normalized = vocab.get("added_normalized", False)
            document["added_tokens"] += [
                literal(id, content, special=content.startswith("<|"), normalized=normalized)
                for content, id in CHATML.items()
            ]
        normalizer = vocab.get("normalizer")
        document["normalizer"] = {"type": normalizer} if isinstance(normalizer, str) else normalizer
        for field in ("add_prefix_space", "trim_offsets"):
            if field in vocab:
                document["pre_tokenizer"][field] = vocab[field]
        if "pre_tokenizer_regex" in vocab:
            stage = {"type": "Split", "pattern": {"Regex": vocab["pre_tokenizer_regex"]}, "invert": False}
            level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
            stages = [stage | {"behavior": vocab["behavior"]}, level]
            document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": stages}

    return changed_gpt2(tmp_path, change)
