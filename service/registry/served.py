"""A loaded tokenizer: the beginning of its answers, and whether its texts may take long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from service.registry.fingerprint import DEFAULTS, HEADER, IdOptions, Literals
from service.request_log import Trace
from tokenizer_core import ChatAnswers, Explainer, Responder, SegmentCache, Tokenizer

OWN_EXPRESSION_BYTES = 2 << 10
"""Longer texts leave the event loop where a regular expression of the artifact's own cuts them: a quadratic one takes
9 ms for so many bytes, and 140 ms for four times as many."""

UNKNOWN_LENGTH = (1 << 31) - 1
"""The number of ids a model takes if its artifact does not say: engines always know the number, and it is an int."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ServedTokenizer:
    """A verified tokenizer, and what every answer of it begins with."""

    tokenizer: Tokenizer
    path: str
    is_trained: bool = False
    """True if a job trained the tokenizer, so a caller chose its expressions."""
    options: IdOptions = DEFAULTS
    """The options that decide ids beside the tokenizer."""
    segments: SegmentCache | None = None
    """Where the ids of segments of chats are kept."""
    name: str = field(init=False)
    hash: str = field(init=False)
    template: str | None = field(init=False)
    """The template's hash."""
    head: bytes = field(init=False)
    """``{"tokenizer":"sha256:...",``"""
    fingerprint: str = field(init=False)
    """Of all answers but those in which literals are the engine's."""
    _of_engine: str = field(init=False)
    headers: Trace = field(init=False)
    """The headers of these answers, made once: an answer on the fast path has no time for more."""
    generation: Mapping[str, Any] = field(init=False)
    """The values of the model's ``generation_config.json``."""
    responder: Responder = field(init=False)
    """The kernel's answers to plain requests."""
    chats: ChatAnswers = field(init=False)
    """The same about chats."""
    max_model_len: int = field(init=False)
    """The number of ids that the model takes."""
    frame_sizes: tuple[int, int] = field(init=False)
    """The numbers of ids that are put round a text, and round a pair."""
    _has_expressions: bool = field(init=False)
    _explainer: Explainer | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        # Templates are compiled here, so that a broken one is an error at the start and not at the first chat.
        _ = self.tokenizer.templates
        object.__setattr__(self, "name", self.tokenizer.name)
        object.__setattr__(self, "hash", self.tokenizer.hash)
        object.__setattr__(self, "template", self.tokenizer.template_hash)
        object.__setattr__(self, "fingerprint", self.options.fingerprint(self.tokenizer, "text"))
        object.__setattr__(self, "_of_engine", self.options.fingerprint(self.tokenizer, "engine"))
        object.__setattr__(self, "headers", ((HEADER, self.fingerprint.encode("ascii")),))
        generation = {key: json.loads(text) for key, text in self.tokenizer.settings.generation}
        object.__setattr__(self, "generation", generation)
        object.__setattr__(self, "head", b'{"tokenizer":"' + self.hash.encode("ascii") + b'",')
        object.__setattr__(self, "responder", Responder(self.tokenizer, self.head))
        length = self.tokenizer.settings.model_length
        object.__setattr__(self, "max_model_len", UNKNOWN_LENGTH if length is None else length)
        chats = ChatAnswers(self.tokenizer, self.tokenizer.settings, self.head, self.segments)
        object.__setattr__(self, "chats", chats)
        config, pair = self.tokenizer.config, self.tokenizer.settings.pair_template
        single = len(config.prefix_ids) + len(config.suffix_ids)
        object.__setattr__(self, "frame_sizes", (single, 2 * single if pair is None else len(pair)))
        object.__setattr__(self, "_has_expressions", self.tokenizer.config.has_expressions)

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
            object.__setattr__(self, "_explainer", Explainer(self.tokenizer))
        assert self._explainer is not None
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
