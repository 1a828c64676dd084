"""Read examples, which are objects, of JSON lines and Parquet files, each with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tokenizer_core.corpus.documents import Block
from tokenizer_core.corpus.reading import Meter, Source, check_column, failures, needed, numbered_lines
from tokenizer_core.errors import InvalidCorpus

_ROWS = 256
"""Rows of a Parquet file that are held at a time."""


class Example(NamedTuple):
    """An object of a file.

    Attributes:
        value: the object.
        file: the file's name.
        unit: what ``number`` counts: lines from 1 on, or rows from 0 on.
    """

    value: Mapping[str, Any]
    file: str
    unit: Literal["line", "row"]
    number: int

    @property
    def where(self) -> str:
        """The place in words."""
        return f"{self.unit} {self.number} of {self.file}"

    @property
    def place(self) -> dict[str, Any]:
        """The place for an error."""
        return {"file": self.file, self.unit: self.number}


def examples(source: Source) -> Iterator[Example]:
    """Read the examples of a file in their order; empty lines are none.

    Raises:
        InvalidCorpus: with the file and the line: it is no object of JSON, or the file is neither lines nor Parquet.
    """
    match source.format:
        case "jsonl":
            yield from _of_lines(source)
        case "parquet":
            yield from _of_rows(source)
        case _:
            message = f"{source.name} is no file of examples; name files of JSON lines or Parquet"
            raise InvalidCorpus(message, file=source.name, field="corpus")


def _of_lines(source: Source) -> Iterator[Example]:
    for number, line in numbered_lines(source):
        value = object_of(line)
        if value is None:
            message = f"line {number} of {source.name} is no object of JSON"
            raise InvalidCorpus(message, file=source.name, line=number)
        yield Example(value, source.name, "line", number)


def object_of(text: str | bytes) -> dict[str, Any] | None:
    """Read an object of JSON, or return ``None`` for what is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def rows_as_json(source: Source, column: str, others: Sequence[str], meter: Meter) -> Iterator[Block]:
    """Read columns of a Parquet file, each row as an object of JSON.

    Args:
        others: columns that a file may have.

    Raises:
        InvalidCorpus: the file has no such column, or holds what JSON has not.
    """
    arrow, parquet = needed("pyarrow", "parquet"), needed("pyarrow.parquet", "parquet")
    row = 0
    with failures(source, arrow.ArrowException), source.open() as file:
        table = parquet.ParquetFile(file)
        names = table.schema_arrow.names
        check_column(names, column, source.name)
        chosen = [name for name in (column, *others) if name in names]
        for batch in table.iter_batches(batch_size=_ROWS, columns=chosen):
            texts = []
            for value in batch.to_pylist():
                try:
                    texts.append(json.dumps({name: value[name] for name in chosen}, ensure_ascii=False))
                except TypeError as error:
                    at = row + len(texts)
                    message = f"row {at} of {source.name} holds what is no JSON: {error}"
                    raise InvalidCorpus(message, file=source.name, row=at) from None
            meter.unpack(sum(map(len, texts)))
            yield Block(source, texts, row)
            row += len(texts)
    meter.bytes += source.size or 0


def _of_rows(source: Source) -> Iterator[Example]:
    arrow, parquet = needed("pyarrow", "parquet"), needed("pyarrow.parquet", "parquet")
    number = 0
    with failures(source, arrow.ArrowException), source.open() as file:
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=_ROWS):
            for value in batch.to_pylist():
                yield Example(value, source.name, "row", number)
                number += 1
