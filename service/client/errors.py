"""The errors of a client. Each is a ``TokdError``.

TokdError
├── InputError       what the library refuses too: ReservedLiteral, UnknownTokenId, InvalidOption, InvalidSettings, ...
├── Refused          any other refusal of the service; ``code``, ``path`` and ``status`` say which
│   ├── Forbidden    no key that the service knows, or one without the scope
│   ├── NotFound     no such tokenizer, job or route
│   ├── TooLarge     more bytes, items or ids than the service takes
│   ├── Saturated    the service has too much to do, or too many jobs wait; ``retry_after`` says when to come again
│   └── ServerFault  a bug of the service, a damaged artifact, or an answer that is not one of tokd's
└── Unreachable      no answer came
    └── TimedOut     not in time
"""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import orjson

from tokenizer_core import InputError, TokdError


class Refused(TokdError):
    """The service does not answer this request as it is."""

    def __init__(
        self, message: str, *, code: str, status: int, path: str | None = None, retry_after: float = 0
    ) -> None:
        super().__init__(message, code=code)
        self.status = status
        self.path = path
        self.retry_after = retry_after


class Forbidden(Refused):
    """The service needs a key that it knows, with the scope of the route."""


class NotFound(Refused):
    """No such tokenizer is loaded, there is no such job of yours, or no such route."""


class TooLarge(Refused):
    """The request holds more than the service takes; send it in parts."""


class Saturated(Refused):
    """The service has too much to do, or too many jobs wait: the last answer of those that were waited for."""


class ServerFault(Refused):
    """The service has a bug, or what answered is not tokd."""


class Unreachable(TokdError):
    """No answer came."""

    codes = ("unreachable",)


class TimedOut(Unreachable):
    """No answer came in time."""

    codes = ("timed_out",)


def _by_code(kind: type[TokdError]) -> dict[str, type[TokdError]]:
    known = dict.fromkeys(kind.codes, kind)
    for narrower in kind.__subclasses__():
        known |= _by_code(narrower)
    return known


_AS_THE_LIBRARY = _by_code(InputError)
_BY_STATUS: Mapping[int, type[Refused]] = {
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    413: TooLarge,
    429: Saturated,
    503: Saturated,
}


def no_answer(error: httpx.RequestError) -> Unreachable:
    """Say why no answer came."""
    url = error.request.url
    # Without the path, which may be long, and without a user.
    where = f"{url.scheme}://{url.netloc.decode('ascii')}"
    if isinstance(error, httpx.PoolTimeout):
        ways = "give it more connections or no time limit for them, or the client a lower concurrency"
        return TimedOut(f"the transport had no free connection to {where} in time, and sent nothing; {ways}")
    if isinstance(error, httpx.TimeoutException):
        return TimedOut(f"the service at {where} did not answer in time; ask for less at once, or raise timeout")
    return Unreachable(f"the service at {where} cannot be reached: {str(error) or type(error).__name__}")


def not_tokd(answer: httpx.Response) -> ServerFault:
    """Return the error for an answer that did not come from tokd."""
    where = f"{answer.request.method} {answer.request.url}"
    message = f"{where} was answered {answer.status_code} with something else than tokd answers; check the address"
    return ServerFault(message, code="internal", status=answer.status_code)


def from_answer(answer: httpx.Response) -> TokdError:
    """Turn a problem into the exception of its code, or of its status."""
    try:
        problem = orjson.loads(answer.content)
        code, detail, path = str(problem["code"]), str(problem["detail"]), problem["path"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        if answer.status_code != 503:
            return not_tokd(answer)
        code, detail, path = "saturated", "the service, or what stands before it, has too much to do", None
    known = _AS_THE_LIBRARY.get(code)
    if known is not None:
        place = {name: problem[name] for name in ("literal", "span", "unit") if name in problem}
        return known(detail, code=code, field=path, **place)
    if code == "artifact_damaged":
        # It is a 503, but to come again does not help.
        return ServerFault(detail, code=code, status=answer.status_code, path=path)
    default = Refused if answer.status_code < 500 else ServerFault
    kind = _BY_STATUS.get(answer.status_code, default)
    return kind(detail, code=code, status=answer.status_code, path=path, retry_after=retry_after(answer) or 0)


def retry_after(answer: httpx.Response) -> float | None:
    """Return the seconds that an answer asks to wait, or ``None`` if it names no number of them."""
    value = answer.headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() and len(value) <= 9 else None
