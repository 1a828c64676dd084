"""Whole texts that were encoded before, off unless the setting ``text_cache_bytes`` gives it room.

The kernel encodes most texts faster than they are found here (``docs/performance.md``); a tokenizer whose pattern has
no scanner of its own is another matter. An entry is found only under all that could change it.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

_ENTRY_BYTES = 700
"""What an entry takes beside its text and its arrays: the key, two array objects, a place in two dictionaries."""


class TextKey(NamedTuple):
    """All that an encoded text depends on, and more."""

    tokenizer: str
    template: str | None
    add_special_tokens: bool
    special_tokens: str
    truncation_side: str | None
    spans: str | None
    text: str


class EncodedText(NamedTuple):
    """The ids of a text before it is shaped, and their spans if the key names a unit; nobody writes into them."""

    ids: npt.NDArray[np.uint32]
    spans: npt.NDArray[np.uint32] | None = None


class _Entry(NamedTuple):
    encoded: EncodedText
    size: int


class TextCache:
    """The texts that were used last, for all tokenizers of one process; safe to share between threads.

    Args:
        max_bytes: what all entries together may take.
    """

    def __init__(self, max_bytes: int) -> None:
        self.hits = 0
        self.misses = 0
        self._lock = Lock()
        self._entries: LRUCache[TextKey, _Entry] = LRUCache(max_bytes, getsizeof=lambda entry: entry.size)

    @property
    def bytes(self) -> int:
        """What the entries take."""
        return int(self._entries.currsize)

    def get(self, key: TextKey) -> EncodedText | None:
        """Find a text."""
        with self._lock:
            found = self._entries.get(key)
            self.hits += found is not None
            self.misses += found is None
        return None if found is None else found.encoded

    def put(self, key: TextKey, ids: npt.NDArray[np.uint32], spans: npt.NDArray[np.uint32] | None = None) -> None:
        """Remember a text, unless it alone is larger than the cache."""
        encoded = EncodedText(_own(ids), None if spans is None else _own(spans))
        size = _ENTRY_BYTES + sys.getsizeof(key.text) + ids.nbytes + (0 if spans is None else spans.nbytes)
        if size <= self._entries.maxsize:
            with self._lock:
                self._entries[key] = _Entry(encoded, size)


def _own(array: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Copy an array for good: a row of a batch would keep the whole batch in memory."""
    own = array.copy()
    own.flags.writeable = False
    return own
