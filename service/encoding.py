"""Requests to answers: call the tokenizer and write JSON bytes. No Python integer is made for an id on the way out."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from service.errors import ServiceError, from_core
from service.registry import Loaded
from service.schemas import CountRequest, DecodeRequest, EncodeRequest, OffsetsRequest, TextRequest
from tokenizer_core import Row, TokdError, Tokenizer, padded_width, shape_rows

Ids = npt.NDArray[np.uint32]
Array = npt.NDArray[Any]

IGNORED_LABEL = -100
_PLAIN = ("ids", "count")

BLOCK_BYTES = 256 << 10
"""What is handed to a connection in one go."""

SLICE = 1 << 16
"""Values that are written to JSON while no other thread can run: a millisecond or less."""


class Answer(NamedTuple):
    """Ready bytes in blocks, which are never joined when there are many, and what the metrics count."""

    blocks: list[bytes]
    tokens: int
    tokenizer: str


def encode(loaded: Loaded, request: EncodeRequest, *, max_ids: int, threads: int) -> Answer:
    """Answer ``/encode``.

    Args:
        max_ids: what padding may bring the request to.
        threads: how many may work on a list of texts.
    """
    text = request.text
    if request.parts == _PLAIN and isinstance(text, str) and _is_unshaped(request):
        try:
            ids, count = loaded.tokenizer.encode_json(
                text, special_tokens=request.special_tokens, add_special_tokens=request.add_special_tokens
            )
        except TokdError as error:
            raise _about_text(error, request) from error
        if len(ids) > BLOCK_BYTES:
            return Answer([loaded.head + b'"ids":', ids, b',"count":%d}' % count], count, loaded.hash)
        return Answer([b'%b"ids":%b,"count":%d}' % (loaded.head, ids, count)], count, loaded.hash)
    if request.parts == _PLAIN and _is_unshaped(request):
        rows = _encode_rows(loaded.tokenizer, request, threads)
        counts = [len(row) for row in rows]
        return _answer(loaded, text, {"ids": rows, "count": counts}, sum(counts))
    return _encode_shaped(loaded, request, max_ids, threads)


def _is_unshaped(request: EncodeRequest) -> bool:
    return request.max_length is None and request.padding == "none" and request.pad_to_multiple_of is None


def _encode_shaped(loaded: Loaded, request: EncodeRequest, max_ids: int, threads: int) -> Answer:
    tokenizer = loaded.tokenizer
    spans: list[Array] = []
    if "spans" in request.parts:
        encoded = [_offsets(tokenizer, request, index, "char") for index in range(len(_texts(request)))]
        rows, spans = [each.ids for each in encoded], [each.spans for each in encoded]
    else:
        rows = _encode_rows(tokenizer, request, threads)
    framed = request.add_special_tokens
    try:
        _refuse_much_padding(rows, request, max_ids)
        shaped = shape_rows(
            rows,
            max_length=request.max_length,
            truncation_side=request.truncation_side or tokenizer.settings.truncation_side,
            padding=request.padding,
            padding_side=request.padding_side or tokenizer.settings.padding_side,
            pad_to_multiple_of=request.pad_to_multiple_of,
            pad_id=tokenizer.pad_id,
            prefix=len(tokenizer.config.prefix_ids) if framed else 0,
            suffix=len(tokenizer.config.suffix_ids) if framed else 0,
        )
    except TokdError as error:
        raise from_core(error) from error
    fields: dict[str, list[Any]] = {}
    for part in dict.fromkeys(request.parts):
        if part == "spans":
            fields[part] = [row.carry(own) for row, own in zip(shaped, spans, strict=True)]
        else:
            fields[part] = [_PARTS[part](tokenizer, row) for row in shaped]
    return _answer(loaded, request.text, fields, sum(row.count for row in shaped))


def _refuse_much_padding(rows: Sequence[Ids], request: EncodeRequest, max_ids: int) -> None:
    lengths = [len(row) if request.max_length is None else min(len(row), request.max_length) for row in rows]
    width = padded_width(
        lengths,
        padding=request.padding,
        max_length=request.max_length,
        pad_to_multiple_of=request.pad_to_multiple_of,
    )
    if width * len(rows) > max(max_ids, sum(lengths)):
        raise ServiceError(
            "too_many_ids",
            f"{len(rows)} rows padded to {width} are more than {max_ids} ids; pad to less or send fewer texts",
            "padding",
        )


def _labels(row: Row) -> Array:
    labels = row.ids.astype(np.int64)
    labels[: row.pad_left] = IGNORED_LABEL
    labels[len(labels) - row.pad_right :] = IGNORED_LABEL
    return labels


_PARTS: dict[str, Callable[[Tokenizer, Row], Any]] = {
    "ids": lambda _, row: row.ids,
    "count": lambda _, row: row.count,
    "tokens": lambda tokenizer, row: token_texts(tokenizer, row.ids),
    "attention_mask": lambda _, row: row.attention_mask(),
    "special_tokens_mask": lambda _, row: row.special_tokens_mask(),
    "position_ids": lambda _, row: row.position_ids(),
    "labels": lambda _, row: _labels(row),
}
"""How each field of a shaped row is made, but for its spans."""


def count(loaded: Loaded, request: CountRequest) -> Answer:
    """Answer ``/count``."""
    counts = []
    for index, text in enumerate(_texts(request)):
        try:
            counts.append(
                loaded.tokenizer.count(
                    text, special_tokens=request.special_tokens, add_special_tokens=request.add_special_tokens
                )
            )
        except TokdError as error:
            raise _about_text(error, request, index) from error
    return _answer(loaded, request.text, {"count": counts}, sum(counts))


def offsets(loaded: Loaded, request: OffsetsRequest) -> Answer:
    """Answer ``/offsets``."""
    texts = _texts(request)
    targets = _targets(request, len(texts))
    encoded = [_offsets(loaded.tokenizer, request, index, request.unit) for index in range(len(texts))]
    fields: dict[str, Any] = {"ids": [each.ids for each in encoded], "spans": [each.spans for each in encoded]}
    if request.tokens:
        fields["tokens"] = [token_texts(loaded.tokenizer, each.ids) for each in encoded]
    if targets is not None:
        fields["mask"] = [overlaps(each.spans, wanted) for each, wanted in zip(encoded, targets, strict=True)]
    return _answer(loaded, request.text, fields, sum(len(each.ids) for each in encoded))


def overlaps(spans: Array, targets: Array) -> npt.NDArray[np.uint8]:
    """Return 1 for every span that shares at least one position with a target; spans and targets are half-open.

    Args:
        spans: shape (n, 2).
        targets: shape (m, 2), in any order, overlapping or not.
    """
    mask = np.zeros(len(spans), np.uint8)
    targets = targets[targets[:, 0] < targets[:, 1]]
    if not len(targets):
        return mask
    targets = targets[np.argsort(targets[:, 0], kind="stable")]
    # Of all targets that begin before a span ends, the one that reaches furthest decides.
    reach = np.maximum.accumulate(targets[:, 1])
    before = np.searchsorted(targets[:, 0], spans[:, 1], side="left")
    mask[(before > 0) & (reach[before - 1] > spans[:, 0]) & (spans[:, 0] < spans[:, 1])] = 1
    return mask


def decode(loaded: Loaded, request: DecodeRequest, *, max_ids: int) -> Answer:
    """Answer ``/decode``; ``max_ids`` holds for all lists together."""
    tokenizer, ids = loaded.tokenizer, request.ids
    nested = bool(ids) and isinstance(ids[0], list)
    if request.pending is not None:
        if nested:
            raise ServiceError("invalid_option", "pending is for one stream; send one list of ids", "pending")
        return _decode_stream(loaded, request, request.pending)
    if request.final:
        raise ServiceError("invalid_option", "final is for a stream; send pending with it", "final")
    rows: Sequence[Any] = ids if nested else [ids]
    total = sum(map(len, rows))
    if total > max_ids:
        raise ServiceError("too_many_ids", f"there are more than {max_ids} ids; send fewer in one request", "ids")
    texts = []
    for index, row in enumerate(rows):
        try:
            texts.append(tokenizer.decode(_array(row), skip_special_tokens=request.skip_special_tokens))
        except TokdError as error:
            raise from_core(error, f"ids[{index}]" if nested else "ids") from error
    text = orjson.dumps(texts if nested else texts[0])
    return Answer([b'%b"text":%b}' % (loaded.head, text)], total, loaded.hash)


def _decode_stream(loaded: Loaded, request: DecodeRequest, pending: str) -> Answer:
    held = bytes.fromhex(pending)
    try:
        incomplete = codecs.utf_8_decode(held, "strict", False)[1] == 0
    except UnicodeDecodeError:
        incomplete = False
    if not incomplete:
        raise ServiceError(
            "invalid_value", "pending is no unfinished character; send what the answer before gave", "pending"
        )
    ids: Any = request.ids
    try:
        data = held + loaded.tokenizer.decode_bytes(_array(ids), skip_special_tokens=request.skip_special_tokens)
    except TokdError as error:
        raise from_core(error, "ids") from error
    text, used = codecs.utf_8_decode(data, "replace", request.final)
    body = b'%b"text":%b,"pending":"%b"}' % (loaded.head, orjson.dumps(text), data[used:].hex().encode("ascii"))
    return Answer([body], len(ids), loaded.hash)


def _array(ids: list[int]) -> Ids:
    """Make an array of ids: the kernel reads it five times as fast as a list, and without the interpreter's lock."""
    return np.array(ids, np.uint32)


