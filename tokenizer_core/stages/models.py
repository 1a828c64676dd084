"""Models: what turns pieces into ids, beside the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tokenizer_core.arguments import check_unicode, integer_of, optional_integer


@dataclass(frozen=True, slots=True)
class ByteBpe:
    """BPE over bytes; its settings are those of the pipeline."""

    def _json(self) -> dict[str, Any]:
        return {"type": "byte_bpe"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WordLevel:
    """Each piece is one token; a piece that is no entry becomes ``unk``, or is refused where that is ``None``."""

    unk: int | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "unk", optional_integer(self.unk, "unk"))

    def _json(self) -> dict[str, Any]:
        return {"type": "word_level", "unk": self.unk}


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPiece:
    """The longest entry that a word begins with, and then the longest that goes on.

    Args:
        unk: the id of a word that is not made of entries, or ``None`` to refuse such a word.
        prefix: what entries begin with that do not begin a word.
        max_chars: a word of more characters is unknown.
    """

    unk: int | None
    prefix: str = "##"
    max_chars: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "unk", optional_integer(self.unk, "unk"))
        check_unicode(self.prefix, "prefix")
        object.__setattr__(self, "max_chars", integer_of(self.max_chars, "max_chars", 0))

    def _json(self) -> dict[str, Any]:
        return {"type": "word_piece", "unk": self.unk, "prefix": self.prefix, "max_chars": self.max_chars}


Model = ByteBpe | WordLevel | WordPiece
