"""Read examples, which are objects, of JSON lines and Parquet files, each with its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

from tokenizer_core.corpus.documents import Block
from tokenizer_core.corpus.reading import Meter, Source, check_column, failures, needed, numbered_lines
from tokenizer_core.errors import InvalidCorpus, shown

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
    for number, line, byte in numbered_lines(source):
        try:
            value = object_of(line, byte)
        except InvalidCorpus as error:
            message = f"line {number} of {source.name}: {error.message}"
            raise InvalidCorpus(message, code=error.code, file=source.name, line=number, **error.place) from None
        yield Example(value, source.name, "line", number)


def object_of(line: bytes, byte: int) -> dict[str, Any]:
    """Read the object of JSON in a line that begins at a byte of its file.

    Raises:
        InvalidCorpus: with the reason as all readers of lines tell it; columns are bytes from 1 on.
    """
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        at = byte + error.start
        raise InvalidCorpus(f"byte {at} is not UTF-8", code="invalid_utf8", byte=at) from None
    except json.JSONDecodeError as error:
        reason, column = error.msg.removesuffix(" at"), len(error.doc[: error.pos].encode()) + 1
        raise InvalidCorpus(f"not JSON: {reason[:1].lower()}{reason[1:]} at column {column}") from None
    except RecursionError:
        raise InvalidCorpus("nested too deep") from None
    except ValueError:
        raise InvalidCorpus("a number is too long") from None
    if not isinstance(value, dict):
        raise InvalidCorpus(f"not an object: {shown(value)}")
    return value


def rows_as_json(source: Source, column: str, others: Sequence[str], meter: Meter) -> Iterator[Block]:
    """Read columns of a Parquet file, each row as an object of JSON.

    Args:
        others: columns that a file may have.

    Raises:
        InvalidCorpus: the file has no such column, or holds what JSON has not.
    """
    row = 0
    for rows in _rows(source, column, others):
        texts = []
        for value in rows:
            try:
                texts.append(json.dumps(value, ensure_ascii=False))
            except TypeError as error:
                at = row + len(texts)
                message = f"row {at} of {source.name} holds what is no JSON: {error}"
                raise InvalidCorpus(message, file=source.name, row=at) from None
        meter.unpack(sum(map(len, texts)))
        yield Block(source, texts, row)
        row += len(texts)
    meter.bytes += source.size or 0


def _of_rows(source: Source) -> Iterator[Example]:
    for number, value in enumerate(chain.from_iterable(_rows(source))):
        yield Example(value, source.name, "row", number)


def _rows(source: Source, column: str | None = None, others: Sequence[str] = ()) -> Iterator[list[dict[str, Any]]]:
    """Read the rows of a Parquet file, some at a time: all columns, or one and those of ``others`` that are there."""
    arrow, parquet = needed("pyarrow", "parquet"), needed("pyarrow.parquet", "parquet")
    with failures(source, arrow.ArrowException), source.open() as file:
        table = parquet.ParquetFile(file)
        chosen = None
        if column is not None:
            names = table.schema_arrow.names
            check_column(names, column, source.name)
            chosen = [name for name in (column, *others) if name in names]
        for batch in table.iter_batches(batch_size=_ROWS, columns=chosen):
            value_of = _reader(arrow.struct(batch.schema), arrow.types)
            try:
                rows = [value_of(row) for row in batch.to_pylist()]
            except ValueError as error:
                raise InvalidCorpus(
                    f"{source.name} has an object with a key twice: {error}", file=source.name
                ) from None
            yield rows


def _reader(kind: Any, types: Any) -> Callable[[Any], Any]:
    """Return what makes JSON of a value that pyarrow made of this type; ``types`` are pyarrow's.

    A member of a struct that is null is left out. All structs of a column have the members of all of them, so a null
    says that its object never had the member. Items of lists and values of maps have no such reason to be null.
    """
    if types.is_struct(kind):
        members = {field.name: _reader(field.type, types) for field in kind}
        return lambda value: value and {name: members[name](item) for name, item in value.items() if item is not None}
    if types.is_map(kind):
        of_item = _reader(kind.item_type, types)
        return lambda value: None if value is None else _object_of_pairs([(key, of_item(item)) for key, item in value])
    value_type = getattr(kind, "value_type", None)
    if value_type is None or types.is_dictionary(kind) or not types.is_nested(value_type):
        return lambda value: value
    of_value = _reader(value_type, types)
    return lambda value: value and [of_value(item) for item in value]


def _object_of_pairs(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a map with {len(pairs)} entries has {len(found)} keys")
    return found
