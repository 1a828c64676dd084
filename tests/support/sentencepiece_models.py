"""Write SentencePiece models by hand, and ask the library for the truth."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece

from tests.support.data import shared

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)

Piece = tuple[str, float, int]

BYTES: list[Piece] = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
META: list[Piece] = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: int | float | bytes | str) -> bytes:
    """Write one field: an integer or flag, a float, or bytes."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def model(
    pieces: Sequence[Piece],
    *,
    kind: int = UNIGRAM,
    byte_fallback: bool = False,
    suffix: bool = False,
    charsmap: bytes = b"",
    dummy_prefix: bool = True,
    fold: bool = True,
    escape: bool = True,
    trainer: bytes = b"",
) -> bytes:
    """Write a model; ``trainer`` is appended to its ``trainer_spec``."""
    written = b"".join(
        field(1, field(1, text) + field(2, float(score)) + field(3, type)) for text, score, type in pieces
    )
    spec = field(3, kind) + field(24, int(suffix)) + field(35, int(byte_fallback)) + trainer
    rules = field(2, charsmap) + field(3, int(dummy_prefix)) + field(4, int(fold)) + field(5, int(escape))
    return written + field(2, spec) + field(3, rules)


def library(data: bytes) -> Any:
    """Return SentencePiece's own processor for a model."""
    return sentencepiece.SentencePieceProcessor(model_proto=data)


@cache
def real(name: str) -> bytes:
    """Return the model of one of the golden sets."""
    return shared(f"families/{name}/tokenizer.model").read_bytes()


@cache
def charsmap() -> bytes:
    """Return the table of ``nmt_nfkc``, out of a golden model."""
    data = real("spm-unigram-nmt_nfkc")
    return _bytes_at(_bytes_at(data, 3), 2)


def _bytes_at(data: bytes, wanted: int) -> bytes:
    at = 0

    def number() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = number()
        match tag & 7:
            case 0:
                number()
            case 5:
                at += 4
            case _:
                size = number()
                if tag >> 3 == wanted:
                    return data[at : at + size]
                at += size
    raise AssertionError(f"no field {wanted}")


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
