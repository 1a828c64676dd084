"""A JSON body, from its headers and bytes to a checked request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from service.errors import ServiceError
from service.http.body_errors import explain
from service.request_log import Headers
from tokenizer_core import count_json, cut_out

UNCHECKED_BYTES = 128 << 10
MAX_COST = 256 << 20
"""The most that parsing a body may cost, in bytes of memory. Parsing holds the interpreter's lock, so this bounds time
too: with the costs below the worst body takes a tenth of a second."""

VALUE_COST, LIST_COST, OBJECT_COST = 230, 2000, 4000
"""Of pydantic 2.14: a short string takes 230 bytes, an empty list 300 and an object with one key 1,000, up to 130 times
their text. A list takes as long to make and drop as nine strings, an object or an unknown field as seventeen."""

MAX_STRINGS = MAX_COST // VALUE_COST

MAX_DEPTH = 200
"""The parser's own bound."""

MAX_MEDIA_TYPE = 1024
"""Bytes of ``content-type`` that are read: to take parameters apart costs up to two microseconds a byte."""

_CONSTANTS = (b"NaN", b"Infinity")


def require_json(media_type: bytes) -> None:
    """Refuse a body that is not JSON in UTF-8.

    Errors:
        ``unsupported_media_type``, ``unsupported_charset``.
    """
    kind, _, parameters = media_type.partition(b";")
    if kind.strip().lower() != b"application/json":
        raise ServiceError(
            "unsupported_media_type",
            "the body must be JSON; send the header content-type: application/json",
            "header content-type",
            headers=((b"accept", b"application/json"),),
        )
    for parameter in parameters.split(b";"):
        name, _, value = parameter.partition(b"=")
        if name.strip().lower() == b"charset" and value.strip().strip(b'"').lower() not in (b"utf-8", b"utf8"):
            raise ServiceError(
                "unsupported_charset", "the body must be UTF-8, as JSON always is", "header content-type"
            )


def refuse_transfer_codings(headers: Headers) -> None:
    """Refuse what is coded for the transfer, also where no body is read: nobody knows where such a body ends.

    Errors:
        ``unsupported_transfer_coding``
    """
    for name, value in headers:
        if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            # The parser below knows the chunks of such a body, and would hand on what is coded within.
            raise ServiceError(
                "unsupported_transfer_coding",
                "the body is coded for the transfer; send it as it is, chunked or with its length",
                "header transfer-encoding",
            )


def declared_length(headers: Headers, require: Callable[[bytes], None] = require_json) -> int | None:
    """Check what the headers say about a body and return its declared length, or ``None`` if it is not declared.

    Args:
        require: refuses media types.

    Errors:
        ``unsupported_transfer_coding``, ``unsupported_media_type`` of one that is too long,
        and what ``require`` raises.
    """
    refuse_transfer_codings(headers)
    length: int | None = None
    media_type = b""
    for name, value in headers:
        if name == b"content-type":
            media_type = value
        elif name == b"content-length":
            length = int(value) if len(value) <= 18 and value.isdigit() else 10**18
    if media_type != b"application/json":
        if len(media_type) > MAX_MEDIA_TYPE:
            detail = f"the media type of the body is longer than {MAX_MEDIA_TYPE} bytes; send a shorter one"
            raise ServiceError("unsupported_media_type", detail, "header content-type")
        require(media_type)
    return length


def refuse_many_values(*texts: bytes, path: str | None = None) -> None:
    """Refuse a large body, or JSON in strings of one, that would take far more memory parsed than it has bytes.

    Args:
        texts: what one request has of it.
        path: the field that holds them.

    Errors:
        ``too_many_values``, or ``invalid_json`` for what is nested too deeply.
    """
    if sum(map(len, texts)) <= UNCHECKED_BYTES:
        return
    counted = [count_json(text) for text in texts]
    cost = sum(
        commas * VALUE_COST + lists * LIST_COST + (objects + fields) * OBJECT_COST
        for commas, lists, objects, fields, _, _ in counted
    )
    if cost <= MAX_COST and sum(strings for *_, strings, _ in counted) <= MAX_STRINGS:
        return
    if max(depth for *_, depth in counted) >= MAX_DEPTH:
        detail = f"the {path or 'body'} is nested deeper than {MAX_DEPTH} lists or objects"
        raise ServiceError("invalid_json", detail, path)
    detail = f"the {path or 'body'} holds too many lists, objects or values; send fewer in one request"
    raise ServiceError("too_many_values", detail, path)


def _refuse_constants(body: bytes) -> None:
    """Refuse ``NaN`` and ``Infinity`` in a body that was parsed: they are no JSON, and the parser takes them anywhere.

    Errors:
        ``invalid_json``
    """
    for word in _CONSTANTS:
        if word in body and word in _without_strings(_without_escapes(body)):
            raise ServiceError("invalid_json", f"the body is not JSON, which has no {word.decode()}; send null")


def _is_json(error: ValidationError) -> bool:
    """Tell whether a body was parsed, and only holds what it must not."""
    return error.error_count() > 1 or error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid"


def _without_escapes(text: bytes) -> bytes:
    return text.replace(rb"\\", b"").replace(rb"\"", b"")


def _without_strings(text: bytes) -> bytes:
    """Return what stands outside the strings of JSON without escapes."""
    return b"".join(text.split(b'"')[::2])


Parse = Callable[[bytes], Any]


def parser(model: Any, nested: str | None = None) -> Parse:
    """Return the function that turns a body into a checked ``model``; ``nested`` is that of ``explain``."""
    validate = model.__pydantic_validator__.validate_json
    lists = list(getattr(model, "LISTS", ()))

    def parse(body: bytes) -> Any:
        refuse_many_values(body)
        cut = cut_out(body, lists) if lists and b'"messages"' in body else None
        if cut is not None:
            rest, found = cut
            try:
                request = validate(rest)
            except ValidationError:
                # The whole body tells what is wrong with it, and where.
                pass
            else:
                _refuse_constants(rest)
                return request.model_copy(update=found)
        try:
            request = validate(body)
        except ValidationError as error:
            if _is_json(error):
                _refuse_constants(body)
            refused = explain(error, body, model, nested)
        else:
            _refuse_constants(body)
            return request
        raise refused

    return parse
