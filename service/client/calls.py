"""Every request of a client and the parser of its answer, shared by both kinds of client."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Unpack, cast

import numpy as np
import numpy.typing as npt
import orjson

from service.client.answers import Answer, Compared, Count, Decoded, Encoding, Parsed, Places, Rendered, TokenizerInfo
from service.client.arguments import SURROGATE, in_path, one, one_list, several
from service.client.call import ROW_FIELDS, Call, Rows, is_whole, json_rows
from service.client.options import (
    ChatOptions,
    CountChatOptions,
    DecodeOptions,
    EncodeChatOptions,
    EncodeOptions,
    OffsetsOptions,
    ParseOptions,
    StreamOptions,
    TextOptions,
)
from service.http.media import ARROW, OCTETS, ROW_LENGTHS
from tokenizer_core import InvalidOption, InvalidUnicode

IdArray = npt.NDArray[np.uint32]

T = TypeVar("T")
A = TypeVar("A", bound=Answer)

Ids = Sequence[int]
Targets = Sequence[Sequence[int]]
Chat = Sequence[Mapping[str, Any]]

_TEXTS = ("text", "text_pair")
_ROWS_OF_OCTETS = 512
"""Rows of an answer in bare bytes, whose lengths stand in a header."""


def rows_of(kind: type[A]) -> Callable[[Any], list[A]]:
    """Return the reader of an answer whose fields are lists with one entry a text."""

    def read(answer: dict[str, Any]) -> list[A]:
        head = {"tokenizer": answer.pop("tokenizer")}
        return [kind({**head, **dict(zip(answer, row, strict=True))}) for row in zip(*answer.values(), strict=True)]

    return read


def to_json(fields: Mapping[str, Any]) -> bytes:
    """Write fields as JSON, without those that are ``None``.

    Raises:
        InvalidOption, InvalidUnicode
    """
    return to_json_with_null({name: value for name, value in fields.items() if value is not None})


def to_json_with_null(fields: Mapping[str, Any]) -> bytes:
    """Write fields as JSON, with null for those that are ``None``.

    Raises:
        InvalidOption, InvalidUnicode: with the first field that cannot be sent.
    """
    try:
        return _json(fields)
    except TypeError:
        for field, value in fields.items():
            if field in ROW_FIELDS and isinstance(value, list | tuple):
                for number, row in enumerate(value):
                    _require_json({field: row}, field=f"{field}[{number}]")
            _require_json({str(field): value}, field=str(field))
        _require_json(fields)
        raise


def _require_json(fields: Mapping[str, Any], **place: str) -> None:
    try:
        _json(fields)
    except TypeError as error:
        if "surrogates" in str(error):
            raise InvalidUnicode(SURROGATE, **place) from error
        what = place.get("field", "a request")
        raise InvalidOption(f"{what} cannot be sent as JSON: {error.__cause__ or error}", **place) from error


def _json(fields: Mapping[str, Any]) -> bytes:
    written = orjson.dumps(fields, default=_as_list, option=orjson.OPT_SERIALIZE_NUMPY)
    if b"null" in written:
        _require_finite(fields)
    return written


def _require_finite(value: object) -> None:
    """Refuse numbers that JSON does not have: they would be sent as null."""
    inside = [value]
    while inside:
        value = inside.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise TypeError(f"JSON has no {value}")
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise TypeError("JSON has no nan and no inf")
        if isinstance(value, Mapping):
            inside += value.values()
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            inside += value


def _as_list(value: object) -> list[Any]:
    is_row = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
    if is_row and not isinstance(value, bytes | bytearray | memoryview):
        return list(cast("Sequence[Any]", value))
    raise TypeError(
        f"{type(value).__name__} is not a text, number, list or object; send text as str and ids as integers"
    )


def _renamed(body: dict[str, Any]) -> dict[str, Any]:
    if "return_" in body:
        raise InvalidOption("return_ is not an option; did you mean 'parts'?", field="return_")
    if "parts" in body:
        body["return"] = body.pop("parts")
    return body


def encode(text: str, **options: Unpack[EncodeOptions]) -> Call[Encoding]:
    """Turn a text into ids, and what else ``parts`` asks for."""
    return Call("POST", "/encode", Encoding, _single(text, options))


def encode_batch(texts: Sequence[str] | str, **options: Unpack[EncodeOptions]) -> Call[list[Encoding]]:
    """Turn many texts, or one beside each of a list in ``text_pair``, into ids, in as many requests as it takes."""
    return json_rows(Call("POST", "/encode", rows_of(Encoding), _many(texts, options)), _TEXTS)


def encode_words(words: Sequence[str], **options: Unpack[EncodeOptions]) -> Call[Encoding]:
    """Turn a text that is split into words into ids, with the word of each."""
    given = one_list(several(words, "words"), "words", "encode_words_batch takes several")
    if not len(given):
        raise InvalidOption("words is empty; encode_words_batch takes [[]]", field="words")
    return Call("POST", "/encode", Encoding, _renamed({"words": given, **options}))


def encode_words_batch(texts: Sequence[Sequence[str]], **options: Unpack[EncodeOptions]) -> Call[list[Encoding]]:
    """Turn many texts that are split into words into ids, with the word of each."""
    call = Call("POST", "/encode", rows_of(Encoding), _renamed({"words": several(texts), **options}))
    return json_rows(call, ("words", "word_labels"))


def encode_ids(text: str, **options: Unpack[EncodeOptions]) -> Call[IdArray]:
    """Turn a text into an array of ids, which travel as bare bytes: what large texts are sent for."""
    _refuse_windows(options)
    return Call("POST", "/encode", _ids, _single(text, options), OCTETS)


def encode_ids_batch(texts: Sequence[str] | str, **options: Unpack[EncodeOptions]) -> Call[list[IdArray]]:
    """Turn texts into arrays of ids, up to 512 in a request."""
    _refuse_windows(options)

    def read(answer: Any) -> list[IdArray]:
        ids, lengths = _ids(answer), [int(length) for length in answer.headers[ROW_LENGTHS].split(",") if length]
        if sum(lengths) != len(ids) or min(lengths, default=0) < 0:
            raise ValueError("the rows are not the ids")
        return np.split(ids, np.cumsum(lengths)[:-1]) if lengths else []

    return json_rows(Call("POST", "/encode", read, _many(texts, options), OCTETS), _TEXTS, most=_ROWS_OF_OCTETS)


def _refuse_windows(options: EncodeOptions) -> None:
    if options.get("stride") is not None:
        wrong = "ids alone do not say which text a window is of; encode_batch and encode_arrow take stride"
        raise InvalidOption(wrong, field="stride")


def _single(text: str, options: EncodeOptions) -> dict[str, Any]:
    if _has_several(options):
        raise InvalidOption("text_pair is one text; the method that ends in _batch takes several", field="text_pair")
    return _renamed({"text": one(text), **options})


def _many(texts: Sequence[str] | str, options: EncodeOptions) -> dict[str, Any]:
    is_shared = isinstance(texts, str) and _has_several(options)
    return _renamed({"text": texts if is_shared else several(texts), **options})


def _has_several(options: EncodeOptions) -> bool:
    return not isinstance(options.get("text_pair", ""), str | None)


def _ids(answer: Any) -> IdArray:
    return np.frombuffer(answer.content, "<u4")


def encode_arrow(texts: Sequence[str] | str, **options: Unpack[EncodeOptions]) -> Call[Any]:
    """Turn many texts, or pairs, into a ``pyarrow.Table`` with a column for each of ``parts``: ``ids``, ``count``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # One text for all second texts, or one second text, stands among the options.
    head, columns = _many(texts, options), {}
    if not isinstance(head["text"], str):
        columns["text"] = _column_of(head.pop("text"), "texts")
    if _has_several(options):
        columns["text_pair"] = _column_of(head.pop("text_pair"), "text_pair")
    if len({*map(len, columns.values())}) > 1:
        raise InvalidOption("there are not as many second texts as texts", field="text_pair")
    table = pa.table(columns, metadata={"tokd": to_json(head)})
    has_windows = options.get("stride") is not None

    def part(start: int, end: int) -> Call[Any]:
        return _arrow_call(table.slice(start, end - start), first=start, has_windows=has_windows)

    if is_whole(options):
        return part(0, len(table))
    lengths = [pc.binary_length(column).to_pylist() for column in table.columns]
    sizes = [sum(length or 0 for length in row) for row in zip(*lengths, strict=True)]
    return replace(part(0, 0), rows=Rows(sizes, part, pa.concat_tables))


