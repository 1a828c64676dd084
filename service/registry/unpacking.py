"""Unpack an archive of a tokenizer that a caller sent: ``tar``, ``tar.gz`` or ``zip``, within bounds.

Only what has the name of a tokenizer's file is written, each file once, below one directory, from the bytes that are
really there: a size that an archive claims is never believed. Links, devices and paths that lead elsewhere are refused.
"""

from __future__ import annotations

import errno
import gzip
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, cast

from service.errors import ServiceError, quote

MAX_FILES = 64
_MANY = f"it has more than {MAX_FILES} files"
_BLOCK_BYTES = 256 << 10
_NAME = re.compile(r"(?:(?:\./)?[\w][\w. +-]{0,150}/)?((?:additional_chat_templates/)?[\w][\w.-]{0,100})", re.ASCII)
"""A file, alone or in one directory with the others; and the templates, which have a directory of their own."""

_ZIP = b"PK"
_GZIP = b"\x1f\x8b"
_BROKEN = (
    *(tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError, KeyError, IndexError, OverflowError),
    *(zlib.error, lzma.LZMAError, struct.error, NotImplementedError),
)


def unpack(packed: Path, into: Path, most: int) -> None:
    """Write the files of an archive into a directory.

    Args:
        most: bytes that they may have together.

    Errors:
        ``artifact_unusable``: it is no such archive, or holds what no tokenizer has. ``body_too_large``: the files are
        larger than ``most``.
    """
    try:
        with packed.open("rb") as file:
            magic = file.read(2)
            file.seek(0)
            if magic == _ZIP:
                members = _zip_members(file)
            elif magic == _GZIP:
                members = _tar_members(cast("BinaryIO", _Bounded(gzip.GzipFile(fileobj=file), most)))
            else:
                members = _tar_members(cast("BinaryIO", _Bounded(file, most)))
            _write(members, into, most)
    except OSError as error:
        # For data that it cannot read gzip has its own error, without a number, and a damaged zip may name a place
        # before its beginning; any other error is the disk's.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise _unusable("it is not a whole tar, tar.gz or zip") from None
    except _BROKEN:
        raise _unusable("it is not a whole tar, tar.gz or zip") from None
    except (RuntimeError, zipfile.LargeZipFile):
        raise _unusable("a file in it is encrypted") from None


def _write(members: Iterator[tuple[str, IO[bytes]]], into: Path, most: int) -> None:
    left, parents = most, set[str]()
    for count, (name, content) in enumerate(members):
        found = _NAME.fullmatch(name)
        if found is None or ".." in name or count >= MAX_FILES:
            wrong = _MANY if found and count else f"it has {quote(name)}"
            raise _unusable(f"{wrong}; pack the files of one tokenizer, side by side or in one directory")
        parents.add(name.removeprefix("./").removesuffix(found[1]))
        place = into / found[1]
        place.parent.mkdir(exist_ok=True)
        if len(parents) > 1 or place.exists():
            raise _unusable(f"{quote(name)} is there twice, or not beside the others")
        with place.open("xb") as file:
            while block := content.read(_BLOCK_BYTES):
                left -= len(block)
                if left < 0:
                    raise _too_large(most)
                file.write(block)
    if not parents:
        raise _unusable("it is empty")


def _tar_members(stream: BinaryIO) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for count, member in enumerate(archive):
            # The library keeps them all.
            if count >= 2 * MAX_FILES:
                raise _unusable(_MANY)
            if member.isdir():
                continue
            content = archive.extractfile(member) if member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) else None
            if content is None or member.issparse():
                raise _unusable(f"{quote(member.name)} is not an ordinary file")
            yield member.name, content


def _zip_members(file: BinaryIO) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(_ShortReads(io.FileIO(file.fileno(), closefd=False))) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            kind = member.external_attr >> 28
            if kind not in (0, 0o10):
                raise _unusable(f"{quote(member.filename)} is not an ordinary file")
            with archive.open(member) as content:
                yield member.filename, content


class _ShortReads(io.BufferedReader):
    """A file whose parts are small: a zip's list of files is read at once, and each file of it takes much memory."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > 4 * _BLOCK_BYTES:
            raise _unusable(_MANY)
        return super().read(size)


class _Bounded:
    """A stream that ends with an error after so many bytes, and is never read in larger pieces than files are.

    A tar may claim a name or a list of attributes of any length, which the library would read at once.
    """

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, most: int) -> None:
        self._stream, self._most = stream, most
        # Heads and padding come on top of the files.
        self._left = most + (MAX_FILES + 8) * (64 << 10)

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise _too_large(self._most)
        return data


def _unusable(wrong: str) -> ServiceError:
    return ServiceError("artifact_unusable", f"the archive cannot be used: {wrong}")


def _too_large(most: int) -> ServiceError:
    return ServiceError("body_too_large", f"the tokenizer is larger than {most} bytes, the setting max_tokenizer_bytes")
