"""One shape for every error of every route: RFC 9457 ``application/problem+json`` with a stable ``code`` and ``path``.

``PROBLEMS`` is the one table from code to HTTP status and title. A body is ASCII and under 4 KB, whatever the request
was: what a caller sent is quoted in part or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from tokenizer_core import TokdError, did_you_mean

MEDIA_TYPE = "application/problem+json"

MAX_QUOTED = 80
"""Characters of a caller's own word, such as an unknown field's name, that an error repeats."""

MAX_QUERY_BYTES = 4 << 10
"""Of a query that is taken apart, which takes milliseconds for as much; for 60 KB of ``%&`` it takes 200."""

MAX_DETAIL = 1000
MAX_PATH = 200


class Problem(NamedTuple):
    """The HTTP status and title of a code."""

    status: int
    title: str


PROBLEMS: dict[str, Problem] = {
    "address_forbidden": Problem(422, "jobs may not read from this address"),
    "answer_too_large": Problem(413, "the answer would be larger than this server makes"),
    "artifact_damaged": Problem(503, "this artifact's files on the server are damaged"),
    "artifact_unusable": Problem(422, "this is no tokenizer that the server can serve"),
    "body_too_large": Problem(413, "the request body is larger than this server takes"),
    "check_limit": Problem(422, "the audit of this tokenizer takes too much time or memory"),
    "corpus_too_large": Problem(413, "the corpus is larger than this server takes"),
    "deadline_exceeded": Problem(503, "the deadline of the request passed"),
    "disk_full": Problem(507, "the disk of this server is full"),
    "disk_unwritable": Problem(503, "the disk of this server cannot be written"),
    "empty_corpus": Problem(422, "the corpus holds no text"),
    "file_not_found": Problem(404, "the job wrote no such file"),
    "forbidden": Problem(403, "the key lacks the scope that this route needs"),
    "head_too_large": Problem(431, "the request line and headers are larger than this server takes"),
    "host_not_allowed": Problem(421, "this server is not the host that the request names"),
    "idempotency_conflict": Problem(409, "the same Idempotency-Key came with another request before"),
    "history_rewritten": Problem(422, "the chat template writes earlier messages otherwise once new ones follow"),
    "internal": Problem(500, "this server has a bug"),
    "invalid_arrow": Problem(400, "the request body is not the Arrow stream that is wanted"),
    "invalid_encoding": Problem(400, "the compressed request body is damaged"),
    "invalid_http": Problem(400, "this is not an HTTP/1.1 request"),
    "invalid_json": Problem(400, "the request body is not JSON"),
    "invalid_multipart": Problem(400, "the request body is not multipart/form-data"),
    "invalid_name": Problem(400, "this cannot be the name of a tokenizer"),
    "invalid_option": Problem(422, "an option has a value outside its range"),
    "invalid_settings": Problem(422, "a training run cannot have these settings"),
    "invalid_tokenizer": Problem(422, "the body is not a tokenizer that is read here"),
    "invalid_type": Problem(422, "a field has the wrong JSON type"),
    "invalid_unicode": Problem(422, "the text is not valid Unicode"),
    "invalid_value": Problem(422, "a field has a value that it cannot have"),
    "job_finished": Problem(409, "the job has ended and cannot be cancelled"),
    "job_not_found": Problem(404, "there is no such job"),
    "jobs_not_installed": Problem(501, "this server was installed without jobs"),
    "jobs_unavailable": Problem(503, "the store of training jobs cannot be reached"),
    "message_not_rendered": Problem(422, "the chat template writes nothing of a part of this chat"),
    "method_not_allowed": Problem(405, "this route has another method"),
    "missing_field": Problem(422, "a required field is missing"),
    "no_artifact": Problem(404, "the job has no result"),
    "not_acceptable": Problem(406, "this route has no answer in any form that the accept header names"),
    "not_found": Problem(404, "there is no such route"),
    "page_not_allowed": Problem(403, "a page of another site may not do this here"),
    "path_forbidden": Problem(422, "this server may not read this path"),
    "query_too_large": Problem(414, "the query of the URL is larger than this server takes"),
    "queue_full": Problem(429, "no more training jobs can wait"),
    "range_not_satisfiable": Problem(416, "the file has no such part"),
    "rate_limited": Problem(429, "this key has asked for as much as it may"),
    "request_timeout": Problem(408, "the request body did not arrive in time"),
    "reserved_literal": Problem(422, "the text holds the literal of a special token"),
    "row_too_long": Problem(422, "an example has more tokens than a pack"),
    "saturated": Problem(503, "this server has as much to do as it can take on"),
    "scheme_forbidden": Problem(422, "jobs may not read URLs of this scheme"),
    "step_limit": Problem(422, "the tokenizer's regular expression took too long on this text"),
    "template_failed": Problem(422, "the chat template refuses these messages"),
    "template_limit": Problem(422, "the chat template takes too much time or memory on these messages"),
    "template_missing": Problem(422, "this tokenizer has no chat template"),
    "template_unsupported": Problem(422, "the chat template uses a construct that is not supported"),
    "template_untrackable": Problem(422, "the chat template hides who wrote what in these messages"),
    "tokenizer_ambiguous": Problem(409, "several tokenizers have this name"),
    "tokenizer_exists": Problem(409, "another tokenizer or model has this name"),
    "tokenizer_in_use": Problem(409, "the tokenizer cannot be taken away now"),
    "tokenizer_not_found": Problem(404, "no such tokenizer is loaded"),
    "too_many_ids": Problem(413, "more ids than this server takes"),
    "too_many_items": Problem(413, "more items than this server takes"),
    "too_many_parts": Problem(413, "the form has more parts than this server takes"),
    "too_many_values": Problem(413, "the request body holds more JSON values than this server takes"),
    "unauthorized": Problem(401, "this server needs a key"),
    "uncovered_text": Problem(422, "the tokenizer's pattern leaves a part of this text outside every piece"),
    "unknown_field": Problem(422, "a field is not known here"),
    "unknown_token_id": Problem(422, "no token has this id"),
    "unsupported_charset": Problem(415, "the request body must be UTF-8"),
    "unsupported_encoding": Problem(415, "the request body is compressed in a way that is not read here"),
    "unsupported_media_type": Problem(415, "the request body has a media type that this route does not take"),
    "unsupported_transfer_coding": Problem(501, "this server takes no transfer coding but chunked"),
}
"""Every code that an answer can carry. What concerns files on the server is never a caller's error: 5xx."""


