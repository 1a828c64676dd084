"""Models: what turns pieces into ids, beside the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tokenizer_core.arguments import check_choice, check_flag, check_unicode, integer_of, optional_integer, tuple_of


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unigram:
    """The entries whose scores have the highest sum.

    Args:
        unk: what unknown characters become; ``None``: they are refused.
        byte_fallback: they become the entries of their bytes.
        sums: ``double`` adds as Hugging Face within a piece, ``float`` as SentencePiece over the whole text.
        reserved: entries that no text becomes.
        user_defined: entries whose score is made of their length.
    """

    unk: int | None
    byte_fallback: bool = False
    sums: Literal["double", "float"] = "double"
    reserved: tuple[int, ...] = ()
    user_defined: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check_pieces(self)
        check_choice(self.sums, Literal["double", "float"], "sums")

    def _json(self) -> dict[str, Any]:
        return {"type": "unigram", "sums": self.sums, **_pieces_json(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """SentencePiece's models: each character, or each word and the ``▁`` before it, is an entry or unknown.

    Args:
        unk, byte_fallback, reserved: as in ``Unigram``.
        user_defined: entries of many characters that are found before single ones.
    """

    unit: Literal["char", "word"]
    unk: int | None
    byte_fallback: bool = False
    reserved: tuple[int, ...] = ()
    user_defined: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check_pieces(self)
        check_choice(self.unit, Literal["char", "word"], "unit")

    def _json(self) -> dict[str, Any]:
        return {"type": "symbols", "unit": self.unit, **_pieces_json(self)}


def _check_pieces(model: CharBpe | Unigram | Symbols) -> None:
    object.__setattr__(model, "unk", optional_integer(model.unk, "unk"))
    check_flag(model.byte_fallback, "byte_fallback")
    for name in ("reserved", "user_defined"):
        object.__setattr__(model, name, _ids(getattr(model, name), name))


def _ids(given: object, name: str) -> tuple[int, ...]:
    return tuple(integer_of(id, f"{name}[{index}]", 0) for index, id in enumerate(tuple_of(given, name)))


def _pieces_json(model: Unigram | Symbols) -> dict[str, Any]:
    return {
        "unk": model.unk,
        "byte_fallback": model.byte_fallback,
        "reserved": list(model.reserved),
        "user_defined": list(model.user_defined),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CharBpe:
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

    unk: int | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    by_score: bool = False
    prefix: str = ""
    suffix: str = ""
    user_defined: tuple[int, ...] = ()
    reserved: tuple[int, ...] = ()
    unused: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check_pieces(self)
        object.__setattr__(self, "unused", _ids(self.unused, "unused"))
        for flag in ("fuse_unk", "byte_fallback", "by_score"):
            check_flag(getattr(self, flag), flag)
        for affix in ("prefix", "suffix"):
            check_unicode(getattr(self, affix), affix)

    def _json(self) -> dict[str, Any]:
        return {
            "type": "char_bpe",
            "unk": self.unk,
            "fuse_unk": self.fuse_unk,
            "byte_fallback": self.byte_fallback,
            "prefix": self.prefix,
            "suffix": self.suffix,
            **({"by_score": True} if self.by_score else {}),
            **({"user_defined": list(self.user_defined)} if self.user_defined else {}),
            **({"reserved": list(self.reserved)} if self.reserved else {}),
            **({"unused": list(self.unused)} if self.unused else {}),
        }


Model = ByteBpe | CharBpe | WordLevel | WordPiece | Unigram | Symbols
