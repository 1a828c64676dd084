"""The headers by which a caller finds its request again: in its own traces, in the answer and in the access log.

They come back as they were sent. One that is not of its form is left out, as the W3C's Trace Context wants it: what
traces a request must never make it fail.
"""

from __future__ import annotations

import re

from service.request_log import Headers, Trace

MAX_REQUEST_ID = 128

_FORMS = {
    b"x-request-id": re.compile(rb"[!-~]{1,%d}" % MAX_REQUEST_ID),
    # Version, trace, span and flags; no version is ff, and neither trace nor span is all zeros.
    b"traceparent": re.compile(rb"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"),
}


def trace_of(headers: Headers) -> Trace:
    """Return the headers of a request that its answer repeats, the first of each name."""
    found: Trace = ()
    for name, value in headers:
        if name in _FORMS and all(name != other for other, _ in found) and _FORMS[name].fullmatch(value):
            found = (*found, (name, value))
    return found
