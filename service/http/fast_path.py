"""The fast path: a small, plain request is answered by the kernel where it is read, without a task or a scope.

What the fast path does not take, and what has not arrived whole when the bytes at hand are read, becomes a task of ASGI
and goes to its route. This path never waits. It refuses only under overload, from the headers alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from time import perf_counter
from typing import Literal

import numpy as np
import numpy.typing as npt

from service.admission.limits import SMALL_BYTES, Limits
from service.auth import NEEDS, Guard
from service.errors import Refusal, ServiceError
from service.http.client_address import ClientAddresses
from service.http.json_body import MAX_COST, VALUE_COST
from service.http.media import is_plain
from service.http.response_json import BLOCK_BYTES, Answer
from service.http.trace import trace_of
from service.registry.registry import Registry, Unopened
from service.registry.served import ServedTokenizer
from service.request_log import Headers, LogEntry, Trace
from service.schemas.requests import INLINE_ITEMS
from service.settings import Settings
from tokenizer_core import StepsSpent

_MAX_VALUES = (MAX_COST - (1 << 17)) // VALUE_COST
"""Values that are within ``json_body.MAX_COST``, with room for the fields; a list costs less than ten of them."""

Given = tuple[bytes | npt.NDArray[np.uint8], int] | str | None
"""What ``tokenizer_core.Responder`` returns."""


class Plain(ABC):
    """The kernel's answers to what callers of one route commonly send."""

    def for_request(self, _: Headers) -> Plain:
        """Return what answers a request with these headers."""
        return self

    @abstractmethod
    def answer(self, body: bytes, *, may_take_long: bool) -> Answer | None:
        """Answer a body, or return ``None``; what may take long is answered only if it may.

        Raises:
            StepsSpent: it was found out that a body takes long which may not.
        """


class PlainRequests(Plain):
    """The kernel's answers to what callers of a route commonly send, byte for byte those of its models.

    The kernel takes a body's bytes and gives those of the answer: no Python object is made of what is in them. What is
    unusual or wrong it leaves to the models, which know every option and word every error.

    Args:
        registry: returns the tokenizers in force; each request asks once.
    """

    def __init__(self, registry: Callable[[], Registry], settings: Settings) -> None:
        self._registry = registry
        self._most = min(settings.max_items, _MAX_VALUES)

    def answer(self, body: bytes, *, may_take_long: bool) -> Answer | None:
        """Answer a body; see ``Plain``."""
        registry = self._registry()
        loaded = registry.default
        given = self._ask(loaded, body, None, may_take_long)
        if isinstance(given, str):
            try:
                loaded = self._find(registry, given)
            except (ServiceError, Unopened):
                return None
            given = self._ask(loaded, body, given, may_take_long)
        if given is None or isinstance(given, str):
            return None
        return Answer([given[0]], given[1], loaded.hash, headers=loaded.headers)

    def _find(self, registry: Registry, reference: str) -> ServedTokenizer:
        return registry.get(reference)

    @abstractmethod
    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool) -> Given:
        """Ask the kernel, for one kind of request."""

    def _most_items(self, may_take_long: bool) -> int:
        return self._most if may_take_long else min(self._most, INLINE_ITEMS)


class PlainTexts(PlainRequests):
    """Requests with texts; ``threads`` share a list out."""

    def __init__(
        self,
        route: Literal["encode", "count", "offsets"],
        registry: Callable[[], Registry],
        settings: Settings,
        threads: int,
    ) -> None:
        super().__init__(registry, settings)
        self._route: Literal["encode", "count", "offsets"] = route
        self._threads, self._max_ids = threads, settings.max_ids

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool) -> Given:
        if loaded.takes_long(len(body)) and not may_take_long:
            return None
        # A text takes three bytes of a body at least; so many frames are counted before they are made.
        if max(loaded.frame_sizes) * len(body) // 3 > max(self._max_ids, len(body)):
            return None
        most = self._most_items(may_take_long)
        return loaded.responder.answer_texts(self._route, body, reference, max_items=most, threads=self._threads)


class PlainIds(PlainRequests):
    """Requests with ids."""

    def __init__(self, registry: Callable[[], Registry], settings: Settings) -> None:
        super().__init__(registry, settings)
        self._max_ids = settings.max_ids

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool) -> Given:
        most = self._most_items(may_take_long)
        return loaded.responder.answer_ids(
            body, reference, max_ids=self._max_ids, max_rows=most, max_values=_MAX_VALUES
        )


