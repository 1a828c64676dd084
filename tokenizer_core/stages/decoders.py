"""Steps from the texts of tokens to text: each makes of a list of texts another list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tokenizer_core.checked import Character, Checked
from tokenizer_core.stages.normalizers import Replace
from tokenizer_core.stages.pattern import Pattern

Joining = Literal["spaced", "fuse", "byte_fallback", "byte_level"]


@dataclass(frozen=True, slots=True)
class Join(Checked):
    """A decoder without settings.

    ``spaced`` puts a space between texts, as where Hugging Face has no decoder; ``fuse`` makes one of all; with
    ``byte_fallback`` runs of ``<0xNN>`` become the text of these bytes, or U+FFFD for each; with ``byte_level`` texts
    in the byte alphabet become one, that of their bytes.
    """

    type: Joining


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPiece(Checked):
    """A space between tokens, but not before one that begins with ``prefix``, which is dropped.

    ``cleanup`` takes away spaces before punctuation and in contractions.
    """

    TYPE = "word_piece"

    prefix: str = "##"
    cleanup: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceText(Checked):
    """Decode as SentencePiece does; the only stage.

    Args:
        unk, unk_surface: the unknown token, and what it becomes.
        control: tokens that become nothing.
        byte_fallback: entries ``<0x00>`` to ``<0xFF>`` stand for bytes.
        dummy_prefix: a first ``▁`` is not text.
        fold: no ``▁`` at the beginning is.
    """

    TYPE = "sentence_piece"

    unk: int | None
    unk_surface: str = " ⁇ "
    control: tuple[int, ...] = ()
    byte_fallback: bool = False
    dummy_prefix: bool = True
    fold: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaspaceDecoder(Checked):
    """``replacement`` becomes a space, or nothing in the first text if it ``drops_first``."""

    TYPE = "metaspace"

    replacement: Character
    drops_first: bool


@dataclass(frozen=True, slots=True)
class BpeDecoder(Checked):
    """The ``suffix`` of words becomes a space, and nothing in the last text."""

    TYPE = "bpe"

    suffix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StripDecoder(Checked):
    """Up to ``start`` characters ``content`` are dropped at the start of each text, and up to ``stop`` at its end."""

    TYPE = "strip"

    content: Character
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ctc(Checked):
    """The output of a model of speech: a token for each moment, of which repeated ones count once.

    ``pad`` is dropped; ``cleanup`` is that of :class:`WordPiece`, and makes ``delimiter`` a space.
    """

    TYPE = "ctc"

    pad: str
    delimiter: str
    cleanup: bool


DecoderStage = Join | WordPiece | Ctc | SentencePieceText | MetaspaceDecoder | BpeDecoder | Replace | StripDecoder

CLEAN_UP: tuple[DecoderStage, ...] = (
    Join("fuse"),
    *(Replace(Pattern("string", f" {sign}"), sign) for sign in (".", "?", "!", ",")),
    Replace(Pattern("string", " ' "), "'"),
    *(Replace(Pattern("string", f" {word}"), word) for word in ("n't", "'m", "'s", "'ve", "'re")),
)
"""Take spaces before punctuation and in contractions away: ``clean_up_tokenization`` of transformers."""
