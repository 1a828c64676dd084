"""Merge the bytes of a piece: look at every pair, merge the best, repeat."""

from __future__ import annotations

from collections.abc import Mapping

Ranks = Mapping[tuple[bytes, bytes], int]


def merge_scan(piece: bytes, ranks: Ranks) -> list[bytes]:
    """Merge the pair of lowest rank, the leftmost among equals, until no neighbours are a pair.

    Quadratic, and the definition that every other encoder is held against.
    """
    parts = [bytes([byte]) for byte in piece]
    while True:
        candidates = [
            (ranks[parts[place], parts[place + 1]], place)
            for place in range(len(parts) - 1)
            if (parts[place], parts[place + 1]) in ranks
        ]
        if not candidates:
            return parts
        _, place = min(candidates)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
