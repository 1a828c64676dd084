"""A byte-level ``tokenizer.json`` small enough to be changed by hand in a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizer_core._kernel import Vocabulary

BYTES = Vocabulary.from_tokens([(id, bytes([id])) for id in range(256)], []).token_texts()
"""Every byte as the byte alphabet writes it, and its id."""

WORDS = ["he", "ll", "hell", "hello", "Ġt", "Ġth", "Ġthe", "Ã©"]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ t", "Ġt h", "Ġth e", "Ã ©"]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def added(id: int, content: str, **flags: bool) -> dict[str, Any]:
    """Make one added token; a special one unless told otherwise."""
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": id, "content": content, **dict.fromkeys(names, False), "special": True, **flags}


def document(**changes: Any) -> dict[str, Any]:
    """Make a whole ``tokenizer.json``; ``changes`` replace top-level keys."""
    vocab = dict(BYTES) | {word: 256 + index for index, word in enumerate(WORDS)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added(264, "<|end|>")],
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": model(vocab),
    } | changes


def model(vocab: dict[str, int], **changes: Any) -> dict[str, Any]:
    """Make the model's part."""
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": vocab,
        "merges": MERGES,
    } | changes


def changed(**changes: Any) -> dict[str, Any]:
    """Make a whole document with changes in its model."""
    whole = document()
    return whole | {"model": whole["model"] | changes}


def write(directory: Path, tokenizer: Any, **beside: Any) -> Path:
    """Write a directory; ``beside`` are JSON documents or texts by file name, ``__`` standing for the dot."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in {"tokenizer__json": tokenizer, **beside}.items():
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        (directory / name.replace("__", ".")).write_text(text, encoding="utf-8", newline="")
    return directory


def template(single: list[Any], pair: list[Any] | None = None, **tokens: list[int]) -> dict[str, Any]:
    """Make a TemplateProcessing; an item is a name, or a name and its type id."""

    def piece(item: Any) -> dict[str, Any]:
        name, type_id = item if isinstance(item, tuple) else (item, 0)
        kind = "Sequence" if name in ("A", "B") else "SpecialToken"
        return {kind: {"id": name, "type_id": type_id}}

    return {
        "type": "TemplateProcessing",
        "single": [piece(item) for item in single],
        "pair": [piece(item) for item in pair or ["A", ("B", 1)]],
        "special_tokens": {
            name: {"id": name, "ids": ids, "tokens": [f"<{id}>" for id in ids]} for name, ids in tokens.items()
        },
    }
