"""A loaded tokenizer: the beginning of its answers, whether its texts may take long, and the options of a chat's ids.

These options are in the fingerprint of answers, beside the tokenizer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from service.request_log import Trace
from service.settings import Settings
from tokenizer_core import ChatAnswers, Explainer, Responder, SegmentCache, Tokenizer

Literals = Literal["text", "engine"]
"""The treatment of a special token's literal in a message: as text, or as the engine treats it."""

HEADER = b"tokd-fingerprint"
"""The header of answers: a member of a body that an engine takes would go on to the engine."""


@dataclass(frozen=True, slots=True)
class IdOptions:
    """The settings of a server, the same for all its tokenizers, that decide the ids of a chat."""

    chat_literals: str = "text"
    content_format: str = "auto"

    @classmethod
    def of(cls, settings: Settings) -> IdOptions:
        """Take them from the settings."""
        return cls(settings.chat_literals, settings.content_format)

    def fingerprint(self, tokenizer: Tokenizer, literals: Literals) -> str:
        """Return a tokenizer's fingerprint: servers with equal ones give equal ids."""
        return tokenizer.fingerprint(literals=literals, **asdict(self))


DEFAULTS = IdOptions()

OWN_EXPRESSION_BYTES = 2 << 10
"""Longer texts leave the event loop where a regular expression of the artifact's own cuts them: a quadratic one takes
9 ms for so many bytes, and 140 ms for four times as many."""

UNKNOWN_LENGTH = (1 << 31) - 1
"""The number of ids a model takes if its artifact does not say: engines always know the number, and it is an int."""


class ServedTokenizer:
    """A verified tokenizer, and what every answer of it begins with. Nothing of it ever changes.

    Args:
        is_trained: a job trained the tokenizer, so a caller chose its expressions.
        options: those that decide ids beside the tokenizer.
        segments: where the ids of segments of chats are kept.

    Attributes:
        template: the template's hash.
        head: ``{"tokenizer":"sha256:...",``
        fingerprint: of all answers but those in which literals are the engine's, and ``headers`` those of these
            answers, made once: an answer on the fast path has no time for more.
        generation: the values of the model's ``generation_config.json``.
        responder: the kernel's answers to plain requests; ``chats`` the same about chats.
        max_model_len: how many ids the model takes.
        frame_sizes: how many ids are put round a text, and round a pair.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        path: str,
        *,
        is_trained: bool = False,
        options: IdOptions = DEFAULTS,
        segments: SegmentCache | None = None,
    ) -> None:
        # Templates are compiled here, so that a broken one is an error at the start and not at the first chat.
        _ = tokenizer.templates
        settings, config = tokenizer.settings, tokenizer.config
        self.tokenizer, self.path, self.is_trained = tokenizer, path, is_trained
        self.name, self.hash, self.template = tokenizer.name, tokenizer.hash, tokenizer.template_hash
        self.fingerprint = options.fingerprint(tokenizer, "text")
        self._of_engine = options.fingerprint(tokenizer, "engine")
        self.headers: Trace = ((HEADER, self.fingerprint.encode("ascii")),)
        self.generation: Mapping[str, Any] = {key: json.loads(text) for key, text in settings.generation}
        self.head = b'{"tokenizer":"' + self.hash.encode("ascii") + b'",'
        self.responder = Responder(tokenizer, self.head)
        self.max_model_len = UNKNOWN_LENGTH if settings.model_length is None else settings.model_length
        self.chats = ChatAnswers(tokenizer, settings, self.head, segments)
        single, pair = len(config.prefix_ids) + len(config.suffix_ids), settings.pair_template
        self.frame_sizes = single, 2 * single if pair is None else len(pair)
        self._has_expressions = config.has_expressions
        self._explainer: Explainer | None = None

    def fingerprint_of(self, literals: Literals) -> str:
        """Return the fingerprint of answers in which literals become this."""
        return self.fingerprint if literals == "text" else self._of_engine

    def headers_of(self, literals: Literals) -> Trace:
        """Return the headers of answers in which literals become this."""
        return self.headers if literals == "text" else ((HEADER, self.fingerprint_of(literals).encode("ascii")),)

    def takes_long(self, size: int) -> bool:
        """Tell whether ``size`` bytes may take long, because a regular expression of the artifact's own cuts them.

        Where a caller chose the expression no text is short enough: 16 letters can take milliseconds.
        """
        return self._has_expressions and (self.is_trained or size > OWN_EXPRESSION_BYTES)

    def explainer(self) -> Explainer:
        """Return what explains ids step by step, made when it is first asked for: it takes some 200 bytes a token.

        Raises:
            InvalidOption: this family has no steps.
        """
        if self._explainer is None:
            self._explainer = Explainer(self.tokenizer)
        return self._explainer
