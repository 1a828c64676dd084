"""Write a SentencePiece model, from what a file of another format says of it.

The fields are those of ``sentencepiece_model.proto``; a reader takes what is not written at its default.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""The types of pieces."""

Piece = tuple[str, float, int]
"""The text of an id, its score and its type."""

_MODEL_TYPES = {"unigram": 1, "bpe": 2, "word": 3, "char": 4}
_VARINT, _BYTES, _FIXED32 = 0, 2, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of the model around its pieces.

    Attributes:
        charsmap: the normalizer's rules, compiled by SentencePiece.
        names: pieces of the roles ``unk``, ``bos``, ``eos`` and ``pad``, where they are known.
        suffix: a space ends a word.
    """

    model_type: Literal["unigram", "bpe", "word", "char"]
    byte_fallback: bool
    dummy_prefix: bool
    fold: bool
    charsmap: bytes
    names: dict[str, str]
    suffix: bool = False


def write(pieces: Iterable[Piece], rules: Rules) -> bytes:
    """Return the bytes of a model with these pieces."""
    trainer = _number(3, _MODEL_TYPES[rules.model_type])
    trainer += _number(24, rules.suffix) + _number(35, rules.byte_fallback)
    for field, role in ((45, "unk"), (46, "bos"), (47, "eos"), (48, "pad")):
        if role in rules.names:
            trainer += _bytes(field, rules.names[role].encode())
    normalizer = _bytes(2, rules.charsmap) + _number(3, rules.dummy_prefix) + _number(4, rules.fold) + _number(5, 1)
    written = [
        _bytes(1, _bytes(1, text.encode()) + _float(2, score) + _number(3, kind)) for text, score, kind in pieces
    ]
    return b"".join([*written, _bytes(2, trainer), _bytes(3, normalizer)])


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | _FIXED32) + struct.pack("<f", value)
