"""Models: what turns pieces into ids, beside the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tokenizer_core.checked import Checked


@dataclass(frozen=True, slots=True)
class ByteBpe(Checked):
    """BPE over bytes; its settings are those of the pipeline."""

    TYPE = "byte_bpe"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordLevel(Checked):
    """Each piece is one token; a piece that is no entry becomes ``unk``, or is refused where that is ``None``."""

    TYPE = "word_level"

    unk: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPiece(Checked):
    """The longest entry that a word begins with, and then the longest that goes on.

    Args:
        unk: the id of a word that is not made of entries, or ``None`` to refuse such a word.
        prefix: what entries begin with that do not begin a word.
        max_chars: a word of more characters is unknown.
    """

    TYPE = "word_piece"

    unk: int | None
    prefix: str = "##"
    max_chars: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Unigram(Checked):
    """The entries whose scores have the highest sum.

    Args:
        unk: what unknown characters become; ``None``: they are refused.
        byte_fallback: they become the entries of their bytes.
        sums: ``double`` adds as Hugging Face within a piece, ``float`` as SentencePiece over the whole text.
        reserved: entries that no text becomes.
        user_defined: entries whose score is made of their length.
    """

    TYPE = "unigram"

    unk: int | None
    byte_fallback: bool = False
    sums: Literal["double", "float"] = "double"
    reserved: tuple[int, ...] = ()
    user_defined: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols(Checked):
    """SentencePiece's models: each character, or each word and the ``▁`` before it, is an entry or unknown.

    Args:
        unk, byte_fallback, reserved: as in ``Unigram``.
        user_defined: entries of many characters that are found before single ones.
    """

    TYPE = "symbols"

    unit: Literal["char", "word"]
    unk: int | None
    byte_fallback: bool = False
    reserved: tuple[int, ...] = ()
    user_defined: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CharBpe(Checked):
    """BPE over characters.

    Attributes:
        unk: the id of a character that is no entry; without it such a character is refused.
        fuse_unk: neighbours that are unknown become one token.
        byte_fallback: a character that is no entry becomes the tokens ``<0xNN>`` of its bytes, if there are all.
        by_score: neighbours that are an entry together are joined, the higher score first, whatever merges there are.
        prefix: what characters within a piece, but not its first one, have before them in the entries.
        suffix: what the last character of a piece has behind it in the entries.
        user_defined: entries that are found before characters, the longest first, and are never joined to others.
        reserved: entries that no text becomes.
        unused: entries that merges by scores make as any other, and that are taken apart again in the end.
    """

    TYPE = "char_bpe"
    SPARSE = frozenset({"by_score", "user_defined", "reserved", "unused"})

    unk: int | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    by_score: bool = False
    prefix: str = ""
    suffix: str = ""
    user_defined: tuple[int, ...] = ()
    reserved: tuple[int, ...] = ()
    unused: tuple[int, ...] = ()


Model = ByteBpe | CharBpe | WordLevel | WordPiece | Unigram | Symbols