def token_texts(tokenizer: Tokenizer, ids: Ids) -> list[str]:
    """Return the text of every id alone; what is no whole character shows U+FFFD."""
    unique, places = np.unique(ids, return_inverse=True)
    texts = [tokenizer.token_bytes(id).decode("utf-8", "replace") for id in unique.tolist()]
    return [texts[place] for place in places.tolist()]


def _texts(request: TextRequest) -> list[str]:
    return [request.text] if isinstance(request.text, str) else request.text


def _about_text(error: TokdError, request: TextRequest, index: int = 0) -> ServiceError:
    """Place an error of the core in the text it is about."""
    if error.code == "reserved_literal":
        start, end = error.place["span"]
        error.place["literal"] = _texts(request)[index][start:end]
    return from_core(error, "text" if isinstance(request.text, str) else f"text[{index}]")


def _encode_rows(tokenizer: Tokenizer, request: TextRequest, threads: int) -> list[Ids]:
    try:
        return list(
            tokenizer.encode_batch(
                _texts(request),
                special_tokens=request.special_tokens,
                add_special_tokens=request.add_special_tokens,
                threads=threads,
            )
        )
    except TokdError as error:
        raise _about_text(error, request, error.place.get("row", 0)) from error


def _offsets(tokenizer: Tokenizer, request: TextRequest, index: int, unit: Any) -> Any:
    try:
        return tokenizer.offsets(
            _texts(request)[index],
            unit,
            special_tokens=request.special_tokens,
            add_special_tokens=request.add_special_tokens,
        )
    except TokdError as error:
        raise _about_text(error, request, index) from error


