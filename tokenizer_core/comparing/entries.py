"""The text of each entry of a vocabulary, in bytes, so that entries of different families can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from heapq import nsmallest

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
    prefix = model.prefix.encode() if model.type == "word_piece" else None
    of_text = (lambda entry: entry) if not vocabulary.is_text else partial(_text_of, prefix)
    added = {token.id for token in tokenizer.added_tokens}
    read = ((id, vocabulary.token_bytes(id)) for id in range(vocabulary.id_limit) if id not in added)
    return {id: of_text(entry) for id, entry in read if entry is not None}


def _text_of(prefix: bytes | None, entry: bytes) -> bytes:
    """Return what an entry that is text stands for; ``prefix`` is that of WordPiece."""
    byte = _BYTE.fullmatch(entry)
    entry = bytes([int(byte[1], 16)]) if byte else entry.replace(_SPACE, b" ")
    if prefix is None:
        return entry
    return entry.removeprefix(prefix) if prefix and entry.startswith(prefix) else b" " + entry


def longest(ids: Iterable[int], entries: Mapping[int, bytes]) -> tuple[str, ...]:
    """Return the longest entries of some ids by bytes, the lower id first among equals, U+FFFD for what is no text."""
    ordered = nsmallest(LISTED, ids, key=lambda id: (-len(entries[id]), id))
    return tuple(entries[id].decode(errors="replace") for id in ordered)
