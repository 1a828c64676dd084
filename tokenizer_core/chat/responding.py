"""Answers to plain requests with one chat, from the bytes of their bodies."""

from __future__ import annotations

from typing import Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from tokenizer_core._kernel import ChatResponder, ChatTemplate, Codec
from tokenizer_core.chat.rendering import RESERVED, special_tokens, template_of
from tokenizer_core.chat.templates import ContentFormat, now
from tokenizer_core.config import Settings
from tokenizer_core.errors import TemplateMissing

ChatRoute = Literal["encode", "count", "tokenize"]
"""Ids with their number, the number alone, or what vLLM answers to ``/tokenize``."""


class ChatAnswerOptions(TypedDict):
    """What every question to ``ChatAnswers`` has.

    Attributes:
        content_format: the form of content for the template.
        max_items: the most messages.
        most: the steps that the template may take; by default what its budget has.
    """

    content_format: ContentFormat
    max_items: int
    most: int | None


class ChatAnswers:
    """What the kernel answers about chats; a caller's literals in them are text.

    Args:
        tokenizer: encodes, with the templates and special tokens of ``settings``.
        head: how every answer of a native route begins: the brace and the first fields, each with a comma after it.
        max_model_len: how many ids the model takes.
    """

    def __init__(self, tokenizer: Codec, settings: Settings, head: bytes, max_model_len: int) -> None:
        self._responder = ChatResponder(
            tokenizer,
            _source(settings, head, has_tools=False),
            _source(settings, head, has_tools=True),
            specials=list(special_tokens(settings).items()),
            reserved=list(RESERVED),
            max_model_len=max_model_len,
        )

    def answer(
        self, route: ChatRoute, body: bytes, reference: str | None, **options: Unpack[ChatAnswerOptions]
    ) -> tuple[bytes | npt.NDArray[np.uint8], int] | str | None:
        """Answer a body.

        Args:
            reference: the name by which the caller found this tokenizer; ``None`` if the body need not name any.
            options: those of ``ChatAnswerOptions``.

        Returns:
            The answer (an array if it is long) and the number of its ids; or the reference of another tokenizer, which
            the body names; or ``None`` if the body is unusual or holds an error, or the steps are spent.
        """
        return self._responder.answer(route, body, reference, now=now(), **options)

    def render(
        self, body: bytes, reference: str | None, **options: Unpack[ChatAnswerOptions]
    ) -> tuple[bytes, int, bytes] | str | None:
        """Render and encode the chat of a body that is vLLM's request for a completion; arguments as of ``answer``.

        Returns:
            The ids as JSON, their number, and the members of the body that are not about the chat, as JSON with a comma
            behind each; otherwise as ``answer``.
        """
        return self._responder.render(body, reference, now=now(), **options)


def _source(settings: Settings, head: bytes, *, has_tools: bool) -> tuple[ChatTemplate, bytes] | None:
    """Return the template of chats that name none, and how answers about them begin."""
    try:
        template = template_of(settings, None, has_tools)
    except TemplateMissing:
        return None
    return template.engine, head + f'"template":"{template.hash}",'.encode("ascii")
