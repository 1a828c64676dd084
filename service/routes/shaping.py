"""Truncate and pad the rows of a request, within what the server takes."""

from __future__ import annotations

from collections.abc import Sequence

from service.errors import ServiceError
from service.routes.sources import Encoded
from service.routes.texts import Ids
from service.schemas.requests import EncodeRequest
from tokenizer_core import Cut, Row, Tokenizer, pad_id_of, padded_width, shape_rows

_WHOLE = Cut("right", 0, 0)


def shape(tokenizer: Tokenizer, encoded: Encoded, request: EncodeRequest, max_ids: int) -> Sequence[Row]:
    """Truncate and pad rows as a request asks for, but never to more ids than the server takes."""
    rows = encoded.ids
    prefix, suffix = encoded.frame or (0, 0)
    if encoded.frame is None or request.is_bare():
        return [Row(row, _WHOLE, 0, 0, prefix, suffix) for row in rows]
    _refuse_much_padding(rows, request, max_ids)
    return shape_rows(
        rows,
        max_length=request.max_length,
        truncation_side=request.truncation_side or tokenizer.settings.truncation_side,
        padding=request.padding,
        padding_side=request.padding_side or tokenizer.settings.padding_side,
        pad_to_multiple_of=request.pad_to_multiple_of,
        pad_id=_pad_id(tokenizer, request),
        prefix=prefix,
        suffix=suffix,
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
