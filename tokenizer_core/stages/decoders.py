"""Steps from the texts of tokens to text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tokenizer_core.arguments import check_choice, check_flag, check_unicode

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


DecoderStage = Join | WordPiece
