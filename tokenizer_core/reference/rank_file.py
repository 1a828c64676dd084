"""Merge the bytes of a piece by ranked byte strings, without a list of merges, as in tiktoken's files."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from itertools import pairwise


def read(data: bytes) -> dict[bytes, int]:
    """Read lines of ``base64 rank``."""
    lines = (line.split() for line in data.splitlines() if line)
    return {b64decode(token): int(rank) for token, rank in lines}


def encode_piece(piece: bytes, ranks: Mapping[bytes, int]) -> list[int]:
    """Take a piece that is a token whole; else join the neighbours that make the lowest token, leftmost first."""
    if piece in ranks:
        return [ranks[piece]]
    parts = [bytes([byte]) for byte in piece]
    while True:
        joined = [left + right for left, right in pairwise(parts)]
        candidates = [(ranks[token], place) for place, token in enumerate(joined) if token in ranks]
        if not candidates:
            return [ranks[part] for part in parts]
        _, place = min(candidates)
        parts[place : place + 2] = [joined[place]]
