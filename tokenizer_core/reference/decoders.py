"""From the texts of tokens to text: each stage makes of a list of texts another one, and the last is joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import regex

from tokenizer_core.reference import utf8
from tokenizer_core.reference.byte_alphabet import from_entry

_BYTE = regex.compile(r"<0x([0-9a-fA-F]{2}|\+[0-9a-fA-F])>")

_CLEANED = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)
Texts = list[str]


def decode(stages: Iterable[Mapping[str, Any]], tokens: Sequence[str]) -> str:
    """Run the stages in order.

    Raises:
        ValueError: a stage is not known here.
    """
    texts = list(tokens)
    for stage in stages:
        texts = _run(stage, texts)
    return "".join(texts)


def clean(token: str) -> str:
    """Take away spaces before punctuation and in contractions."""
    for found, instead in _CLEANED:
        token = token.replace(found, instead)
    return token


def _run(stage: Mapping[str, Any], texts: Texts) -> Texts:
    kind = stage["type"]
    match kind:
        case "spaced":
            return [f" {text}" if index else text for index, text in enumerate(texts)]
        case "word_piece":
            prefix = stage["prefix"]
            others = (text.removeprefix(prefix) if text.startswith(prefix) else f" {text}" for text in texts[1:])
            return [clean(text) if stage["cleanup"] else text for text in [*texts[:1], *others]]
        case "ctc":
            kept = (text.replace(stage["pad"], "") if stage["pad"] else text for text, _ in groupby(texts))
            if stage["cleanup"]:
                kept = (clean(text).replace(stage["delimiter"], " ") for text in kept)
            return [text for text in kept if text]
        case "fuse":
            return ["".join(texts)]
        case "byte_fallback":
            return _byte_fallback(texts)
        case "byte_level":
            return [utf8.decode(b"".join(map(_bytes, texts)))]
        case "metaspace":
            spaces = ["" if stage["drops_first"] and index == 0 else " " for index in range(len(texts))]
            return [text.replace(stage["replacement"], space) for text, space in zip(texts, spaces, strict=True)]
        case "bpe":
            ends = [" "] * (len(texts) - 1) + [""]
            return [text.replace(stage["suffix"], end) for text, end in zip(texts, ends, strict=False)]
        case "replace":
            return [_replace(stage["pattern"], stage["content"], text) for text in texts]
        case "strip":
            return [_strip(text, stage["content"], stage["start"], stage["stop"]) for text in texts]
    raise ValueError(f"unknown decoder stage {kind!r}")


def _bytes(text: str) -> bytes:
    try:
        return from_entry(text)
    except KeyError:
        return text.encode("utf-8")


def _byte_fallback(texts: Texts) -> Texts:
    found: Texts = []
    for is_byte, run in groupby(texts, lambda text: _BYTE.fullmatch(text) is not None):
        if not is_byte:
            found += run
            continue
        data = bytes(int(text[3:5], 16) for text in run)
        try:
            found.append(data.decode("utf-8"))
        except UnicodeDecodeError:
            found += ["\ufffd"] * len(data)
    return found


def _replace(pattern: Mapping[str, str], content: str, text: str) -> str:
    if "string" in pattern:
        return text.replace(pattern["string"], content)
    return regex.sub(pattern["regex"], lambda _: content, text)


def _strip(text: str, content: str, start: int, stop: int) -> str:
    for _ in range(start):
        text = text.removeprefix(content)
    for _ in range(stop):
        text = text.removesuffix(content)
    return text
