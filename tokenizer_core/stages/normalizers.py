"""Rewrites of the text between added tokens."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, Literal

from tokenizer_core.arguments import check_choice, check_flag, check_kind, check_unicode, tuple_of
from tokenizer_core.stages.pattern import Pattern

Rewriting = Literal["nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents", "byte_level", "nmt"]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A normalizer without settings."""

    type: Rewriting

    def __post_init__(self) -> None:
        check_choice(self.type, Rewriting, "type")

    def _json(self) -> dict[str, Any]:
        return {"type": self.type}


@dataclass(frozen=True, slots=True)
class Replace:
    """Every match becomes ``content``, taken literally."""

    pattern: Pattern
    content: str

    def __post_init__(self) -> None:
        check_kind(self.pattern, Pattern, "pattern")
        check_unicode(self.content, "content")

    def _json(self) -> dict[str, Any]:
        return {"type": "replace", "pattern": self.pattern._json(), "content": self.content}


@dataclass(frozen=True, slots=True)
class Prepend:
    """``prefix`` is put before a text that is not empty."""

    prefix: str

    def __post_init__(self) -> None:
        check_unicode(self.prefix, "prefix")

    def _json(self) -> dict[str, Any]:
        return {"type": "prepend", "prefix": self.prefix}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """White space is taken off the ends."""

    left: bool
    right: bool

    def __post_init__(self) -> None:
        check_flag(self.left, "left")
        check_flag(self.right, "right")

    def _json(self) -> dict[str, Any]:
        return {"type": "strip", "left": self.left, "right": self.right}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bert:
    """BERT's: controls are dropped, Chinese characters stand alone, accents are dropped, letters are small."""

    clean_text: bool
    handle_chinese_chars: bool
    strip_accents: bool
    lowercase: bool

    def __post_init__(self) -> None:
        for flag in BERT_FLAGS:
            check_flag(getattr(self, flag), flag)

    def _json(self) -> dict[str, Any]:
        return {"type": "bert", **{flag: getattr(self, flag) for flag in BERT_FLAGS}}


BERT_FLAGS = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")


@dataclass(frozen=True, slots=True)
class Precompiled:
    """SentencePiece's charsmap as Hugging Face applies it: to clusters of a few bytes, else to characters."""

    charsmap: bytes

    def __post_init__(self) -> None:
        check_kind(self.charsmap, bytes, "charsmap")

    def _json(self) -> dict[str, Any]:
        return {"type": "precompiled", "charsmap": base64.b64encode(self.charsmap).decode()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceRules:
    """All that SentencePiece does to a text before its model.

    Args:
        charsmap: its table of rewrites; empty for none.
        symbols: texts that no rule changes.
        dummy_prefix: a space is put before the text, or behind it with ``suffix``.
        fold: spaces at both ends are dropped, and of others next to each other all but one.
        escape: a space becomes ``▁``.
    """

    charsmap: bytes = b""
    symbols: tuple[str, ...] = ()
    dummy_prefix: bool = True
    suffix: bool = False
    fold: bool = True
    escape: bool = True

    def __post_init__(self) -> None:
        check_kind(self.charsmap, bytes, "charsmap")
        object.__setattr__(self, "symbols", tuple_of(self.symbols, "symbols"))
        for index, symbol in enumerate(self.symbols):
            check_unicode(symbol, f"symbols[{index}]")
        for flag in ("dummy_prefix", "suffix", "fold", "escape"):
            check_flag(getattr(self, flag), flag)

    def _json(self) -> dict[str, Any]:
        return {
            "type": "sentence_piece",
            "charsmap": base64.b64encode(self.charsmap).decode(),
            "symbols": list(self.symbols),
            "dummy_prefix": self.dummy_prefix,
            "suffix": self.suffix,
            "fold": self.fold,
            "escape": self.escape,
        }


NormalizerStage = Rewrite | Replace | Prepend | Strip | Bert | Precompiled | SentencePieceRules