def _targets(request: OffsetsRequest, rows: int) -> list[Array] | None:
    """Check target spans against the texts; one array of shape (m, 2) a text."""
    given: Any = request.target_spans
    if given is None:
        return None
    one = isinstance(request.text, str)
    if given and (isinstance(given[0][0] if given[0] else [], list) is one):
        wanted = "one list of spans" if one else "one list of spans a text"
        raise ServiceError("invalid_type", f"this must be {wanted}", "target_spans")
    lists = [given] if one else given
    if len(lists) != rows:
        raise ServiceError(
            "invalid_value", f"there are {rows} texts and {len(lists)} lists of target spans", "target_spans"
        )
    return [
        _checked_spans(spans, _length(text, request.unit), "target_spans" if one else f"target_spans[{index}]")
        for index, (spans, text) in enumerate(zip(lists, _texts(request), strict=True))
    ]


def _checked_spans(spans: Any, length: int, path: str) -> Array:
    array = np.array(spans, np.int64).reshape(-1, 2)
    bad = np.flatnonzero((array[:, 0] > array[:, 1]) | (array[:, 1] > length))
    if len(bad):
        raise ServiceError(
            "invalid_value",
            f"a span must have start <= end <= {length}, the length of the text in its unit",
            f"{path}[{bad[0]}]",
        )
    return array


def _length(text: str, unit: str) -> int:
    if unit == "char":
        return len(text)
    return len(text.encode("utf-8")) if unit == "byte" else len(text.encode("utf-16-le")) // 2


def _answer(loaded: Loaded, text: str | list[str], rows: dict[str, list[Any]], tokens: int) -> Answer:
    """Write fields that have one entry a text; for a single text the entry stands alone."""
    blocks = Blocks()
    # The head ends in a comma, which an answer without fields must lose.
    blocks.add(loaded.head if rows else loaded.head[:-1])
    for index, (name, values) in enumerate(rows.items()):
        blocks.add(b'%b"%b":' % (b"," if index else b"", name.encode("ascii")))
        if isinstance(text, str):
            blocks.add_json(values[0])
        else:
            blocks.add(b"[")
            for row, value in enumerate(values):
                if row:
                    blocks.add(b",")
                blocks.add_json(value)
            blocks.add(b"]")
    blocks.add(b"}")
    return Answer(blocks.finish(), tokens, loaded.hash)


class Blocks:
    """Gather many small pieces of an answer into few blocks."""

    def __init__(self) -> None:
        self._done: list[bytes] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        """Append bytes."""
        self._parts.append(part)
        self._size += len(part)
        if self._size >= BLOCK_BYTES:
            self._done.append(b"".join(self._parts))
            self._parts, self._size = [], 0

    def add_json(self, value: Any) -> None:
        """Append an array, a list of strings or a number; a long one in slices, between which other threads can run."""
        if isinstance(value, int) or len(value) <= SLICE:
            self.add(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))
            return
        for start in range(0, len(value), SLICE):
            self.add(b"," if start else b"[")
            self.add(orjson.dumps(value[start : start + SLICE], option=orjson.OPT_SERIALIZE_NUMPY)[1:-1])
        self.add(b"]")

    def finish(self) -> list[bytes]:
        """Return the blocks."""
        if self._parts:
            self._done.append(b"".join(self._parts))
        return self._done
