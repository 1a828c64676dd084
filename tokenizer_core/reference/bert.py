"""BERT's normalizer, one step after the other."""

from __future__ import annotations

from itertools import groupby

import unicodedata2

from tokenizer_core.reference import older_tables
from tokenizer_core.reference.unicode_classes import members

_CHINESE = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)


def normalize(text: str, *, clean_text: bool, handle_chinese_chars: bool, strip_accents: bool, lowercase: bool) -> str:
    """Run the four steps in Hugging Face's order."""
    if clean_text:
        text = "".join(character for character in text if ord(character) not in older_tables.controls())
        text = "".join(" " if ord(character) in members("White_Space") else character for character in text)
    if handle_chinese_chars:
        text = "".join(f" {character} " if is_chinese(character) else character for character in text)
    if strip_accents:
        text = "".join(part for part in decompose(text) if ord(part) not in older_tables.nonspacing())
    return "".join(map(older_tables.lowercase, text)) if lowercase else text


def is_chinese(character: str) -> bool:
    """Tell whether spaces are put around a character."""
    return any(ord(character) in block for block in _CHINESE)


def decompose(text: str) -> str:
    """Take characters apart canonically, and put the marks behind each in the order of their classes."""
    parts = "".join(
        character if ord(character) in older_tables.whole() else unicodedata2.normalize("NFD", character)
        for character in text
    )
    runs = groupby(parts, lambda part: combining_class(part) > 0)
    return "".join("".join(sorted(run, key=combining_class) if are_marks else run) for are_marks, run in runs)


def combining_class(character: str) -> int:
    """Return the canonical combining class."""
    return 0 if ord(character) in older_tables.classless() else int(unicodedata2.combining(character))
