"""Files that are whole or not there, also after the power was cut."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path


def write_new(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file that is not there yet, and wait until it lies on the disk.

    Raises:
        FileExistsError
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(parts)
        file.flush()
        os.fsync(descriptor)


def replace(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file beside its place and put it there in one step: a reader sees the old one or all of the new one."""
    fresh = path.with_name(f".{path.name[:64]}.{secrets.token_hex(8)}")
    try:
        write_new(fresh, parts)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory lie on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
