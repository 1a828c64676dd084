"""Parse an answer as it comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokenizer_core import _kernel
from tokenizer_core._kernel import StreamDecoder
from tokenizer_core.arguments import check_unicode
from tokenizer_core.chat.json_list import json_of
from tokenizer_core.errors import InvalidOption
from tokenizer_core.responses.parsed import ParsedChat, Written
from tokenizer_core.responses.response_template import ResponseTemplate

if TYPE_CHECKING:
    from tokenizer_core.chat.rendered import RenderedChat

Event = dict[str, Any]
"""What happened to a field: ``type`` is ``region_open``, ``region_chunk`` (with ``text``, and ``dirty`` if it is only
a part of what the value is read from) or ``region_close`` (with the ``value``)."""


class ChatParser:
    """Parse an answer in parts, as ids or as text; what was told is never taken back.

    Args:
        template: of the response.
        prompt: the text that the output continues.
        decoder: makes the decoder of a stream of ids.
        tools: the tools whose schemas give arguments their types.
        render, finish_reason: as in ``Written``.
    """

    def __init__(
        self,
        template: ResponseTemplate,
        prompt: str,
        decoder: Callable[[], StreamDecoder],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        render: Callable[[Mapping[str, Any]], RenderedChat] | None = None,
        finish_reason: str | None = None,
    ) -> None:
        check_unicode(prompt, "prompt")
        self._parser = _kernel.ResponseParser(
            template.engine, prompt, None if tools is None else json_of(tools, "tools").decode()
        )
        self._prompt, self._new_decoder, self._render, self.finish_reason = prompt, decoder, render, finish_reason
        self._decoder: StreamDecoder | None = None
        self._has_ended = False
        self._ids: list[Any] = []
        self._texts: list[str] = []
        # The events of the beginning and of the end are read when somebody asks: few do.
        self._first, self._last = self._parser.events(), [b"[]"]

    @property
    def initial_events(self) -> list[Event]:
        """The events of what the prompt wrote of the answer."""
        return _events(self._first)

    @property
    def final_events(self) -> list[Event]:
        """The events of the end, once it is there."""
        return [event for events in self._last for event in _events(events)]

    def feed(self, output: Any) -> list[Event]:
        """Take more of the output: ids, or text.

        Raises:
            UnknownTokenId, InvalidUnicode
            InvalidOption: the parser has ended, or took text before ids or ids before text.
        """
        return _events(self._take(output))

    def finish(self) -> ParsedChat:
        """End the output; half a character becomes U+FFFD.

        Raises:
            InvalidOption: the parser has ended.
        """
        self._check_goes_on()
        texts, rest = None, b"[]"
        if self._decoder is not None:
            texts, rest = self._texts_of_ids, self._take_text(self._decoder.finish())
        found = _loads(self._parser.finish())
        self._last, self._has_ended = [rest, self._parser.events()], True
        written = Written(self._prompt, "".join(self._texts), texts, self._render, self.finish_reason)
        return ParsedChat(found, written)

    def parse(self, output: Any) -> ParsedChat:
        """Take all that is left of the output, and end it."""
        self._take(output)
        return self.finish()

    def _take(self, output: Any) -> bytes:
        self._check_goes_on()
        is_text = isinstance(output, str)
        if is_text != (self._decoder is None) and (self._texts or self._decoder is not None):
            raise InvalidOption("an output is ids or text, not both", field="output")
        if is_text:
            return self._take_text(output)
        if self._decoder is None:
            self._decoder = self._new_decoder()
        text = self._decoder.push(output)
        self._ids.append(copy(output))
        return self._take_text(text)

    def _take_text(self, text: str) -> bytes:
        events = self._parser.feed(text) if text else b"[]"
        self._texts.append(text)
        return events

    def _check_goes_on(self) -> None:
        if self._has_ended:
            raise InvalidOption("the parser has ended; make another one for another answer", field="output")

    def _texts_of_ids(self) -> list[str]:
        decoder = self._new_decoder()
        return [decoder.push([id]) for id in chain.from_iterable(self._ids)]


def _events(events: bytes) -> list[Event]:
    found: list[Event] = _loads(events)
    return found


def _loads(text: bytes) -> Any:
    """Read JSON; a whole number of more digits than Python reads is a float, which is infinite."""
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) <= _MOST_DIGITS else float(digits))


_MOST_DIGITS = 4300
"""Python's own bound."""