def _column_of(given: Any, field: str) -> Any:
    import pyarrow as pa

    try:
        if isinstance(given, pa.Array | pa.ChunkedArray):
            held = given.type.value_type if pa.types.is_dictionary(given.type) else given.type
            if held not in (pa.string(), pa.large_string(), pa.string_view(), pa.null()):
                # Arrow would write numbers as text.
                raise TypeError(f"they are of the type {held}")
            return given.cast(pa.large_string())
        return pa.array(given, pa.large_string())
    except UnicodeEncodeError as error:
        raise InvalidUnicode(SURROGATE, field=field) from error
    except (TypeError, ValueError) as error:
        raise InvalidOption(f"{field} are strings, and no column of them can be made: {error}", field=field) from error


def _arrow_call(texts: Any, *, first: int, has_windows: bool) -> Call[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    def read(answer: Any) -> Any:
        try:
            table = pa.ipc.open_stream(answer.content).read_all()
            # Else a damaged table crashes whoever reads it.
            table.validate(full=True)
            if "overflow_of" in table.column_names:
                numbers = pc.add(table["overflow_of"], pa.scalar(first, pa.uint32()))
                table = table.set_column(table.column_names.index("overflow_of"), "overflow_of", numbers)
        except (pa.ArrowException, OSError) as error:
            raise ValueError("the answer is not a stream of Arrow") from error
        # A text has one row, or at least one with windows.
        if table.num_rows < texts.num_rows or (table.num_rows > texts.num_rows and not has_windows):
            raise ValueError("the answer is cut short")
        return table

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, texts.schema) as stream:
        stream.write_table(texts)
    return Call("POST", "/encode", read, sink.getvalue().to_pybytes(), ARROW)


