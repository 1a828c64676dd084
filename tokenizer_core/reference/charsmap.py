"""SentencePiece's compiled table of rewrites, as a mapping from texts to texts."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache

import numpy as np


@cache
def rules(charsmap: bytes) -> dict[str, str]:
    """Read a table: the size of a double array in bytes, the array, and the texts that its values point to."""
    if not charsmap:
        return {}
    (size,) = struct.unpack_from("<I", charsmap)
    units = np.frombuffer(charsmap, "<u4", size // 4, 4)
    texts = charsmap[4 + size :]
    found = {}
    for key, value in _keys(units):
        found[key.decode()] = texts[value : texts.index(b"\0", value)].decode()
    return found


def _keys(units: np.ndarray) -> Iterator[tuple[bytes, int]]:
    """Walk over the trie: a child lies at the exclusive or of its parent's offset and its byte."""
    labels, bytes_ = units & 0x8000_00FF, np.arange(1, 256)
    waiting = [(0, b"")]
    while waiting:
        node, key = waiting.pop()
        unit = int(units[node])
        offset = node ^ (unit >> 10) << ((unit & 1 << 9) >> 6)
        if unit >> 8 & 1:
            yield key, int(units[offset]) & 0x7FFF_FFFF
        children = offset ^ bytes_
        found = bytes_[labels[np.minimum(children, len(units) - 1)] == bytes_]
        waiting += [(offset ^ byte, key + bytes([byte])) for byte in found.tolist()]
