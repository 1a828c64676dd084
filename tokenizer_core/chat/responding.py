"""Answers to plain requests with one chat, from the bytes of their bodies."""

from __future__ import annotations

import json
from typing import Literal, TypedDict, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from tokenizer_core._kernel import ChatResponder, ChatTemplate, Codec, SegmentCache
from tokenizer_core.chat.rendering import RESERVED, StepsSpent, template_of
from tokenizer_core.chat.templates import ContentFormat, Now, Template, special_tokens
from tokenizer_core.config import Settings
from tokenizer_core.errors import TemplateMissing

T = TypeVar("T")

ChatRoute = Literal["encode", "count", "tokenize"]
"""Ids with their number, the number alone, or what vLLM answers to ``/tokenize``."""


class ChatAnswerOptions(TypedDict):
    """The options of every question to ``ChatAnswers``.

    Attributes:
        content_format: the form of content for the template.
        key: the name of the caller's key; what is kept of one's segments no other finds.
        literals: what the literal of a special token in a caller's text is, if the request does not say.
        max_items: the most messages.
        max_model_len: how many ids the model takes.
        may_parse: a native request may say that it is the token.
        most: the steps that the template may take; by default what its budget has.
    """

    content_format: ContentFormat
    key: str
    literals: Literal["text", "parse"]
    max_items: int
    max_model_len: int
    may_parse: bool
    most: int | None


class ChatAnswers:
    """The kernel's answers about chats.

    Args:
        tokenizer: encodes, with the templates and special tokens of ``settings``.
        head: how every answer of a native route begins: the brace and the first fields, each with a comma after it.
        segments: where the ids of segments are kept; by default nowhere.
    """

    def __init__(self, tokenizer: Codec, settings: Settings, head: bytes, segments: SegmentCache | None = None) -> None:
        templates = [_template(settings, has_tools=has_tools) for has_tools in (False, True)]
        self._responder = ChatResponder(
            tokenizer,
            *(_source(template, head) for template in templates),
            specials=list(special_tokens(settings).items()),
            reserved=list(RESERVED),
            segments=segments,
        )
        self._clock = next((each for each in templates if each is not None and each.tells_time), None)

    def answer(
        self, route: ChatRoute, body: bytes, reference: str | None, **options: Unpack[ChatAnswerOptions]
    ) -> tuple[bytes | npt.NDArray[np.uint8], int] | str | None:
        """Answer a body.

        Args:
            reference: the name by which the caller found this tokenizer; ``None`` if the body need not name any.
            options: those of ``ChatAnswerOptions``.

        Returns:
            The answer (an array if it is long) and the number of its ids; or the reference of another tokenizer, which
            the body names; or ``None`` if the body is unusual or holds an error.

        Raises:
            StepsSpent: the template needs more steps than it may take.
        """
        return _soon(self._responder.answer(route, body, reference, self._now(), options))

    def render(
        self, body: bytes, reference: str | None, **options: Unpack[ChatAnswerOptions]
    ) -> tuple[bytes | npt.NDArray[np.uint8], int, bytes] | str | None:
        """Render and encode the chat of a body that is vLLM's request for a completion; arguments as of ``answer``.

        Returns:
            The ids as JSON (an array if it is long), their number, and the members of the body that are not about the
            chat, as JSON with a comma behind each; otherwise as ``answer``, which raises the same.
        """
        return _soon(self._responder.ids("render", body, reference, self._now(), options))

    def encode_bytes(
        self, body: bytes, reference: str | None, **options: Unpack[ChatAnswerOptions]
    ) -> tuple[bytes | npt.NDArray[np.uint8], int, str] | str | None:
        """Encode the chat of a body, as ``answer`` does for ``"encode"``.

        Returns:
            Four bytes of each id, the number of ids, and the hash of the template; otherwise as ``answer``.
        """
        given = _soon(self._responder.ids("bytes", body, reference, self._now(), options))
        if given is None or isinstance(given, str):
            return given
        ids, count, head = given
        return ids, count, json.loads(head[:-1] + b"}")["template"]

    def _now(self) -> Now | None:
        return None if self._clock is None else self._clock.now()


def _soon(given: T | Literal[False]) -> T:
    if given is False:
        raise StepsSpent
    return given


def _template(settings: Settings, *, has_tools: bool) -> Template | None:
    """Return the template of chats that name none."""
    try:
        return template_of(settings, None, has_tools)
    except TemplateMissing:
        return None


def _source(template: Template | None, head: bytes) -> tuple[ChatTemplate, bytes] | None:
    """Return a template and how answers about its chats begin."""
    return None if template is None else (template.engine, head + f'"template":"{template.hash}",'.encode("ascii"))
