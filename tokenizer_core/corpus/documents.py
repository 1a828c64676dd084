"""Read the documents of files one batch after the other, each with its place."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tokenizer_core.corpus.files import Files
from tokenizer_core.corpus.reading import Meter, Source, blocks, lines, rows
from tokenizer_core.errors import InvalidCorpus


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents of one file.

    Attributes:
        file: its name.
        unit: what ``numbers`` count: lines from 1 on, rows from 0 on; ``None`` if the file is one document.
    """

    texts: list[str]
    file: str
    unit: Literal["line", "row"] | None
    numbers: list[int]

    def invalid(self, index: int, message: str, code: str | None = None) -> InvalidCorpus:
        """Make the error that says what is wrong with a document."""
        place: dict[str, Any] = {"file": self.file}
        where = self.file
        if self.unit is not None:
            place[self.unit] = self.numbers[index]
            where = f"{self.unit} {self.numbers[index]} of {self.file}"
        return InvalidCorpus(f"{where}: {message}", **({} if code is None else {"code": code}), **place)


def documents(source: Source, files: Files) -> Iterator[Documents]:
    """Read the documents of a file in their order.

    Raises:
        InvalidCorpus: with the file and the line or the row.
    """
    if source.format == "counts":
        message = f"{source.name} holds counts, not texts; name files of text"
        raise InvalidCorpus(message, file=source.name, field="corpus")
    if source.format == "parquet":
        row = 0
        for texts in rows(source, files.column, Meter()):
            yield Documents(texts, source.name, "row", list(range(row, row + len(texts))))
            row += len(texts)
    elif source.format == "jsonl":
        yield from _of_lines(source, files.field)
    else:
        data = b"".join(blocks(source, Meter()))
        yield Documents([_decoded(data, source.name)], source.name, None, [])


def _of_lines(source: Source, field: str) -> Iterator[Documents]:
    number = 0
    for block in lines(source, Meter()):
        texts, numbers = [], []
        for line in block.removesuffix(b"\n").split(b"\n"):
            number += 1
            if number == 1:
                # As in training, a byte order mark before the first line is not part of it.
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.strip():
                texts.append(text_of_line(_decoded(line, source.name, number), field, source.name, number))
                numbers.append(number)
        yield Documents(texts, source.name, "line", numbers)


def _decoded(data: bytes, name: str, line: int | None = None) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        place: dict[str, Any] = {"file": name, "byte": error.start}
        where = f"byte {error.start}"
        if line is not None:
            place["line"] = line
            where += f" of line {line}"
        raise InvalidCorpus(f"{name}: {where} is not UTF-8", code="invalid_utf8", **place) from None


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
