"""Plain requests with a chat, which the kernel answers from their bytes as it does those with texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

from service.http import response_binary
from service.http.fast_path import CHAT, Given, LeftToThread, PlainRequests, PlainTexts
from service.http.json_body import refuse_many_values
from service.http.response_json import Answer, Block
from service.registry.engines import Engines
from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.request_log import Trace
from service.schemas.inline import INLINE_CHAT_BYTES, inline_steps
from service.settings import Settings
from tokenizer_core import ChatAnswerOptions, ChatRoute, ContentFormat


class Chats:
    """Asks the kernel about chats.

    Args:
        engines: what a model's engine does, on routes that name models.
    """

    def __init__(self, settings: Settings, engines: Engines | None = None) -> None:
        self._most_items, self._engines = settings.max_items, engines
        self._content_format = cast(ContentFormat, settings.content_format)
        self._literals, self._may_parse = settings.chat_literals, settings.chat_parse

    def options(
        self, loaded: ServedTokenizer, body: bytes, model: str | None, may_take_long: bool, key: str
    ) -> ChatAnswerOptions | None:
        """Return the options of a question, if it may be asked; a body that is refused whatever it holds is refused.

        Raises:
            LeftToThread: by its size alone a body may take long which may not.
        """
        literals, length = self._literals, loaded.max_model_len
        if self._engines is not None:
            length = self._engines.length(model, loaded)
            literals = "parse" if self._engines.literals(model, loaded.name) == "engine" else literals
        if literals == "reject" or CHAT not in body:
            return None
        if not may_take_long and (len(body) > INLINE_CHAT_BYTES or loaded.takes_long(len(body))):
            raise LeftToThread
        refuse_many_values(body)
        return {
            "content_format": self._content_format,
            "key": key,
            "literals": cast(Literal["text", "parse"], literals),
            "max_items": self._most_items,
            "max_model_len": length,
            "may_parse": self._may_parse,
            "most": None if may_take_long else inline_steps(len(body)),
        }

    def ask(
        self,
        route: ChatRoute,
        loaded: ServedTokenizer,
        body: bytes,
        reference: str | None,
        may_take_long: bool,
        key: str,
    ) -> Given:
        """Ask for a whole answer."""
        options = self.options(loaded, body, reference, may_take_long, key)
        return options and loaded.chats.answer(route, body, reference, **options)


class PlainTextsOrChats(PlainTexts):
    """Requests of a native route with texts, or with one chat."""

    def __init__(
        self, route: Literal["encode", "count"], registry: Callable[[], Registry], settings: Settings, threads: int
    ) -> None:
        super().__init__(route, registry, settings, threads)
        self._chats = Chats(settings)
        self._chat_route: ChatRoute = route

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool, key: str) -> Given:
        given = super()._ask(loaded, body, reference, may_take_long, key)
        if given is not None:
            return given
        return self._chats.ask(self._chat_route, loaded, body, reference, may_take_long, key)


class PlainBytes(PlainRequests):
    """Requests of ``/encode`` with one chat, whose ids are answered as bare bytes."""

    def __init__(self, registry: Callable[[], Registry], settings: Settings) -> None:
        super().__init__(registry, settings)
        self._chats = Chats(settings)

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool, key: str) -> Given:
        options = self._chats.options(loaded, body, reference, may_take_long, key)
        return options and loaded.chats.encode_bytes(body, reference, **options)

    def _answer(self, loaded: ServedTokenizer, _: str | None, ids: Block, tokens: int, *template: str) -> Answer:
        return response_binary.answer(loaded, ids, tokens, template[0])


class PlainTokenize(PlainRequests):
    """Requests with one chat to ``/tokenize`` as vLLM has it."""

    def __init__(self, registry: Callable[[], Registry], settings: Settings, engines: Engines) -> None:
        super().__init__(registry, settings)
        self._chats, self._engines = Chats(settings, engines), engines

    def _find(self, registry: Registry, reference: str) -> ServedTokenizer:
        return registry.of_model(reference)

    def _ask(self, loaded: ServedTokenizer, body: bytes, reference: str | None, may_take_long: bool, key: str) -> Given:
        return self._chats.ask("tokenize", loaded, body, reference, may_take_long, key)

    def _headers(self, loaded: ServedTokenizer, reference: str | None) -> Trace:
        return self._engines.headers(reference, loaded)
