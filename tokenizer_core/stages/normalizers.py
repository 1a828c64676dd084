"""Rewrites of the text between added tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tokenizer_core.checked import Checked
from tokenizer_core.stages.pattern import Pattern

Rewriting = Literal["nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents", "byte_level", "nmt"]


@dataclass(frozen=True, slots=True)
class Rewrite(Checked):
    """A normalizer without settings."""

    type: Rewriting


@dataclass(frozen=True, slots=True)
class Replace(Checked):
    """Every match becomes ``content``, taken literally."""

    TYPE = "replace"

    pattern: Pattern
    content: str


@dataclass(frozen=True, slots=True)
class Prepend(Checked):
    """``prefix`` is put before a text that is not empty."""

    TYPE = "prepend"

    prefix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip(Checked):
    """White space is taken off the ends."""

    TYPE = "strip"

    left: bool
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bert(Checked):
    """BERT's: controls are dropped, Chinese characters stand alone, accents are dropped, letters are small."""

    TYPE = "bert"

    clean_text: bool
    handle_chinese_chars: bool
    strip_accents: bool
    lowercase: bool


BERT_FLAGS = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")


@dataclass(frozen=True, slots=True)
class Precompiled(Checked):
    """SentencePiece's charsmap as Hugging Face applies it: to clusters of a few bytes, else to characters."""

    TYPE = "precompiled"

    charsmap: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceRules(Checked):
    """All that SentencePiece does to a text before its model.

    Args:
        charsmap: its table of rewrites; empty for none.
        symbols: texts that no rule changes.
        dummy_prefix: a space is put before the text, or behind it with ``suffix``.
        fold: spaces at both ends are dropped, and of others next to each other all but one.
        escape: a space becomes ``▁``.
    """

    TYPE = "sentence_piece"

    charsmap: bytes = b""
    symbols: tuple[str, ...] = ()
    dummy_prefix: bool = True
    suffix: bool = False
    fold: bool = True
    escape: bool = True


NormalizerStage = Rewrite | Replace | Prepend | Strip | Bert | Precompiled | SentencePieceRules
