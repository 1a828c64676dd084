"""Text to ids, and to what is made of them; an error of the core is placed in the text it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from service.errors import ServiceError, from_core
from service.http.response_json import Answer, Rows, TokenStrings, Writer, report_bytes, write
from service.registry.served import ServedTokenizer
from service.schemas.fields import CHAT_PARTS
from service.schemas.requests import ChatOptions, CountRequest, EncodeRequest, TextOrChatRequest, TextRequest
from tokenizer_core import Offsets, Row, TokdError, Tokenizer, Unit, pad_id_of, padded_width, shape_rows

Ids = npt.NDArray[np.uint32]
Array = npt.NDArray[Any]

IGNORED_LABEL = -100
_PLAIN = ("ids", "count")


def encode(
    loaded: ServedTokenizer, request: EncodeRequest, *, max_ids: int, threads: int, writer: Writer = write
) -> Answer:
    """Answer ``/encode`` for texts.

    Args:
        max_ids: what padding may bring the request to.
        threads: how many may work on a list of texts.
    """
    require_text(request)
    if request.parts == _PLAIN and _is_unshaped(request):
        rows = _encode_rows(loaded.tokenizer, request, threads)
        counts = [len(row) for row in rows]
        return writer(loaded, request.text, {"ids": rows, "count": counts}, sum(counts))
    return _encode_shaped(loaded, request, max_ids, threads, writer)


def _is_unshaped(request: EncodeRequest) -> bool:
    given = (request.max_length, request.pad_to_multiple_of, request.pad_token)
    return request.padding == "none" and all(option is None for option in given)


def _encode_shaped(
    loaded: ServedTokenizer, request: EncodeRequest, max_ids: int, threads: int, writer: Writer
) -> Answer:
    alien = next((part for part in request.parts if part in CHAT_PARTS), None)
    if alien is not None:
        raise ServiceError("invalid_option", f"{alien} is a part of chats; send messages, or leave it out", "return")
    tokenizer = loaded.tokenizer
    spans: list[Array] = []
    if "spans" in request.parts or "truncated" in request.parts:
        encoded = [offsets_of(loaded, request, index, "char") for index in range(len(texts_of(request)))]
        rows, spans = [each.ids for each in encoded], [each.spans for each in encoded]
    else:
        rows = _encode_rows(tokenizer, request, threads)
    try:
        shaped = shape(tokenizer, rows, request, max_ids, has_frame=request.add_special_tokens)
    except TokdError as error:
        raise from_core(error) from error

    def made(part: str) -> Iterator[Any]:
        if part == "spans":
            return (row.carry(own) for row, own in zip(shaped, spans, strict=True))
        if part == "truncated":
            return (truncated(row, own) for row, own in zip(shaped, spans, strict=True))
        return (PARTS[part](tokenizer, row) for row in shaped)

    fields: Rows = {part: made(part) for part in request.parts}
    return writer(loaded, request.text, fields, sum(row.count for row in shaped))


def shape(
    tokenizer: Tokenizer, rows: Sequence[Ids], request: EncodeRequest, max_ids: int, *, has_frame: bool
) -> tuple[Row, ...]:
    """Truncate and pad rows as a request asks for, but never to more ids than the server takes.

    Args:
        has_frame: whether every row stands between the tokenizer's own special tokens, which are not cut.
    """
    _refuse_much_padding(rows, request, max_ids)
    return shape_rows(
        rows,
        max_length=request.max_length,
        truncation_side=request.truncation_side or tokenizer.settings.truncation_side,
        padding=request.padding,
        padding_side=request.padding_side or tokenizer.settings.padding_side,
        pad_to_multiple_of=request.pad_to_multiple_of,
        pad_id=_pad_id(tokenizer, request),
        prefix=len(tokenizer.config.prefix_ids) if has_frame else 0,
        suffix=len(tokenizer.config.suffix_ids) if has_frame else 0,
    )


def _pad_id(tokenizer: Tokenizer, request: EncodeRequest) -> int | None:
    if request.pad_token is not None:
        return pad_id_of(request.pad_token, tokenizer.added_tokens)
    if tokenizer.pad_id is None and request.padding != "none":
        raise ServiceError(
            "invalid_option",
            'this tokenizer names no pad token; name one of its added tokens as pad_token, set padding to "none", or '
            "give the tokenizer one with tokd import --pad-token",
            "padding",
        )
    return tokenizer.pad_id


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


def truncated(row: Row, spans: Array) -> dict[str, Any] | None:
    """Say what truncation took of a row whose ids had ``spans`` before: whole ids, so never a part of a token."""
    cut = row.cut
    if not cut.removed:
        return None
    taken = spans[cut.start : cut.start + cut.removed]
    return {"side": cut.side, "count": cut.removed, "span": [int(taken[:, 0].min()), int(taken[:, 1].max())]}


def _labels(row: Row) -> Array:
    labels = row.ids.astype(np.int64)
    labels[: row.pad_left] = IGNORED_LABEL
    labels[len(labels) - row.pad_right :] = IGNORED_LABEL
    return labels


PARTS: dict[str, Callable[[Tokenizer, Row], Any]] = {
    "ids": lambda _, row: row.ids,
    "count": lambda _, row: row.count,
    "tokens": lambda tokenizer, row: token_texts(tokenizer, row.ids),
    "attention_mask": lambda _, row: row.attention_mask(),
    "special_tokens_mask": lambda _, row: row.special_tokens_mask(),
    "position_ids": lambda _, row: row.position_ids(),
    "labels": lambda _, row: _labels(row),
}
"""How each field of a shaped row is made, but for its spans."""


def count(loaded: ServedTokenizer, request: CountRequest) -> Answer:
    """Answer ``/count`` for texts."""
    require_text(request)
    counts = []
    for index, text in enumerate(texts_of(request)):
        try:
            counts.append(
                loaded.tokenizer.count(
                    text, special_tokens=request.special_tokens, add_special_tokens=request.add_special_tokens
                )
            )
        except TokdError as error:
            raise _about_text(error, request, index) from error
    return write(loaded, request.text, {"count": counts}, sum(counts))


def require_text(request: TextOrChatRequest) -> None:
    """Refuse a request without chats that has no text, or options of chats."""
    if "text" not in request.model_fields_set:
        raise ServiceError("missing_field", "this field is required, or messages in its place", "text")
    for name in (*ChatOptions.model_fields, "train_on"):
        # Null is what a client sends for an option that is not set.
        if name in request.model_fields_set and getattr(request, name) is not None:
            raise ServiceError("invalid_option", f"{name} is an option of chats; send messages, or leave it out", name)


def token_texts(tokenizer: Tokenizer, ids: Ids) -> TokenStrings:
    """Return the text of every id alone; what is not a whole character shows U+FFFD."""
    return TokenStrings(ids, lambda id: tokenizer.token_bytes(id).decode("utf-8", "replace"))


def texts_of(request: TextRequest) -> list[str]:
    """Return the texts of a request, which may be one."""
    return [request.text] if isinstance(request.text, str) else request.text


def _about_text(error: TokdError, request: TextRequest, index: int = 0) -> ServiceError:
    """Place an error of the core in the text it is about."""
    if error.code == "reserved_literal":
        start, end = error.place["span"]
        error.place["literal"] = texts_of(request)[index][start:end]
    return from_core(error, "text" if isinstance(request.text, str) else f"text[{index}]")


def _encode_rows(tokenizer: Tokenizer, request: TextRequest, threads: int) -> list[Ids]:
    try:
        encoded = tokenizer.encode_batch(
            texts_of(request),
            special_tokens=request.special_tokens,
            add_special_tokens=request.add_special_tokens,
            threads=threads,
        )
    except TokdError as error:
        raise _about_text(error, request, error.place.get("row") or 0) from error
    report_bytes(encoded.ids.nbytes)
    return list(encoded)


def offsets_of(loaded: ServedTokenizer, request: TextRequest, index: int, unit: Unit) -> Offsets:
    """Encode one of the texts with the span of every id."""
    text = texts_of(request)[index]
    try:
        offsets = loaded.tokenizer.offsets(
            text, unit, special_tokens=request.special_tokens, add_special_tokens=request.add_special_tokens
        )
    except TokdError as error:
        raise _about_text(error, request, index) from error
    report_bytes(offsets.ids.nbytes + offsets.spans.nbytes)
    return offsets
