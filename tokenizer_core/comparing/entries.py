"""What the entries of a vocabulary stand for, so that those of different families can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tokenizer_core.stages.models import WordPiece
from tokenizer_core.tokenizer import Tokenizer

LISTED = 10
"""The most tokens of a list."""

_BYTE = re.compile(rb"<0x([0-9A-F]{2})>")
_SPACE = "▁".encode()


def entries(tokenizer: Tokenizer) -> dict[int, bytes]:
    """Return the bytes of text that each id stands for, added tokens aside.

    The mark of SentencePiece is a space, ``<0x41>`` is one byte, and an entry of WordPiece that begins a word has a
    space before it in place of the prefix of all others.
    """
    vocabulary, model = tokenizer.parts.vocabulary, tokenizer.config.model
    added = {token.id for token in tokenizer.added_tokens}
    found = {}
    for id in range(vocabulary.id_limit):
        entry = vocabulary.token_bytes(id)
        if entry is None or id in added:
            continue
        if vocabulary.is_text:
            byte = _BYTE.fullmatch(entry)
            entry = bytes([int(byte[1], 16)]) if byte else entry.replace(_SPACE, b" ")
        if isinstance(model, WordPiece):
            prefix = model.prefix.encode()
            entry = entry.removeprefix(prefix) if prefix and entry.startswith(prefix) else b" " + entry
        found[id] = entry
    return found


def longest(ids: Iterable[int], entries: Mapping[int, bytes]) -> tuple[str, ...]:
    """Return the longest entries of some ids by bytes, the lower id first among equals, U+FFFD for what is no text."""
    ordered = sorted(ids, key=lambda id: (-len(entries[id]), id))[:LISTED]
    return tuple(entries[id].decode(errors="replace") for id in ordered)
