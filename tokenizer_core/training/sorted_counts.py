"""Counts of a run on the disk: sorted sections, of which those of one number are merged as streams.

A file is the sections that the kernel writes, from the first number to the last; then a line of JSON that says how the
counts were made and how long each section is; then the length of that line and its checksum, CRC 32, as little-endian
32-bit numbers. So memory holds one section of every file at a time, however many files there are.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from tokenizer_core._kernel import COUNT_SECTIONS, PieceCounts, Reduced, merge_sections
from tokenizer_core.atomic_files import fresh_directory, replacing
from tokenizer_core.errors import InvalidCorpus
from tokenizer_core.training.counts import MAX_SKIPPED_SHOWN, Counts, Dropped

FORMAT = "tokd sorted counts 1"

MAX_OPEN = 64
"""Files that stay open while they are read."""

_SUMS = ("documents", "bytes", "unpacked", "skipped")

_END = struct.Struct("<II")


def save(path: Path, counts: Counts, **more: Any) -> None:
    """Write counts; the file appears whole or not at all.

    Args:
        more: for its line of JSON.
    """
    _write(path, iter(counts.pieces.sections()), counts.told() | more)


def read_header(path: Path) -> dict[str, Any] | None:
    """Return how counts were made; ``None`` if there are none, or if their file is damaged at its end."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _END.size))
            end = file.read()
            length, checksum = _END.unpack(end) if len(end) == _END.size else (0, 0)
            file.seek(max(0, size - _END.size - length))
            line = file.read(length)
    except FileNotFoundError:
        return None
    if not line or zlib.crc32(line) != checksum:
        return None
    header: dict[str, Any] = json.loads(line)
    whole = header.get("format") == FORMAT and sum(header["sections"]) + length + _END.size == size
    return header if whole else None


def sums(paths: Sequence[Path]) -> dict[str, Any]:
    """Return what was counted of several files together.

    Raises:
        InvalidCorpus: a file is damaged.
    """
    headers = []
    for path in paths:
        if (header := read_header(path)) is None:
            raise _damaged(path)
        headers.append(header)
    numbers = {name: sum(header.get(name, 0) for header in headers) for name in _SUMS}
    first = [place for header in headers for place in header.get("first_skipped", ())]
    return numbers | {"first_skipped": first[:MAX_SKIPPED_SHOWN]}


def merge(paths: Sequence[Path], target: Path, told: dict[str, Any], numbers: Sequence[int] | None = None) -> None:
    """Add up files into one.

    Args:
        told: for its line of JSON.
        numbers: of the sections that are wanted; by default all.

    Raises:
        InvalidCorpus: a file is damaged.
    """
    wanted = range(COUNT_SECTIONS) if numbers is None else set(numbers)

    def sections(files: Sequence[_File]) -> Iterator[bytes]:
        for number in range(COUNT_SECTIONS):
            with _named(files):
                yield merge_sections(number, [each.section(number) for each in files] if number in wanted else [])

    with _opened(paths) as files:
        _write(target, sections(files), told)


def reduce(
    paths: Sequence[Path],
    max_piece_length: int | None,
    min_count: int,
    pause: Callable[[], None],
    *,
    has_languages: bool = False,
) -> tuple[PieceCounts, tuple[Dropped, ...]]:
    """Add up files into what is learned from, and say what ``min_count`` leaves out of each script.

    Args:
        max_piece_length: pieces with more bytes are left out.
        min_count: pieces that occur less often in all files together are left out.
        pause: called between two sections.

    Raises:
        InvalidCorpus: a file is damaged.
    """
    reduced = Reduced(max_piece_length, min_count, has_languages)
    with _opened(paths) as files:
        for number in range(COUNT_SECTIONS):
            pause()
            with _named(files):
                reduced.add(number, [each.section(number) for each in files])
    dropped = tuple(Dropped(*each) for each in reduced.dropped)
    return reduced.finish(), dropped


def bounded(counts: Counts, min_count: int) -> Counts:
    """Leave out the pieces of counts in memory that occur less often."""
    reduced = Reduced(None, min_count, counts.has_languages)
    for number, section in enumerate(counts.pieces.sections()):
        reduced.add(number, [section])
    dropped = tuple(Dropped(*each) for each in reduced.dropped)
    return replace(counts, pieces=reduced.finish(), min_count=min_count, dropped=dropped)


@dataclass(slots=True)
class Spills:
    """Counts that left memory before all of their shard was counted."""

    directory: Path
    paths: list[Path] = field(default_factory=list)

    def add(self, pieces: PieceCounts) -> None:
        """Write what was counted until now."""
        path = self.directory / f"{len(self.paths)}.sorted"
        _write(path, iter(pieces.sections()), {})
        self.paths.append(path)

    def save(self, path: Path, counts: Counts, **more: Any) -> None:
        """Write the counts of all of the shard, of which ``counts`` has the last."""
        if not self.paths:
            save(path, counts, **more)
            return
        self.add(counts.pieces)
        merge(self.paths, path, counts.told() | more)


@contextmanager
def spills_for(path: Path) -> Iterator[Spills]:
    """Make room for what leaves memory before a file is whole; what a killed process leaves there is swept away."""
    with fresh_directory(path) as directory:
        yield Spills(directory)


class _File:
    """A file of sorted counts.

    Args:
        file: it is open; otherwise it is opened for each section.
    """

    def __init__(self, path: Path, file: BinaryIO | None) -> None:
        header = read_header(path)
        if header is None:
            raise _damaged(path)
        self.path, self._file = path, file
        self._lengths: list[int] = header["sections"]
        self._starts = [0]
        for length in self._lengths:
            self._starts.append(self._starts[-1] + length)

    def section(self, number: int) -> bytes:
        if self._file is not None:
            return self._read(self._file, number)
        with self.path.open("rb") as file:
            return self._read(file, number)

    def _read(self, file: BinaryIO, number: int) -> bytes:
        file.seek(self._starts[number])
        return file.read(self._lengths[number])


@contextmanager
def _opened(paths: Sequence[Path]) -> Iterator[list[_File]]:
    """Open files for as long as they are read, if they are few enough for a process."""
    with ExitStack() as stack:
        try:
            open_ones = [stack.enter_context(path.open("rb")) if len(paths) <= MAX_OPEN else None for path in paths]
        except FileNotFoundError as error:
            raise _damaged(Path(error.filename)) from error
        yield [_File(path, file) for path, file in zip(paths, open_ones, strict=True)]


@contextmanager
def _named(files: Sequence[_File]) -> Iterator[None]:
    """Name the file in an error of the kernel, whose place is its number, called ``row``."""
    try:
        yield
    except InvalidCorpus as error:
        raise _damaged(files[error.place["row"]].path) from error
    except FileNotFoundError as error:
        raise _damaged(Path(error.filename)) from error


def _damaged(path: Path) -> InvalidCorpus:
    return InvalidCorpus(f"the counts in {path} are damaged or gone; remove that file, and count again", file=str(path))


def _write(path: Path, sections: Iterator[bytes], told: dict[str, Any]) -> None:
    with replacing(path) as file:
        lengths = [file.write(section) for section in sections]
        _write_end(file, told | {"format": FORMAT, "sections": lengths})


def _write_end(file: BinaryIO, header: dict[str, Any]) -> None:
    line = json.dumps(header, ensure_ascii=False, sort_keys=True).encode() + b"\n"
    file.write(line)
    file.write(_END.pack(len(line), zlib.crc32(line)))
