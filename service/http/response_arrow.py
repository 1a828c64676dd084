"""Bulk encoding in Apache Arrow's stream format: columns of texts, or of words, in, columns of ids and spans out.

Options of a request stand in the schema's metadata, under ``tokd``, as the JSON that ``/encode`` takes. pyarrow is an
extra, and large: it is imported with the first request that needs it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from service.errors import ServiceError, quote
from service.http import media
from service.http.response_json import Answer, Rows
from service.registry.served import ServedTokenizer
from service.schemas.requests import EncodeRequest

OPTIONS = b"tokd"
"""The key of the options in the metadata of a schema; answers have ``tokenizer`` there, and of chats ``template``."""

_FILE = b"ARROW1"
"""The first bytes of Arrow's other format, the file, where batches can be read in any order."""

_FORMS = (["text"], ["text", "text_pair"], ["text_pair"], ["words"], ["words", "word_labels"])
"""The columns of a request; one text for all second texts stands among the options."""

_COLUMNS = ("ids", "count", "spans", "type_ids", "sequence_ids", "word_ids", "overflow_of", "labels")
_WITH_NULLS = ("sequence_ids", "word_ids")


def is_there() -> bool:
    """Tell whether pyarrow is installed."""
    return find_spec("pyarrow") is not None


def _wrong(what: str) -> ServiceError:
    return ServiceError("invalid_arrow", f"the body is not the Arrow stream that is wanted: {what}")


def read(body: bytes, parse: Callable[[bytes], EncodeRequest], max_items: int) -> EncodeRequest:
    """Read a stream of texts, second texts or words into the request that it means; nothing in it is trusted.

    Args:
        parse: reads the options.

    Errors:
        ``invalid_arrow``, ``too_many_items``, ``invalid_type``, ``invalid_option``, ``unknown_field``, and those
        of ``parse``
    """
    import pyarrow as pa

    try:
        schema, columns = _read(pa, body, max_items)
    except StopIteration:
        raise _wrong("it holds no schema") from None
    except (pa.ArrowException, ValueError, OSError, EOFError, struct.error) as error:
        raise _wrong(str(error).splitlines()[0][:200] if str(error) else type(error).__name__) from error
    options = _options(schema, parse)
    given = options.model_fields_set & {"text", "messages", "words", *columns}
    if [*columns] == ["text_pair"] and isinstance(options.text, str):
        given -= {"text"}
    if given:
        name = min(given)
        column = name if name in columns else "text"
        raise ServiceError(
            "invalid_option", f"{name} stands among the options; texts come in the column {column}", name
        )
    return options.model_copy(update=columns)


def _options(schema: Any, parse: Callable[[bytes], EncodeRequest]) -> EncodeRequest:
    metadata: dict[bytes, bytes] = schema.metadata or {}
    # pyarrow makes a dictionary of the first of each key: options under a second would be read by nobody.
    if not schema.equals(schema.with_metadata(metadata), check_metadata=True):
        raise _wrong("its schema's metadata has a key twice")
    for key in metadata:
        if key != OPTIONS and key.strip().lower() == OPTIONS:
            # Other keys are those of whatever made the stream; this one would be options that nobody reads.
            name = quote(key.decode("latin-1"))
            detail = f"{name} in the schema's metadata is not the key of the options; write 'tokd'"
            raise ServiceError("unknown_field", detail, "metadata")
    try:
        return parse(metadata.get(OPTIONS, b"{}"))
    except ServiceError as error:
        if error.path is None:
            error.path = "metadata tokd"
            error.detail = f"the options in the schema's metadata are read as a body is: {error.detail}"
        raise


def _is_wanted(pa: Any, schema: Any) -> bool:
    """Tell whether columns are those of a request: of strings, or of lists of words or of labels."""
    types, strings = schema.types, (pa.string(), pa.large_string())
    if schema.names not in _FORMS:
        return False
    if schema.names[0] != "words":
        return {*types} <= {*strings, pa.string_view()}
    items = [of.value_type for of in types if pa.types.is_list(of) or pa.types.is_large_list(of)]
    return len(items) == len(types) and items[0] in strings and all(map(pa.types.is_signed_integer, items[1:]))