class ServiceError(Exception):
    """Refuse a request.

    Args:
        code: one of ``PROBLEMS``.
        detail: lower case, no full stop; says the way out.
        path: the offending field, such as ``ids[3]``.
        headers: HTTP headers of the answer.
        members: further members of the problem, such as ``span``.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        path: str | None = None,
        *,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        members: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.path = path
        self.headers = headers
        self.members = members


Dialect = Callable[[Mapping[str, Any]], tuple[int, dict[str, Any]]]
"""Turns a problem into the status and JSON of another server, on the routes that speak as it does."""


class Refusal(NamedTuple):
    """An error as it leaves the server."""

    status: int
    code: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    media_type: str


def refusal(error: Exception, dialect: Dialect | None = None, root: str = "") -> Refusal:
    """Turn any exception into an answer; one that is neither ours nor the core's becomes ``internal``, no more.

    Args:
        dialect: how the error is said, if not as a problem.
        root: what the path to the documentation begins with.
    """
    if isinstance(error, TokdError):
        error = from_core(error)
    if not isinstance(error, ServiceError) or error.code not in PROBLEMS:
        error = ServiceError("internal", "this server has a bug; its error log says where")
    status, title = PROBLEMS[error.code]
    problem = {
        "type": f"{root}/docs#{error.code}",
        "title": title,
        "status": status,
        "detail": _cut(error.detail, MAX_DETAIL),
        "code": error.code,
        "path": None if error.path is None else _cut(error.path, MAX_PATH),
        **error.members,
    }
    said: dict[str, Any] = problem
    if dialect is not None:
        status, said = dialect(problem)
    body = json.dumps(said, separators=(",", ":")).encode("ascii")
    return Refusal(status, error.code, body, error.headers, MEDIA_TYPE if dialect is None else "application/json")


@contextmanager
def errors_at(path: str) -> Iterator[None]:
    """Place errors at a field of the request, whatever field they name."""
    try:
        yield
    except ServiceError as error:
        error.path = path
        raise


def from_core(error: TokdError, path: str | None = None) -> ServiceError:
    """Place an error of the core at a field of the request; ``path`` is the field that was worked on."""
    place = dict(error.place)
    at = place.pop("field", path)
    index = place.pop("index", None)
    if index is not None:
        at = f"{at or ''}[{index}]"
    members = {
        name: _cut(value, MAX_QUOTED) if isinstance(value, str) else value
        for name, value in place.items()
        if name in ("literal", "span", "unit")
    }
    return ServiceError(error.code, error.message, at, members=members)


@contextmanager
def core_errors_at(path: str) -> Iterator[None]:
    """Refuse what the core refuses, at the field that is worked on."""
    try:
        yield
    except TokdError as error:
        raise from_core(error, path) from error


def from_status(status: int, path: str, methods: Sequence[str], routes: Iterable[str]) -> ServiceError:
    """Name an error that the framework found, such as an unknown route.

    Args:
        methods: those of ``path``.
        routes: the paths that there are.
    """
    if status == HTTPStatus.NOT_FOUND:
        near = did_you_mean(path, routes)
        return ServiceError("not_found", f"there is no route {quote(path)}; GET /docs lists them{near}")
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(methods)
        allow = (b"allow", allowed.encode("ascii"))
        return ServiceError("method_not_allowed", f"this route has another method: {allowed}", headers=(allow,))
    return ServiceError("internal", f"the framework answered {status}")


def from_query(found: Sequence[Any]) -> ServiceError:
    """Name an error that the framework found in a query or a path."""
    first = found[0]
    message, (kind, name, *index) = str(first["msg"]), first["loc"]
    place = f"{kind} {name}" + "".join(f"[{each}]" for each in index)
    return ServiceError("invalid_value", message[:1].lower() + message[1:], place)


def refuse_unknown_query(query: bytes, known: Collection[str]) -> None:
    """Refuse a query with a name that its route does not know: a misspelt filter would be no filter.

    Errors:
        ``query_too_large``, ``unknown_field``
    """
    if len(query) > MAX_QUERY_BYTES:
        raise ServiceError("query_too_large", f"the query is larger than {MAX_QUERY_BYTES} bytes; send a shorter one")
    for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name not in known:
            asked = f"there are {', '.join(sorted(known))}" if known else "options stand in the body"
            detail = (
                f"{quote(name)} is nothing that this route is asked in its query; {asked}{did_you_mean(name, known)}"
            )
            raise ServiceError("unknown_field", detail, f"query {name}")


def quote(word: object) -> str:
    """Return a caller's own word for an error message: cut, and only its printable ASCII as it is."""
    return ascii(str(word)[:MAX_QUOTED])


def _cut(text: str, most: int) -> str:
    """Shorten a text so that it takes at most ``most`` characters as ASCII JSON, where one can become twelve."""
    if _written(text[: most + 1]) <= most:
        return text
    kept = 0
    room = most - len("...")
    while (room := room - _written(text[kept])) >= 0:
        kept += 1
    return text[:kept] + "..."


def _written(text: str) -> int:
    return len(json.dumps(text)) - len('""')
