"""A loaded tokenizer: the beginning of its answers, and whether its texts may take long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from service.registry.fingerprint import DEFAULTS, HEADER, IdOptions, Literals
from service.request_log import Trace
from tokenizer_core import ChatAnswers, Explainer, Responder, SegmentCache, Tokenizer

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

    def info(self, *, default: bool, models: list[str]) -> dict[str, Any]:
        """Describe the tokenizer as ``schemas.TokenizerInfo`` says."""
        tokenizer = self.tokenizer
        return {
            "tokenizer": self.hash,
            "name": self.name,
            "default": default,
            "models": models,
            "vocab_size": tokenizer.vocab_size,
            "special_tokens": tokenizer.special_tokens,
            "pad_id": tokenizer.pad_id,
            "unk_id": getattr(tokenizer.config.model, "unk", None),
            "padding_side": tokenizer.settings.padding_side,
            "truncation_side": tokenizer.settings.truncation_side,
            "model_max_length": tokenizer.settings.model_max_length,
            "template": self.template,
            "templates": dict(tokenizer.templates),
            "missing_tokens": dict(tokenizer.missing_tokens),
            "unicode_version": tokenizer.unicode_version,
            "provenance": dict(tokenizer.provenance),
        }
