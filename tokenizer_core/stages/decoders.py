"""Steps from the texts of tokens to text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tokenizer_core.arguments import check_choice, check_flag, check_unicode, integer_of, optional_integer, tuple_of

Joining = Literal["spaced"]


@dataclass(frozen=True, slots=True)
class Join:
    """A decoder without settings; ``spaced`` puts a space between tokens, as where Hugging Face has no decoder."""

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


DecoderStage = Join | WordPiece | SentencePieceText
