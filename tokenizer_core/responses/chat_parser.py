"""Parse an answer as it comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokenizer_core import _kernel
from tokenizer_core._kernel import StreamDecoder
from tokenizer_core.arguments import check_unicode
from tokenizer_core.chat.json_list import json_of
from tokenizer_core.responses.parsed import ParsedChat, Written
from tokenizer_core.responses.response_template import ResponseTemplate

if TYPE_CHECKING:
    from tokenizer_core.chat.rendered import RenderedChat

Event = dict[str, Any]
"""What happened to a field: ``type`` is ``region_open``, ``region_chunk`` (with ``text``, and ``dirty`` if it is only
a part of what the value is read from) or ``region_close`` (with the ``value``)."""


class ChatParser:
    """Parse an answer in parts, as ids or as text; what was told is never taken back.

    Attributes:
        initial_events: those of what the prompt wrote of the answer.
        final_events: those of the end, once it is there.

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
        self._ids: list[int] = []
        self._texts: list[str] = []
        self.initial_events: list[Event] = json.loads(self._parser.events())
        self.final_events: list[Event] = []

    def feed(self, output: Any) -> list[Event]:
        """Take more of the output: ids, or text.

        Raises:
            UnknownTokenId, InvalidUnicode
        """
        if not isinstance(output, str):
            if self._decoder is None:
                self._decoder = self._new_decoder()
            self._ids.extend(output)
            output = self._decoder.push(output)
        self._texts.append(output)
        events: list[Event] = json.loads(self._parser.feed(output)) if output else []
        return events

    def finish(self) -> ParsedChat:
        """End the output; half a character becomes U+FFFD."""
        texts = None
        if self._decoder is not None:
            self.feed(self._decoder.finish())
            texts = self._texts_of_ids
        found = json.loads(self._parser.finish())
        self.final_events = json.loads(self._parser.events())
        written = Written(self._prompt, "".join(self._texts), texts, self._render, self.finish_reason)
        return ParsedChat(found, written)

    def _texts_of_ids(self) -> list[str]:
        decoder = self._new_decoder()
        return [decoder.push([id]) for id in self._ids]
