"""Directories for what arrives: each has a lock that ends with its process, and without one is a leftover."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

UPLOADS, CHECKS = ".incoming-", "tokd-check-"
"""Beginnings of their names: of tokenizers to be served, and of what is only audited."""


@contextmanager
def incoming(directory: Path, prefix: str) -> Iterator[Path]:
    """Make a directory in one that is made if need be, and remove it in the end."""
    directory.mkdir(parents=True, exist_ok=True)
    made, lock = _claim(directory, prefix)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
        os.close(lock)


def sweep(directory: Path, prefix: str) -> None:
    """Remove the directories that no living process made, or that one has begun to remove."""
    try:
        found = [path for path in directory.iterdir() if path.name.startswith(prefix)]
    except OSError:
        return
    for path in found:
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                flock(descriptor, LOCK_EX | LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _claim(directory: Path, prefix: str) -> tuple[Path, int]:
    while True:
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=directory))
        # Another process may sweep it away before it is locked.
        with suppress(FileNotFoundError):
            descriptor = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            # On a file system without locks nothing is swept away either.
            with suppress(OSError):
                flock(descriptor, LOCK_EX)
            if made.exists():
                return made, descriptor
            os.close(descriptor)