Whole = tuple[bytes, bytes | memoryview, Trace]
"""Media type, body and further headers of an answer that is written at once. A class of its own would cost a fiftieth
of a request.
"""


class FastPath:
    """Answers whole requests to one route, unless they are not plain or a limit is near.

    Args:
        note: counts and logs a request that took so many seconds.
        refuse: says an error as the route does.
        fail: counts and logs an error that is a bug; the route then answers.
    """

    def __init__(
        self,
        path: str,
        plain: Plain,
        limits: Limits,
        guard: Guard,
        addresses: ClientAddresses,
        note: Callable[[LogEntry, float], None],
        refuse: Callable[[ServiceError], Refusal],
        fail: Callable[[str, Exception], None],
    ) -> None:
        self._fail = fail
        self._path, self._plain, self._limits, self._note = path, plain, limits, note
        self._addresses, self._refuse = addresses, refuse
        self._guard, self._need = None if guard.is_idle else guard, NEEDS[path]

    def answer(self, headers: Headers, body: bytes, peer: tuple[str, int] | None) -> Whole | None:
        """Answer a request from the other end of a connection, or leave it to its route.

        Raises:
            StepsSpent: it takes long, which the route need not find out again.
        """
        started = perf_counter()
        limits, size = self._limits, len(body)
        settings = limits.settings
        if (
            size > settings.inline_bytes
            or size > settings.max_body_bytes
            or limits.held_bytes + size > settings.max_held_bytes
            or limits.requests >= settings.max_requests
            or (size > SMALL_BYTES and (limits.is_full or limits.turn.is_over()))
            or not is_plain(headers)
        ):
            return None
        key = ""
        try:
            if self._guard is not None:
                identity = self._guard.require(self._need, headers)
                key = identity.key
                if not self._guard.has_room(identity):
                    return None
            answer = self._plain.for_request(headers).answer(body, may_take_long=False)
        except StepsSpent:
            raise
        except ServiceError:
            # The route meets the same error again, and answers it.
            return None
        except Exception as error:
            self._fail(self._path, error)
            return None
        if answer is None or len(answer.blocks[0]) > BLOCK_BYTES:
            # The route sends a larger answer in blocks, no faster than it is read.
            return None
        (block,) = answer.blocks
        counted = size, len(block), 0, 0, False, answer.tokens, answer.tokenizer
        trace = more = trace_of(headers)
        if self._guard is not None and key in self._guard.meters:
            self._guard.meters[key].admit()
            more = (*trace, *self._guard.headers(key))
        client = self._addresses.of(peer, headers)
        self._note(LogEntry("POST", self._path, 200, "", *counted, key, trace, client), perf_counter() - started)
        return answer.media_type, block if isinstance(block, bytes) else block.data, more + answer.headers

    def refusal(self, headers: Headers, peer: tuple[str, int] | None) -> tuple[bytes, bytes, Trace, int] | None:
        """Refuse by its head a request for which there will be no thread, if its body has its end soon.

        Such a body is dropped as it comes. A task, and a connection that ends, would cost an overloaded server more
        than all else of a refusal.

        Returns:
            Media type, body, headers and status, or ``None`` if the route is to look.
        """
        started = perf_counter()
        limits = self._limits
        if not limits.is_full or not is_plain(headers):
            return None
        length = int(next((value for name, value in headers if name == b"content-length"), b"0"))
        if not SMALL_BYTES < length <= min(DROPPED_BYTES, limits.settings.max_body_bytes):
            return None
        entry = LogEntry("POST", self._path, trace=trace_of(headers), client=self._addresses.of(peer, headers))
        try:
            if self._guard is not None:
                identity = self._guard.require(self._need, headers)
                entry.key = identity.key
                self._guard.admit(identity)
            limits.begin(length, entry)
        except ServiceError as error:
            # Of the guard, or that there is no room: never nothing, since the queue was full just now.
            refused = self._refuse(error)
        entry.status, entry.code, entry.bytes_out = refused.status, refused.code, len(refused.body)
        self._note(entry, perf_counter() - started)
        more = (*refused.headers, *entry.trace)
        return refused.media_type.encode("ascii"), refused.body, more, refused.status


DROPPED_BYTES = 2 << 20
"""Bodies up to this size are dropped behind a refusal from the head; behind that of a larger one the connection ends.
"""