def _read(pa: Any, body: bytes, max_items: int) -> tuple[Any, dict[str, list[Any]]]:
    if body.startswith(_FILE):
        raise _wrong("it is a file of Arrow; write it in the stream format")
    source = pa.BufferReader(body)
    messages = pa.ipc.MessageReader.open_stream(source)
    first = messages.read_next_message()
    if first.type != "schema":
        # pyarrow checks a message as what it says it is and would read any as a schema: memory beside the body's.
        raise _wrong("it does not begin with a schema")
    schema = pa.ipc.read_schema(first)
    if not _is_wanted(pa, schema):
        found = ", ".join(f"{quote(field.name)}: {str(field.type)[:40]}" for field in list(schema)[:3]) or "no column"
        wanted = "one column, text, and text_pair behind it for pairs, of type string"
        wanted += ", or words, of lists of strings, and word_labels, of lists of integers"
        raise _wrong(f"it must have {wanted}, and has {found}; cast it to string")
    texts: dict[str, list[Any]] = {name: [] for name in schema.names}
    room = len(body)
    for message in _rest(messages):
        if message.type != "record batch":
            raise _wrong(f"it holds a {message.type}; send plain record batches")
        if _is_compressed(message.metadata.to_pybytes()):
            raise _wrong("its batches are compressed; write them with compression=None")
        batch = pa.ipc.read_record_batch(message, schema)
        if batch.num_rows > max_items - len(texts[schema.names[0]]):
            raise ServiceError("too_many_items", f"there are more than {max_items} items; send fewer", schema.names[0])
        batch.validate(full=True)
        for (name, taken), column in zip(texts.items(), batch.columns, strict=True):
            if column.type == pa.string_view():
                # Views may overlap: a small stream could stand for any number of bytes.
                room -= _viewed_bytes(column)
                if room < 0:
                    raise _wrong("its views of text overlap; cast the column to string")
            has_lists = schema.names[0] == "words"
            if column.null_count:
                wrong = "this must be a list" if has_lists else "this must be a string"
                raise ServiceError("invalid_type", wrong, f"{name}[{_first_null(column, len(taken))}]")
            if has_lists and column.flatten().null_count:
                rows = column.to_pylist()
                row = next(row for row, items in enumerate(rows) if None in items)
                wrong = "this must be a string" if name == "words" else "this must be a whole number"
                raise ServiceError("invalid_type", wrong, f"{name}[{len(taken) + row}][{rows[row].index(None)}]")
            taken.extend(column.to_pylist())
    end = source.tell()
    if end < len(body):
        raise _wrong(f"it ends at byte {end} and the body at {len(body)}; send one stream")
    return schema, texts


def _rest(messages: Any) -> Any:
    while True:
        try:
            yield messages.read_next_message()
        except StopIteration:
            return


def _viewed_bytes(column: Any) -> int:
    """Return how many bytes the views of a column stand for; each is 16 bytes and begins with its length."""
    views = np.frombuffer(column.buffers()[1], np.int32)[4 * column.offset :]
    return int(views[: 4 * len(column) : 4].sum(dtype=np.int64))


def _first_null(column: Any, before: int) -> int:
    return before + int(column.is_valid().to_pylist().index(False))


def _is_compressed(metadata: bytes) -> bool:
    """Look into the message's flatbuffer: a compressed batch would be unpacked to the size that it claims."""
    message = _number("<I", metadata, 0)
    header = _field(metadata, message, 2)
    if header is None:
        return True
    return _field(metadata, header + _number("<I", metadata, header), 3) is not None


def _field(data: bytes, table: int, number: int) -> int | None:
    """Return where a field of a flatbuffer's table lies, or ``None`` if it is not there."""
    vtable = table - _number("<i", data, table)
    slot = 4 + 2 * number
    offset = _number("<H", data, vtable + slot) if slot < _number("<H", data, vtable) else 0
    return table + offset if offset else None


def _number(form: str, data: bytes, at: int) -> int:
    if at < 0:
        raise struct.error("a flatbuffer points before its beginning")
    return int(struct.unpack_from(form, data, at)[0])


def write(
    loaded: ServedTokenizer, text: str | list[str], rows: Rows, tokens: int, *, template: str | None = None
) -> Answer:
    """Write one record batch with a row a text; arguments as of ``answers.write``.

    Errors:
        ``invalid_option``: a field that is not a column of this form is asked for.
    """
    import pyarrow as pa

    del text
    alien = next((name for name in rows if name not in _COLUMNS), None)
    if alien is not None:
        raise ServiceError(
            "invalid_option", f"{alien} is not a column; Arrow answers have {', '.join(_COLUMNS)}", "return"
        )
    columns = {name: _column(pa, name, list(values)) for name, values in rows.items()}
    hashes = {"tokenizer": loaded.hash} | ({} if template is None else {"template": template})
    batch = pa.record_batch(columns).replace_schema_metadata(hashes)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    block = np.frombuffer(sink.getvalue(), np.uint8)
    return Answer([block], tokens, loaded.hash, media.ARROW.encode("ascii"), loaded.headers)


def _column(pa: Any, name: str, values: list[Any]) -> Any:
    if name in ("count", "overflow_of"):
        return pa.array(values, pa.uint32())
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    if name == "labels":
        items = pa.array(np.concatenate([np.zeros(0, np.int64), *values]), pa.int64())
    elif name in _WITH_NULLS:
        items = pa.array([id for value in values for id in value[:]], pa.uint32())
    else:
        empty = np.zeros((0, 2) if name == "spans" else 0, np.uint32)
        whole = np.concatenate([empty, *values]).astype(np.uint32, copy=False)
        items = pa.array(whole.reshape(-1), pa.uint32())
    if name == "spans":
        items = pa.FixedSizeListArray.from_arrays(items, 2)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)
