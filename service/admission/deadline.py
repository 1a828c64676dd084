"""The time in which a caller can use its answer, from the header ``x-request-deadline-ms``.

It counts from the arrival of the request, so that the clocks of caller and server need not agree.
"""

from __future__ import annotations

from math import inf
from time import monotonic

from service.errors import ServiceError
from service.request_log import Headers

HEADER = b"x-request-deadline-ms"
MAX_MILLISECONDS = 86_400_000
RETRY_SECONDS = 1
"""When a caller who is refused for lack of room or time may come again."""

RETRY_AFTER = (b"retry-after", str(RETRY_SECONDS).encode("ascii"))
_MAX_DIGITS = len(str(MAX_MILLISECONDS))


def is_deadline(value: bytes) -> bool:
    """Tell whether a value of the header can be read."""
    return value.isdigit() and len(value) <= _MAX_DIGITS and 0 < int(value) <= MAX_MILLISECONDS


def deadline(headers: Headers) -> float:
    """Return when an answer comes too late, on the clock ``time.monotonic``; infinite without the header.

    Errors:
        ``invalid_value``
    """
    until = inf
    for name, value in headers:
        if name == HEADER:
            if not is_deadline(value):
                detail = f"this must be a number of milliseconds from 1 to {MAX_MILLISECONDS}"
                raise ServiceError("invalid_value", detail, f"header {HEADER.decode('ascii')}")
            until = min(until, monotonic() + int(value) / 1000)
    return until


def require_time(until: float) -> None:
    """Refuse a request whose deadline has passed.

    Errors:
        ``deadline_exceeded``
    """
    if monotonic() >= until:
        raise too_late()


def too_late() -> ServiceError:
    """Say that the deadline of a request has passed."""
    detail = f"the deadline of the request passed before it was answered; try again in {RETRY_SECONDS} second"
    return ServiceError("deadline_exceeded", detail, headers=(RETRY_AFTER,))
