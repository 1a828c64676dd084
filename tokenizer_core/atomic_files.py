"""Write files that are complete or absent, even after a power cut.

What is being written has a name of its own, ``.<name>.tokd-<16 digits>``, and a lock that ends with its process: what
nobody holds is a leftover of one that was killed, and is swept away.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

_FRESH = re.compile(r"\..+\.tokd-[0-9a-f]{16}")


def write_new(path: Path, parts: Iterable[bytes]) -> None:
    """Write a new file, and wait until it is on the disk.

    Raises:
        FileExistsError
    """
    with os.fdopen(_make_file(path), "wb") as file:
        file.writelines(parts)
        _flush(file)


def replace(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file of ``parts``; as ``replacing``."""
    with replacing(path) as file:
        file.writelines(parts)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file beside its place and put it there in one step: a reader sees the old one or all of the new one.

    Raises:
        FileExistsError: the path is a device or a pipe, which would be gone for all programs.
    """
    if os.path.lexists(path) and not (path.is_symlink() or path.is_file() or path.is_dir()):
        raise FileExistsError(errno.EEXIST, "something that is not a regular file is there", str(path))
    fresh, descriptor = _claim(path, _make_file)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            _flush(file)
            fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def fresh_file(path: Path) -> tuple[Path, BinaryIO]:
    """Make a file beside ``path``, to be read, written and renamed; nobody sweeps it away while it is open."""
    fresh, descriptor = _claim(path, _make_file)
    return fresh, os.fdopen(descriptor, "w+b")


@contextlib.contextmanager
def fresh_directory(path: Path) -> Iterator[Path]:
    """Make a directory beside ``path``, to be renamed; what has its name in the end is removed."""
    fresh, descriptor = _claim(path, _make_directory)
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
        # A directory that may be written to need not be readable.
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
    """Wait until the names in a directory are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _claim(path: Path, make: Callable[[Path], int | None]) -> tuple[Path, int]:
    """Make something with a fresh name beside ``path``, and lock it; again if it was swept away before."""
    while True:
        fresh = path.with_name(f".{path.name[:64]}.tokd-{secrets.token_hex(8)}")
        descriptor = make(fresh)
        if descriptor is None:
            continue
        _lock(descriptor)
        if fresh.exists():
            return fresh, descriptor
        os.close(descriptor)


def _make_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def _make_directory(path: Path) -> int | None:
    """Make a directory and open it; ``None`` where it was gone by then."""
    path.mkdir()
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _lock(descriptor: int) -> None:
    # On a file system without locks ``sweep`` removes nothing either.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
