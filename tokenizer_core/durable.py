"""Files that are whole or not there, also after the power was cut.

What is being written has a name of its own, ``.<name>.tokd-<16 digits>``, and a lock that ends with its process: what
nobody holds is a leftover of one that was killed, and is swept away.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

_FRESH = re.compile(r"\..+\.tokd-[0-9a-f]{16}")


def write_new(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file that is not there yet, and wait until it lies on the disk.

    Raises:
        FileExistsError
    """
    with _written(path, parts):
        pass


def replace(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file beside its place and put it there in one step: a reader sees the old one or all of the new one."""
    fresh = _fresh(path)
    try:
        with _written(fresh, parts):
            fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


@contextlib.contextmanager
def fresh_directory(path: Path) -> Iterator[Path]:
    """Make a directory beside ``path``, to be renamed; what has its name in the end is removed."""
    while True:
        fresh = _fresh(path)
        fresh.mkdir()
        descriptor = os.open(fresh, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _lock(descriptor)
        if fresh.exists():
            break
        # Another process swept it away before it was locked.
        os.close(descriptor)
    try:
        yield fresh
    finally:
        # After an exchange this is what stood at the place before; after a plain rename there is nothing.
        shutil.rmtree(fresh, ignore_errors=True)
        os.close(descriptor)


def sweep(directory: Path) -> None:
    """Remove what killed processes have left half written."""
    try:
        names = list(directory.iterdir())
    except OSError:
        # It can be written to and not be listed.
        return
    for path in names:
        if _FRESH.fullmatch(path.name) is None or path.is_symlink():
            continue
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        except OSError:
            # Somebody is writing it.
            continue
        finally:
            os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory lie on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fresh(path: Path) -> Path:
    return path.with_name(f".{path.name[:64]}.tokd-{secrets.token_hex(8)}")


@contextlib.contextmanager
def _written(path: Path, parts: Iterable[bytes]) -> Iterator[None]:
    """Write a new file, and keep it locked."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        _lock(descriptor)
        file.writelines(parts)
        file.flush()
        os.fsync(descriptor)
        yield


def _lock(descriptor: int) -> None:
    # A file system without locks has nothing swept away either.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