def _chat(messages: Chat) -> Chat:
    return one_list(messages, "messages", "send each chat by itself")


def render(messages: Chat, **options: Unpack[ChatOptions]) -> Call[Rendered]:
    """Render a chat by the tokenizer's template, and say what of the text the caller wrote."""
    return Call("POST", "/render", Rendered, {"messages": _chat(messages), **options})


def encode_chat(messages: Chat, **options: Unpack[EncodeChatOptions]) -> Call[Encoding]:
    """Turn a chat into ids; what its fields hold is text, never a control token."""
    return Call("POST", "/encode", Encoding, _renamed({"messages": _chat(messages), **options}))


def count_chat(messages: Chat, **options: Unpack[CountChatOptions]) -> Call[Count]:
    """Say how many ids a chat has."""
    return Call("POST", "/count", Count, {"messages": _chat(messages), **options})


def count(text: str, **options: Unpack[TextOptions]) -> Call[Count]:
    """Say how many ids a text has."""
    return Call("POST", "/count", Count, {"text": one(text), **options})


def count_batch(texts: Sequence[str], **options: Unpack[TextOptions]) -> Call[list[Count]]:
    """Say how many ids each of many texts has."""
    return json_rows(Call("POST", "/count", rows_of(Count), {"text": several(texts), **options}), _TEXTS)


def offsets(text: str, target_spans: Targets | None = None, **options: Unpack[OffsetsOptions]) -> Call[Places]:
    """Return the span of every token, and the tokens that overlap the target spans."""
    return Call("POST", "/offsets", Places, {"text": one(text), "target_spans": target_spans, **options})


