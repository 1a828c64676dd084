"""The fast path: the kernel answers small, plain requests where they are read, without a task or a scope.

Also routes ask the kernel, for plain bodies of any size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal, Protocol

from service.errors import ServiceError
from service.http.json_body import MAX_COST, VALUE_COST
from service.http.response_json import Answer, Block
from service.registry.registry import Registry, Unopened
from service.registry.served import ServedTokenizer
from service.request_log import Headers, LogEntry, Trace
from service.schemas.inline import INLINE_ITEMS
from service.settings import Settings

_MAX_VALUES = (MAX_COST - (1 << 17)) // VALUE_COST
"""Values that are within ``json_body.MAX_COST``, with room for the fields; a list costs less than ten of them."""

CHAT = b'"messages"'
"""What a body with a chat has in it."""

Given = tuple[Block, int] | tuple[Block, int, str] | str | None
"""The return value of ``tokenizer_core.Responder``, or of ``ChatAnswers.encode_bytes``."""


class LeftToThread(Exception):
    """The kernel may answer a body, but not on the event loop."""


class FastAnswers(ABC):
    """The kernel's answers to what callers of one route commonly send."""

    def for_request(self, _: Headers) -> FastAnswers:
        """Return what answers a request with these headers."""
        return self

    @abstractmethod
    def answer(self, body: bytes, *, may_take_long: bool, key: str = "") -> Answer | None:
        """Answer a body of the caller with a key, or return ``None``; what may take long is answered only if it may.

        Raises:
            LeftToThread: a body may take long which may not.
            StepsSpent: that was found out while it was answered.
        """


class PlainRequests(FastAnswers):
    """The kernel's answers to what callers of a route commonly send, byte for byte those of its models.

    The kernel takes a body's bytes and gives those of the answer: no Python object is made of what is in them. What is
    unusual or wrong it leaves to the models, which know every option and word every error.

    Args:
        registry: returns the tokenizers in force; each request asks once.
    """

    def __init__(self, registry: Callable[[], Registry], settings: Settings) -> None:
        self._registry = registry
        self._most = min(settings.max_items, _MAX_VALUES)

    def answer(self, body: bytes, *, may_take_long: bool, key: str = "") -> Answer | None:
        """Answer a body; see ``FastAnswers``."""
        registry = self._registry()
        loaded, reference = registry.default, None
        given = self._ask(loaded, body, None, may_take_long, key)
        if isinstance(given, str):
            reference = given
            try:
                loaded = self._find(registry, reference)
            except (ServiceError, Unopened):
                return None
            given = self._ask(loaded, body, reference, may_take_long, key)
        if given is None or isinstance(given, str):
            has_many = CHAT not in body and body.count(b",") >= INLINE_ITEMS
            if not may_take_long and (has_many or loaded.takes_long(len(body))):
                raise LeftToThread
            return None
        return self._answer(loaded, reference, *given)

    def _answer(self, loaded: ServedTokenizer, reference: str | None, body: Block, tokens: int, *_: str) -> Answer:
        return Answer([body], tokens, loaded.hash, headers=self._headers(loaded, reference))

    def _find(self, registry: Registry, reference: str) -> ServedTokenizer:
        return registry.get(reference)

    def _headers(self, loaded: ServedTokenizer, _: str | None) -> Trace:
        return loaded.headers

    @abstractmethod
    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool, key: str) -> Given:
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

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool, _: str) -> Given:
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

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool, _: str) -> Given:
        most = self._most_items(may_take_long)
        return loaded.responder.answer_ids(
            body, reference, max_ids=self._max_ids, max_rows=most, max_values=_MAX_VALUES
        )


RawResponse = tuple[bytes, bytes | memoryview, Trace, int]
"""Media type, body, further headers and status of an answer that is written at once. A class of its own would cost a
fiftieth of a request.
"""


class FastPath(Protocol):
    """The way to have the kernel answer one route, as a connection asks for it."""

    def open(self, headers: Headers, peer: tuple[str, int] | None) -> LogEntry | None:
        """Open a request by its head; ``None`` if a task is to do that."""

    def refusal(self, entry: LogEntry, headers: Headers) -> RawResponse | None:
        """Refuse a request by its head; ``None`` for most."""

    def answer(self, entry: LogEntry, headers: Headers, body: bytes) -> RawResponse | None:
        """Answer a request; ``None`` if a task is to do that."""
