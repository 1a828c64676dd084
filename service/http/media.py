"""The form of a body and the form wanted for its answer, from the headers."""

from __future__ import annotations

from collections.abc import Sequence

from service.admission.deadline import HEADER, is_deadline
from service.errors import ServiceError
from service.request_log import Headers

JSON = "application/json"
OCTETS = "application/octet-stream"
ARROW = "application/vnd.apache.arrow.stream"
ARROW_FILE = "application/vnd.apache.arrow.file"

ROW_LENGTHS = "tokd-row-lengths"
"""The header of an answer in bare bytes that says how many ids each row has."""

MAX_ACCEPT = 1024
"""Bytes of ``accept`` and its like that are read."""

_ANYTHING = (b"*/*", JSON.encode("ascii"), b"application/json, text/plain, */*")
"""Values of ``accept`` that most callers send, the last of them axios; all mean JSON."""


def is_json(headers: Headers) -> bool:
    """Tell whether body and answer are plainly JSON, as of most requests."""
    for name, value in headers:
        if name == b"content-type":
            if value != b"application/json":
                return False
        elif name == b"accept" and value not in _ANYTHING:
            return False
    return True


def is_plain(headers: Headers) -> bool:
    """Tell whether there is nothing at all to decide: the body is declared as JSON, and JSON is welcome."""
    has_type = False
    for name, value in headers:
        if name == b"content-type":
            if value != b"application/json":
                return False
            has_type = True
        elif (
            (name == b"accept" and value not in _ANYTHING)
            or name in (b"content-encoding", b"origin")
            or (name == b"transfer-encoding" and value != b"chunked")
            or (name == HEADER and not is_deadline(value))
        ):
            return False
    return has_type


def sent(headers: Headers) -> str:
    """Return the media type of the body, without parameters."""
    for name, value in headers:
        if name == b"content-type":
            return value.partition(b";")[0].strip().lower().decode("latin-1")
    return ""


def wanted(headers: Headers, offers: Sequence[str]) -> str:
    """Choose among ``offers`` by ``accept``: the highest weight, then what is named most exactly, then the first.

    Errors:
        ``not_acceptable``
    """
    if not any(name == b"accept" and value.strip() for name, value in headers):
        return offers[0]
    ranges = weights(headers, b"accept")
    best = max(offers, key=lambda offer: _weight(offer, ranges))
    if _weight(best, ranges)[0] == 0:
        raise ServiceError(
            "not_acceptable",
            f"this route answers in {', '.join(offers)}; name one of them in accept, or leave it out",
            "header accept",
        )
    return best


def weights(headers: Headers, header: bytes) -> dict[str, float]:
    """Read what a header such as ``accept`` lists into weights; what cannot be read is taken as not there."""
    line = b",".join(value for name, value in headers if name == header)
    ranges: dict[str, float] = {}
    for item in line.decode("latin-1").split(",") if len(line) <= MAX_ACCEPT else ():
        kind, *parameters = (part.strip().lower() for part in item.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                digits = parameter.removeprefix("q=")
                weight = float(digits) if digits.replace(".", "", 1).isdecimal() and digits.isascii() else -1.0
        if 0 <= weight <= 1:
            ranges[kind] = weight
    return ranges


def _weight(offer: str, ranges: dict[str, float]) -> tuple[float, int]:
    for exactness, name in ((2, offer), (1, offer.partition("/")[0] + "/*"), (0, "*/*")):
        if name in ranges:
            return ranges[name], exactness
    return 0.0, 0
