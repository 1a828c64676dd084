"""Steps from the texts of tokens to text: each makes of a list of texts another list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tokenizer_core.arguments import (
    check_character,
    check_choice,
    check_flag,
    check_unicode,
    integer_of,
    optional_integer,
    tuple_of,
)
from tokenizer_core.stages.normalizers import Replace
from tokenizer_core.stages.pattern import Pattern

Joining = Literal["spaced", "fuse", "byte_fallback", "byte_level"]


@dataclass(frozen=True, slots=True)
class Join:
    """A decoder without settings.

    ``spaced`` puts a space between texts, as where Hugging Face has no decoder; ``fuse`` makes one of all; with
    ``byte_fallback`` runs of ``<0xNN>`` become the text of these bytes, or U+FFFD for each; with ``byte_level`` texts
    in the byte alphabet become one, that of their bytes.
    """

    type: Joining

    def __post_init__(self) -> None:
        check_choice(self.type, Joining, "type")

    def _json(self) -> dict[str, Any]:
        return {"type": self.type}


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPiece:
    """A space between tokens, but not before one that begins with ``prefix``, which is dropped.

    ``cleanup`` takes away spaces before punctuation and in contractions.
    """

    prefix: str = "##"
    cleanup: bool = True

    def __post_init__(self) -> None:
        check_unicode(self.prefix, "prefix")
        check_flag(self.cleanup, "cleanup")

    def _json(self) -> dict[str, Any]:
        return {"type": "word_piece", "prefix": self.prefix, "cleanup": self.cleanup}


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceText:
    """Decode as SentencePiece does; the only stage.

    Args:
        unk, unk_surface: the unknown token, and what it becomes.
        control: tokens that become nothing.
        byte_fallback: entries ``<0x00>`` to ``<0xFF>`` stand for bytes.
        dummy_prefix: a first ``▁`` is not text.
        fold: no ``▁`` at the beginning is.
    """

    unk: int | None
    unk_surface: str = " ⁇ "
    control: tuple[int, ...] = ()
    byte_fallback: bool = False
    dummy_prefix: bool = True
    fold: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "unk", optional_integer(self.unk, "unk"))
        check_unicode(self.unk_surface, "unk_surface")
        control = tuple_of(self.control, "control")
        control = tuple(integer_of(id, f"control[{index}]", 0) for index, id in enumerate(control))
        object.__setattr__(self, "control", control)
        for flag in ("byte_fallback", "dummy_prefix", "fold"):
            check_flag(getattr(self, flag), flag)

    def _json(self) -> dict[str, Any]:
        return {
            "type": "sentence_piece",
            "unk": self.unk,
            "unk_surface": self.unk_surface,
            "control": list(self.control),
            "byte_fallback": self.byte_fallback,
            "dummy_prefix": self.dummy_prefix,
            "fold": self.fold,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaspaceDecoder:
    """``replacement`` becomes a space, or nothing in the first text if it ``drops_first``."""

    replacement: str
    drops_first: bool

    def __post_init__(self) -> None:
        check_character(self.replacement, "replacement")
        check_flag(self.drops_first, "drops_first")

    def _json(self) -> dict[str, Any]:
        return {"type": "metaspace", "replacement": self.replacement, "drops_first": self.drops_first}


@dataclass(frozen=True, slots=True)
class BpeDecoder:
    """The ``suffix`` of words becomes a space, and nothing in the last text."""

    suffix: str

    def __post_init__(self) -> None:
        check_unicode(self.suffix, "suffix")

    def _json(self) -> dict[str, Any]:
        return {"type": "bpe", "suffix": self.suffix}


@dataclass(frozen=True, slots=True, kw_only=True)
class StripDecoder:
    """Up to ``start`` characters ``content`` are dropped at the start of each text, and up to ``stop`` at its end."""

    content: str
    start: int
    stop: int

    def __post_init__(self) -> None:
        check_character(self.content, "content")
        for count in ("start", "stop"):
            object.__setattr__(self, count, integer_of(getattr(self, count), count, 0))

    def _json(self) -> dict[str, Any]:
        return {"type": "strip", "content": self.content, "start": self.start, "stop": self.stop}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ctc:
    """What a model of speech writes: a token for each moment, of which repeated ones count once.

    ``pad`` is dropped; ``cleanup`` is that of :class:`WordPiece`, and makes ``delimiter`` a space.
    """

    pad: str
    delimiter: str
    cleanup: bool

    def __post_init__(self) -> None:
        check_unicode(self.pad, "pad")
        check_unicode(self.delimiter, "delimiter")
        check_flag(self.cleanup, "cleanup")

    def _json(self) -> dict[str, Any]:
        return {"type": "ctc", "pad": self.pad, "delimiter": self.delimiter, "cleanup": self.cleanup}


DecoderStage = Join | WordPiece | Ctc | SentencePieceText | MetaspaceDecoder | BpeDecoder | Replace | StripDecoder

CLEAN_UP: tuple[DecoderStage, ...] = (
    Join("fuse"),
    *(Replace(Pattern("string", f" {sign}"), sign) for sign in (".", "?", "!", ",")),
    Replace(Pattern("string", " ' "), "'"),
    *(Replace(Pattern("string", f" {word}"), word) for word in ("n't", "'m", "'s", "'ve", "'re")),
)
"""Take spaces before punctuation and in contractions away: ``clean_up_tokenization`` of transformers."""
