"""Tokenizers published by jobs: opened on first use, the most recent kept open."""

from __future__ import annotations

import threading
from pathlib import Path

from cachetools import LRUCache

from service.registry.artifact_dirs import MANIFEST, damaged, first_of, verified
from service.registry.served import IdOptions, ServedTokenizer
from tokenizer_core import TokdError, Tokenizer

EXPRESSION_STEPS = 1 << 18
"""The steps that a job's own expression may take for a text, however short: some milliseconds. Its author is a caller,
and a request may hold thousands of texts."""


class Trained:
    """Artifacts in the directory that jobs publish into.

    Args:
        most: how many are kept open.
        cache_bytes: of their piece caches.
        options: what decides ids beside the tokenizer.
    """

    def __init__(self, directory: Path, most: int, cache_bytes: int, options: IdOptions) -> None:
        self._directory, self._cache_bytes, self._options = directory, cache_bytes, options
        self._opened: LRUCache[tuple[str | None, str], ServedTokenizer] = LRUCache(most)
        self._lock = threading.Lock()

    def opened(self, name: str | None, hash: str) -> ServedTokenizer | None:
        """Return a tokenizer that is open; it never touches a file."""
        with self._lock:
            return self._opened.get((name, hash))

    def all_opened(self) -> list[Tokenizer]:
        """Return the tokenizers that are open."""
        with self._lock:
            return [loaded.tokenizer for loaded in self._opened.values()]

    def open(self, name: str | None, hash: str) -> ServedTokenizer | None:
        """Open and verify an artifact; ``None`` if there is none of this hash, or of this hash and name.

        Errors:
            ``artifact_damaged``
        """
        # Another may have opened it since the caller looked.
        found = self.opened(name, hash)
        if found is not None:
            return found
        path = self._find(name, hash.removeprefix("sha256:"))
        if path is None:
            return None
        try:
            tokenizer = verified(path, hash, cache_bytes=self._cache_bytes, expression_steps=EXPRESSION_STEPS)
            # Its templates are compiled here, where nobody waits: a request would do it on the event loop.
            loaded = ServedTokenizer(tokenizer, str(path), is_trained=True, options=self._options)
        except TokdError as error:
            if not (path / MANIFEST).exists():
                # It was removed meanwhile.
                return None
            raise damaged(path, error) from error
        if name is not None and tokenizer.name != name:
            return None
        with self._lock:
            self._opened[name, hash] = loaded
        return loaded

    def _find(self, name: str | None, digits: str) -> Path | None:
        if name is None:
            return first_of(self._directory, digits, any_name=True)
        return first_of(self._directory, digits, name) or first_of(self._directory, digits)
