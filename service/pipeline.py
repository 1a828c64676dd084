"""The steps of every request, whoever answers it: ``open`` and ``admit`` at its beginning, ``close`` at its end.

A request to a hot route is opened by its head. If it arrives whole and is plain, the kernel answers it inside its
connection (``KernelRoute``). All others become tasks of ASGI and go to their route, which asks the kernel unless it was
asked, and then has the models answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from time import perf_counter
from typing import NamedTuple

from service.admission.deadline import deadline
from service.admission.limits import SMALL_BYTES, Limits
from service.auth.guard import Guard
from service.auth.identity import LOCAL, Identity
from service.auth.route_scopes import Need
from service.errors import Refusal, ServiceError, refuse_unknown_query
from service.http.client_address import ClientAddresses
from service.http.fast_path import FastAnswers, LeftToThread, RawResponse
from service.http.json_body import refuse_transfer_codings
from service.http.media import is_plain
from service.http.response_json import BLOCK_BYTES, Answer
from service.http.trace import trace_of
from service.request_log import Headers, LogEntry
from service.settings import Settings
from service.telemetry.access_log import AccessLog
from service.telemetry.metrics import Metrics
from service.telemetry.spans import Spans
from tokenizer_core import InternalError, StepsSpent

DROPPED_BYTES = 2 << 20
"""Bodies up to this size are dropped behind a refusal from the head; behind that of a larger one the connection ends.
"""

_METHODS = frozenset(("GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"))


class Gate(NamedTuple):
    """The demands of a route on a request before its body.

    Attributes:
        need: the scope of its key.
        query: the names that its query may have; ``None`` if the query is not read.
        any_host: whether host and key are not looked at.
        is_json: whether it answers a JSON body, within the limits and until a deadline.
    """

    need: Need
    query: Collection[str] | None = ()
    any_host: bool = False
    is_json: bool = True


class Pipeline:
    """The beginning and the end of all requests of one process."""

    def __init__(
        self, settings: Settings, limits: Limits, guard: Guard, metrics: Metrics, access_log: AccessLog | None
    ) -> None:
        self.limits, self.guard, self.metrics = limits, guard, metrics
        self.spans = Spans.of(settings)
        self._access_log = access_log
        self._guard = None if guard.is_idle else guard
        self._addresses = ClientAddresses(settings.trusted_proxies)

    def open(self, method: str, headers: Headers, peer: tuple[str, int] | None) -> LogEntry:
        """Count a request; ``close`` must follow."""
        self.limits.requests += 1
        return LogEntry(
            method if method in _METHODS else "OTHER",
            started=perf_counter(),
            trace=trace_of(headers),
            client=self._addresses.of(peer, headers),
        )

    def admit(self, entry: LogEntry, gate: Gate, headers: Headers, query: bytes = b"") -> Identity:
        """Let a request in and return who asks, or refuse it: its host and key, then its query, then the limits.

        Errors:
            ``host_not_allowed``, ``unauthorized``, ``forbidden``, ``rate_limited``, ``unsupported_transfer_coding``,
            ``query_too_large``, ``unknown_field``, ``invalid_value``, ``saturated``
        """
        identity = LOCAL
        if self._guard is not None and not gate.any_host:
            identity = self._guard.require(gate.need, headers)
            entry.key = identity.key
            self._guard.admit(identity)
        if not gate.is_json:
            refuse_transfer_codings(headers)
        if query and gate.query is not None:
            refuse_unknown_query(query, gate.query)
        if gate.is_json:
            entry.until = deadline(headers)
            self.limits.admit()
        entry.is_admitted = True
        return identity

    def headers(self, entry: LogEntry) -> Headers:
        """Return what an answer says beside its own: what is left to its key."""
        return self.guard.headers(entry.key)

    def close(self, entry: LogEntry) -> None:
        """Count and log a request that is answered."""
        limits = self.limits
        limits.requests -= 1
        limits.release(entry)
        entry.known = None
        seconds = perf_counter() - entry.started
        self.guard.spend(entry.key, entry.tokens)
        self.metrics.record(entry, seconds, limits)
        if self._access_log is not None:
            self._access_log.add(entry, seconds)
        if self.spans is not None:
            self.spans.add(entry, seconds)


def ask_kernel(
    plain: FastAnswers, body: bytes, entry: LogEntry, note_failure: Callable[[Exception], None]
) -> Answer | None:
    """Ask the kernel on the event loop, once for a request; ``entry.tried`` says what came of it.

    Args:
        note_failure: counts and logs a bug that no caller meets.
    """
    if entry.tried != "not yet":
        answer: Answer | None = entry.known
        return answer
    try:
        entry.known = answer = plain.answer(body, may_take_long=False, key=entry.key)
        entry.tried = "in vain"
    except StepsSpent:
        entry.tried, answer = "takes long", None
    except LeftToThread:
        entry.tried, answer = "left to a thread", None
    except InternalError as error:
        note_failure(error)
        entry.tried, answer = "in vain", None
    return answer


class KernelRoute:
    """Answers whole requests to one route, unless they are not plain or a limit is near. It never waits.

    Args:
        refuse: says an error as the route does.
    """

    def __init__(
        self, path: str, plain: FastAnswers, gate: Gate, pipeline: Pipeline, refuse: Callable[[ServiceError], Refusal]
    ) -> None:
        self._path, self._plain, self._gate, self._pipeline, self._refuse = path, plain, gate, pipeline, refuse
        self._note_failure = partial(pipeline.metrics.note_fast_path_failure, path)

    def open(self, headers: Headers, peer: tuple[str, int] | None) -> LogEntry | None:
        """Open a request by its head; ``None`` if its route is to do that."""
        if not is_plain(headers):
            return None
        entry = self._pipeline.open("POST", headers, peer)
        entry.route = self._path
        try:
            self._pipeline.admit(entry, self._gate, headers)
        except Exception as error:
            # Also a bug: the route says so.
            entry.refused = error
        return entry

    def refusal(self, entry: LogEntry, headers: Headers) -> RawResponse | None:
        """Refuse by its head a request for which there will be no thread, if its body has its end soon.

        Such a body is dropped as it comes. A task, and a connection that ends, would cost an overloaded server more
        than all else of a refusal.
        """
        limits = self._pipeline.limits
        if not limits.is_full:
            return None
        length = int(next((value for name, value in headers if name == b"content-length"), b"0"))
        if not SMALL_BYTES < length <= min(DROPPED_BYTES, limits.settings.max_body_bytes):
            return None
        error = entry.refused
        if error is None:
            try:
                limits.begin(length, entry)
            except ServiceError as found:
                error = found
        if not isinstance(error, ServiceError):
            return None
        refused = self._refuse(error)
        entry.status, entry.code, entry.bytes_out = refused.status, refused.code, len(refused.body)
        self._pipeline.close(entry)
        return refused.media_type.encode("ascii"), refused.body, (*refused.headers, *entry.trace), refused.status

    def answer(self, entry: LogEntry, headers: Headers, body: bytes) -> RawResponse | None:
        """Answer a request, or leave it to its route."""
        pipeline, size = self._pipeline, len(body)
        limits = pipeline.limits
        settings = limits.settings
        if (
            entry.refused is not None
            or size > settings.inline_bytes
            or size > settings.max_body_bytes
            or limits.held_bytes + size > settings.max_held_bytes
            or (size > SMALL_BYTES and (limits.is_full or limits.turn.is_over()))
        ):
            return None
        try:
            answer = ask_kernel(self._plain.for_request(headers), body, entry, self._note_failure)
        except ServiceError:
            # The route meets the same error again, and answers it.
            return None
        except Exception as error:
            self._note_failure(error)
            entry.tried = "in vain"
            return None
        if answer is None or len(answer.blocks) > 1 or len(answer.blocks[0]) > BLOCK_BYTES:
            # The route sends a larger answer in blocks, no faster than it is read.
            return None
        (block,) = answer.blocks
        entry.status, entry.bytes_in, entry.bytes_out = 200, size, len(block)
        entry.tokens, entry.tokenizer = answer.tokens, answer.tokenizer
        more = (*answer.headers, *pipeline.headers(entry), *entry.trace)
        pipeline.close(entry)
        return answer.media_type, block if isinstance(block, bytes) else block.data, more, 200
