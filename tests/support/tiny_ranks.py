"""Rank files that a test writes itself."""

from __future__ import annotations

import base64
from pathlib import Path

BYTES = {bytes([byte]): byte for byte in range(256)}


def lines(ranks: dict[bytes, int], end: str = "\n") -> bytes:
    return "".join(f"{base64.b64encode(token).decode()} {rank}{end}" for token, rank in ranks.items()).encode()


def write_ranks(path: Path, ranks: dict[bytes, int]) -> Path:
    path.write_bytes(lines(ranks))
    return path
