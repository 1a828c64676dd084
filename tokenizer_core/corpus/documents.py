"""Read the documents of a file in blocks, each with its place; a file of lines can be read from a place on."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO

from tokenizer_core.corpus.files import Files
from tokenizer_core.corpus.reading import BLOCK, Meter, Source, blocks, failures, lines, rows
from tokenizer_core.errors import InvalidCorpus


@dataclass(frozen=True, slots=True)
class Block:
    """Some documents of one file.

    Attributes:
        content: whole lines of JSON, or texts.
        start: the unpacked byte at which the lines begin, or the number of the first row; -1 if the file is one
            document.
        lines_before: lines before them, or ``None`` if nobody has counted these.
    """

    source: Source
    content: bytes | list[str]
    start: int
    lines_before: int | None = None

    @property
    def size(self) -> int:
        """Bytes of the lines, or about those of the texts."""
        return len(self.content) if isinstance(self.content, bytes) else sum(map(len, self.content))


def documents(source: Source, files: Files, meter: Meter) -> Iterator[Block]:
    """Read the documents of a file in their order.

    Raises:
        InvalidCorpus: with the file, and the row.
    """
    if source.format == "counts":
        message = f"{source.name} holds counts, not texts; name files of text"
        raise InvalidCorpus(message, file=source.name, field="corpus")
    if source.format == "parquet":
        row = 0
        for texts in rows(source, files.column, meter):
            yield Block(source, texts, row)
            row += len(texts)
        meter.bytes += source.size or 0
    elif source.format == "jsonl":
        start = before = 0
        for block in lines(source, meter):
            yield Block(source, block, start, before)
            start += len(block)
            before += block.count(b"\n")
    else:
        yield Block(source, [_decoded(b"".join(blocks(source, meter)), source.name)], -1)


def lines_between(source: Source, start: int, stop: int, meter: Meter) -> Iterator[Block]:
    """Read the lines that begin at the bytes ``start`` to ``stop`` of a file that is not packed and can be sought."""
    with failures(source), source.open() as file:
        first, last = line_from(file, start), line_from(file, stop)
    cut = between(source, first, last)
    at, before = first, 0 if start == 0 else None
    for block in lines(cut, meter):
        yield Block(source, block, at, before)
        at += len(block)
        before = None if before is None else before + block.count(b"\n")


def between(source: Source, start: int, stop: int) -> Source:
    """Return the bytes ``start`` to ``stop`` of a file that is not packed and can be sought, as a file."""
    return dataclasses.replace(source, open=partial(_opened, source, start, stop), compression="")


def line_from(file: IO[bytes], place: int) -> int:
    """Return where the first line begins that begins at ``place`` or later, or the end of the file."""
    if place == 0:
        return 0
    at = file.seek(place - 1)
    while data := file.read(BLOCK):
        found = data.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(data)
    return at


def lines_before(source: Source, place: int) -> int:
    """Count the lines before a byte of a file that is not packed."""
    count = 0
    with failures(source), source.open() as file:
        while place > 0 and (data := file.read(min(BLOCK, place))):
            count += data.count(b"\n")
            place -= len(data)
    return count


def _opened(source: Source, start: int, stop: int) -> IO[bytes]:
    file = source.open()
    file.seek(start)
    return io.BufferedReader(_Slice(file, stop - start), BLOCK)


class _Slice(io.RawIOBase):
    """The next bytes of a file, up to a number of them."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self._file, self._left = file, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"{name}: byte {error.start} is not UTF-8"
        raise InvalidCorpus(message, code="invalid_utf8", file=name, byte=error.start) from None


def text_of_line(line: str, field: str, name: str, number: int) -> str:
    """Return the text in a field of a line of JSON.

    Raises:
        InvalidCorpus: there is no string.
    """
    try:
        # As a number with a point an integer may have any length.
        text = json.loads(line, parse_int=float)[field]
        if isinstance(text, str):
            return text
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise InvalidCorpus(f"line {number} of {name} has no string {field!r}", file=name, line=number)