def offsets_batch(
    texts: Sequence[str], target_spans: Sequence[Targets] | None = None, **options: Unpack[OffsetsOptions]
) -> Call[list[Places]]:
    """Return the span of every token of many texts."""
    body = {"text": several(texts), "target_spans": target_spans, **options}
    return json_rows(Call("POST", "/offsets", rows_of(Places), body), (*_TEXTS, "target_spans"))


def compare(
    tokenizers: Sequence[str], texts: Mapping[str, str | Sequence[str]] | None = None, *, context: int | None = None
) -> Call[Compared]:
    """Measure tokenizers on the same texts; by default two sentences in twenty languages."""
    named = several(tokenizers, "tokenizers")
    return Call("POST", "/compare", Compared, {"tokenizers": named, "texts": texts, "context": context})


def decode(ids: Ids, **options: Unpack[StreamOptions]) -> Call[Decoded]:
    """Turn ids into text; with ``pending`` as a part of a stream."""
    return Call("POST", "/decode", Decoded, {"ids": one_list(ids, "ids", "decode_batch takes several"), **options})


def decode_batch(ids: Sequence[Ids], **options: Unpack[DecodeOptions]) -> Call[list[Decoded]]:
    """Turn many lists of ids into texts."""
    given: Any = several(ids, "ids")
    if isinstance(given, Sequence | np.ndarray) and len(given) and isinstance(given[0], int | np.integer):
        raise InvalidOption("ids is a sequence of lists of ids, not one list", field="ids")
    return json_rows(Call("POST", "/decode", rows_of(Decoded), {"ids": ids, **options}), ("ids",))


def parse(outputs: Sequence[str | Ids], **options: Unpack[ParseOptions]) -> Call[list[Parsed]]:
    """Read the messages that a model wrote, each as text or as ids."""
    given: Any = several(outputs, "outputs")
    rows = [{"text": each} if isinstance(each, str) else {"ids": each} for each in given]

    def read(answer: Any) -> list[Parsed]:
        return [Parsed({"tokenizer": answer["tokenizer"], **each}) for each in answer["outputs"]]

    return Call("POST", "/parse", read, {"outputs": rows, **options})


def tokenizers() -> Call[list[TokenizerInfo]]:
    """List the tokenizers that are loaded."""
    return Call("GET", "/tokenizers", lambda answer: [TokenizerInfo(each) for each in answer["tokenizers"]])


def tokenizer(reference: str) -> Call[TokenizerInfo]:
    """Describe one tokenizer, by name, hash or ``name@hash``."""
    return Call("GET", f"/tokenizers/{in_path(reference, 'reference')}", TokenizerInfo)


def add_tokenizer(name: str, source: str) -> Call[TokenizerInfo]:
    """Have the server serve another tokenizer: of a path of its own, of ``hf:ORG/NAME``, or one that it trained."""
    return Call("POST", "/tokenizers", TokenizerInfo, {"name": name, "source": source})


def upload_tokenizer(name: str, archive: bytes) -> Call[TokenizerInfo]:
    """Have the server serve what a ``tar``, ``tar.gz`` or ``zip`` holds."""
    # The server looks at the bytes: the three differ in them.
    headers = {"content-type": "application/x-tar"}
    return Call("POST", f"/tokenizers?name={in_path(name, 'name')}", TokenizerInfo, archive, headers=headers)


def point_alias(alias: str, tokenizer: str) -> Call[TokenizerInfo]:
    """Let an alias mean a tokenizer from now on."""
    return Call("PUT", f"/tokenizers/{in_path(alias, 'alias')}", TokenizerInfo, {"tokenizer": tokenizer})


def remove_tokenizer(name: str) -> Call[None]:
    """Remove a tokenizer that was added, or an alias."""
    return Call("DELETE", f"/tokenizers/{in_path(name, 'name')}", lambda _: None)
