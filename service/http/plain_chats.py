"""Plain requests with a chat, which the kernel answers from their bytes as it does those with texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

from service.http.fast_path import Given, PlainRequests, PlainTexts
from service.http.json_body import refuse_many_values
from service.registry.engines import Engines
from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.schemas.requests import INLINE_STEPS
from service.settings import Settings
from tokenizer_core import ChatAnswerOptions, ChatRoute, ContentFormat

_MESSAGES = b'"messages"'


class Chats:
    """Asks the kernel about chats in which a caller's literals are text."""

    def __init__(self, settings: Settings) -> None:
        self._most_items = settings.max_items
        self._content_format = cast(ContentFormat, settings.content_format)
        self._is_on = settings.chat_literals == "text"

    def takes(self, loaded: ServedTokenizer, body: bytes, may_take_long: bool) -> bool:
        """Tell whether a body may be asked about; one that is refused whatever it holds is refused."""
        if not self._is_on or _MESSAGES not in body or (loaded.takes_long(len(body)) and not may_take_long):
            return False
        refuse_many_values(body)
        return True

    def options(self, may_take_long: bool) -> ChatAnswerOptions:
        """Return what every question has in common."""
        return {
            "content_format": self._content_format,
            "max_items": self._most_items,
            "most": None if may_take_long else INLINE_STEPS,
        }

    def ask(
        self, route: ChatRoute, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool
    ) -> Given:
        """Ask for a whole answer."""
        if not self.takes(loaded, body, may_take_long):
            return None
        return loaded.chats.answer(route, body, reference, **self.options(may_take_long))


class PlainTextsOrChats(PlainTexts):
    """Requests of a native route with texts, or with one chat."""

    def __init__(
        self, route: Literal["encode", "count"], registry: Callable[[], Registry], settings: Settings, threads: int
    ) -> None:
        super().__init__(route, registry, settings, threads)
        self._chats = Chats(settings)
        self._chat_route: ChatRoute = route

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool) -> Given:
        given = super()._ask(loaded, body, reference, may_take_long)
        if given is not None:
            return given
        return self._chats.ask(self._chat_route, loaded, body, reference, may_take_long)


class PlainTokenize(PlainRequests):
    """Requests with one chat to ``/tokenize`` as vLLM has it."""

    def __init__(self, registry: Callable[[], Registry], settings: Settings, engines: Engines) -> None:
        super().__init__(registry, settings)
        self._chats = Chats(settings)
        self._differs_by_model = engines.engine_literals > 0 or engines.has_lengths

    def _find(self, registry: Registry, reference: str) -> ServedTokenizer:
        return registry.of_model(reference)

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool) -> Given:
        if self._differs_by_model:
            return None
        return self._chats.ask("tokenize", loaded, body, reference, may_take_long)
