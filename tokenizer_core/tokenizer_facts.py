"""The facts that a tokenizer tells of itself: its name, hashes, sizes and special tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from tokenizer_core import artifact
from tokenizer_core._kernel import UNICODE_VERSION, Codec, Pipeline
from tokenizer_core.config import AddedToken, PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import TokdError
from tokenizer_core.formats.files import sha256
from tokenizer_core.results import CacheStatistics

SAMPLE = "Tokenization turns text into numbers.\nnaïve café · 東京 · 🙂"
"""The text that a notebook shows in coloured tokens of a tokenizer."""


class TokenizerFacts(Codec):
    """The parts of a tokenizer and its pipeline, and what can be read off them."""

    __slots__ = ("__dict__", "__weakref__", "_parts", "_pipeline")

    def __init__(self, parts: TokenizerParts, pipeline: Pipeline) -> None:
        Codec.__init__(self, pipeline)
        self._parts, self._pipeline = parts, pipeline

    @property
    def parts(self) -> TokenizerParts:
        """The vocabulary, the configuration and what accompanies them: what the writers of formats take."""
        return self._parts

    @property
    def name(self) -> str:
        """The name in the manifest, or one derived from the source."""
        return self._parts.name

    @property
    def config(self) -> PipelineConfig:
        """The frozen description of the pipeline."""
        return self._parts.config

    @property
    def settings(self) -> Settings:
        """Roles of special tokens, sides, template: what goes with a tokenizer and changes no id."""
        return self._parts.settings

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The origin of the tokenizer."""
        return MappingProxyType(dict(self._parts.provenance))

    @property
    def hash(self) -> str:
        """``sha256:`` and 64 hexadecimal digits over everything that can change an id."""
        return self._hash

    @cached_property
    def _hash(self) -> str:
        # Behind a property, because a cached one can be assigned to.
        return artifact.tokenizer_hash(self._parts)

    @property
    def template_hash(self) -> str | None:
        """The hash of the chat template, or ``None`` without one."""
        return artifact.template_hash(self._parts.settings)

    @cached_property
    def templates(self) -> Mapping[str, str]:
        """Compile all chat templates: their hashes by name; the one that has no name is ``default``.

        Raises:
            TemplateFailed: one of them is not a Jinja template.
            TemplateUnsupported: one of them uses a construct that is not supported.
        """
        sources = self.settings.templates
        if not sources:
            return MappingProxyType({})

        from tokenizer_core.chat.templates import compiled

        return MappingProxyType({name: compiled(source).hash for name, source in sources.items()})

    @cached_property
    def missing_tokens(self) -> Mapping[str, tuple[str, ...]]:
        """The tokens that each chat template reads as variables and nobody has: its chats are short of them.

        ``with_roles`` gives ``bos_token``, ``eos_token`` and ``pad_token``; the rest stands in the model's
        ``tokenizer_config.json``. What a template asks for first, such as by ``{% if bos_token %}``, is not missing.

        Raises:
            TemplateFailed, TemplateUnsupported
        """
        if not self.settings.templates:
            return MappingProxyType({})

        from tokenizer_core.chat.templates import missing_tokens

        return MappingProxyType(missing_tokens(self.settings))

    def _warn_of_missing_tokens(self) -> None:
        if missing := self.missing_tokens:
            import logging

            names = ", ".join(dict.fromkeys(name for names in missing.values() for name in names))
            said = "a chat template reads %s, and no token has this role; see with_roles and Tokenizer.missing_tokens"
            logging.getLogger("tokd").warning(said, names)

    def fingerprint(self, *, literals: str = "text", chat_literals: str = "text", content_format: str = "auto") -> str:
        """Return one hash over all that decides the ids of a chat: tokenizer, templates and the options of a server.

        By default it is that of a server whose settings are the defaults, as its header ``tokd-fingerprint`` says it.
        """
        from tokenizer_core.chat.templates import special_tokens

        templates = self.settings.templates
        tokens = special_tokens(self.settings).items()
        facts = {
            "tokenizer": self.hash,
            "templates": sorted((name, sha256(source.encode())) for name, source in templates.items()),
            # A role that no template speaks of, such as that of padding, changes no id of a chat.
            "variables": {name: text for name, text in tokens if any(name in source for source in templates.values())},
            "literals": literals,
            "chat_literals": chat_literals,
            "content_format": content_format,
        }
        return sha256(json.dumps(facts, sort_keys=True).encode())

    @property
    def unicode_version(self) -> str:
        """The version of Unicode that every character class follows."""
        return UNICODE_VERSION

    @property
    def vocab_size(self) -> int:
        """One more than the highest id: the rows that an embedding needs. Holes count."""
        return self._pipeline.id_limit

    @property
    def added_tokens(self) -> tuple[AddedToken, ...]:
        """The literals that are matched before everything else."""
        return self.config.added_tokens

    @property
    def special_tokens(self) -> dict[str, int]:
        """The ids of the special tokens by literal, as a new dict every time."""
        return {token.content: token.id for token in self.added_tokens if token.special}

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        return frozenset(self.special_tokens.values())

    @property
    def eos_id(self) -> int | None:
        """The end-of-text token, or ``None`` if there is none."""
        literal = self.settings.eos
        return None if literal is None else self.special_tokens.get(literal)

    @property
    def pad_id(self) -> int | None:
        """The id that fills padding, or ``None`` where the tokenizer names none."""
        literal = self.settings.pad
        return next((token.id for token in self.added_tokens if token.content == literal), None)

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes of one token; those of an added token are its literal.

        Raises:
            UnknownTokenId
        """
        data = self.decode_bytes([id])
        if not self.config.decoder:
            return data
        # A decoder makes something else of a token.
        literals = {token.id: token.content.encode() for token in self.added_tokens}
        return literals.get(id) or self._parts.vocabulary.token_bytes(id) or data

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The two parts of every merge, lowest rank first."""
        return self._parts.vocabulary.merges()

    @property
    def scores(self) -> list[float]:
        """The score of each id, 0 for a hole; empty where the vocabulary has none."""
        return self._parts.vocabulary.scores()

    @property
    def cache_statistics(self) -> CacheStatistics:
        """Counters of the piece caches, without unfinished calls."""
        return CacheStatistics(*self._pipeline.cache_statistics)

    def _repr_html_(self) -> str:
        from tokenizer_core.token_html import facts, shown_tokens

        rows = {
            "name": self.name,
            "hash": self.hash,
            "ids": f"{self.vocab_size:,}",
            "special tokens": f"{len(self.special_tokens):,}",
            "chat template": self.template_hash or "none",
        }
        try:
            ids, spans = self._pipeline.offsets(SAMPLE, "char", "ordinary", False)
        except TokdError:
            # A vocabulary that lacks a character of the sample has no ids for it.
            return facts(rows)
        return facts(rows) + shown_tokens(SAMPLE, ids, spans)
