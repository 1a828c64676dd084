"""Tokenizers published by jobs: found by hash or name, opened on first use, the most recent kept open."""

from __future__ import annotations

import os
import re
import threading
import time
from contextvars import ContextVar
from math import inf
from pathlib import Path

from cachetools import LRUCache

from service.registry.artifact_dirs import MANIFEST, damaged, first_of, verified
from service.registry.fingerprint import IdOptions
from service.registry.served import ServedTokenizer
from service.settings import Settings
from tokenizer_core import TokdError, Tokenizer

_PLACE = re.compile(r"([0-9a-f]{64})-([^+]+)(?:\+.*)?")

INDEXED_SECONDS = 0.1
"""Time for which a list of names counts although the directory changed."""

EXPRESSION_STEPS = 1 << 18
"""The steps that a job's own expression may take for a text, however short: some milliseconds. Its author is a caller,
and a request may hold thousands of texts."""

SETTLED_NANOSECONDS = 2_000_000_000

WAITS_SINCE: ContextVar[float] = ContextVar("waits_since", default=inf)
"""When a request began to wait for the disk. A list of names that was made later counts for it, however long it then
waits until the tokenizer is open; else a list that is old again would send it back until it is refused."""


def trained_directory(settings: Settings) -> Path:
    """Return the directory that jobs publish into, as an absolute path: the setting, or that of the first artifact."""
    path = Path(settings.trained) if settings.trained is not None else Path(settings.artifacts[0]).absolute().parent
    # Links before `..` decide its target. Other links are kept: on a worker's host they may lead elsewhere.
    return Path(os.path.realpath(path)) if ".." in path.parts else path.absolute()


def jobs_directory(settings: Settings) -> Path:
    """Return the directory that holds the files of jobs: on one file system with what they publish."""
    return trained_directory(settings) / ".jobs"


def encoded_directory(settings: Settings) -> Path:
    """Return the directory that holds what jobs encoded, each in a directory named by its job."""
    return trained_directory(settings) / ".encoded"


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
        self._names: dict[str, list[str]] = {}
        self._seen: tuple[int, float] | None = None

    def hashes_of(self, name: str) -> list[str] | None:
        """Return the hashes of the artifacts of this name; ``None`` if ``index`` has to look at the disk first."""
        if self._seen is None:
            return None
        changed, at = self._seen
        counts = at >= WAITS_SINCE.get() or time.monotonic() - at <= INDEXED_SECONDS or self._changed_ns() == changed
        return self.listed(name) if counts else None

    def listed(self, name: str) -> list[str]:
        """Return the hashes of the artifacts that had this name when they were last listed."""
        return self._names.get(name, [])

    def index(self) -> None:
        """List the artifacts by name."""
        began, changed, names = time.monotonic(), self._changed_ns(), dict[str, list[str]]()
        try:
            found = sorted(each.name for each in self._directory.iterdir())
        except OSError:
            found = []
        for place in map(_PLACE.fullmatch, found):
            hashes = names.setdefault(place[2], []) if place else []
            if place and f"sha256:{place[1]}" not in hashes:
                hashes.append(f"sha256:{place[1]}")
        # A directory that changed just now may change again without another time of change.
        settled = time.time_ns() - changed >= SETTLED_NANOSECONDS
        self._names, self._seen = names, (changed if settled else -1, began)

    def _changed_ns(self) -> int:
        try:
            return self._directory.stat().st_mtime_ns
        except OSError:
            return 0

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
