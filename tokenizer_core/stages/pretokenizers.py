"""Cuts of the text into pieces; some drop or rewrite parts of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tokenizer_core.arguments import check_character, check_choice, check_flag, check_kind, integer_of
from tokenizer_core.stages.pattern import Pattern

Behavior = Literal["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
Cutting = Literal["whitespace_split", "bert", "whitespace", "unicode_scripts"]
Prepending = Literal["always", "first", "never"]


@dataclass(frozen=True, slots=True)
class Split:
    """Cut at the matches of a pattern; each cut has one form, whatever it was made from, so that it has one hash."""

    pattern: Pattern
    behavior: Behavior = "isolated"
    invert: bool = False

    def __post_init__(self) -> None:
        check_kind(self.pattern, Pattern, "pattern")
        check_choice(self.behavior, Behavior, "behavior")
        check_flag(self.invert, "invert")
        if self.pattern.kind == "regex":
            object.__setattr__(self, "pattern", Pattern.of_regex(self.pattern.text))
        if self.behavior == "removed" and self.invert and self.pattern.kind == "name":
            # A named pattern covers every text: what it leaves out, and this removes, is nothing.
            object.__setattr__(self, "behavior", "isolated")
        object.__setattr__(self, "invert", self.invert and self.behavior != "isolated")

    @classmethod
    def into_matches(cls, text: str) -> Split:
        """Make the matches of a pattern the pieces, as tiktoken and GPT-2 do.

        Named patterns cover every text. Of any other pattern, what lies outside its matches is dropped there and an
        error here (``uncovered_text``).

        Args:
            text: the name of a known pattern, or a regular expression as tiktoken reads it.
        """
        pattern = Pattern.named_or_regex(text)
        return cls(pattern) if pattern.kind == "name" else cls(pattern, "removed", invert=True)

    def _json(self) -> dict[str, Any]:
        return {
            "type": "split",
            "pattern": self.pattern._json(),
            "behavior": self.behavior,
            "invert": self.invert,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits:
    """Cut at digits: each alone, or each run."""

    individual: bool

    def __post_init__(self) -> None:
        check_flag(self.individual, "individual")

    def _json(self) -> dict[str, Any]:
        return {"type": "digits", "individual": self.individual}


@dataclass(frozen=True, slots=True)
class Cut:
    """A pretokenizer without settings; white space that it cuts at is dropped."""

    type: Cutting

    def __post_init__(self) -> None:
        check_choice(self.type, Cutting, "type")

    def _json(self) -> dict[str, Any]:
        return {"type": self.type}


@dataclass(frozen=True, slots=True)
class Punctuation:
    """Cut at punctuation marks."""

    behavior: Behavior = "isolated"

    def __post_init__(self) -> None:
        check_choice(self.behavior, Behavior, "behavior")

    def _json(self) -> dict[str, Any]:
        return {"type": "punctuation", "behavior": self.behavior}


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Pieces of so many characters."""

    length: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", integer_of(self.length, "length", 1))

    def _json(self) -> dict[str, Any]:
        return {"type": "fixed_length", "length": self.length}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metaspace:
    """Spaces become ``replacement``, which is also put before pieces, and cuts them if ``split``.

    Attributes:
        prepend: which pieces that do not begin with it it is put before: ``first`` is the one that begins the text.
    """

    replacement: str
    prepend: Prepending
    split: bool

    def __post_init__(self) -> None:
        check_character(self.replacement, "replacement")
        check_choice(self.prepend, Prepending, "prepend")
        check_flag(self.split, "split")

    def _json(self) -> dict[str, Any]:
        return {
            "type": "metaspace",
            "replacement": self.replacement,
            "prepend": self.prepend,
            "split": self.split,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Alphabet:
    """Bytes become characters of the byte alphabet; ``prefix_space`` puts a space before pieces that have none."""

    prefix_space: bool

    def __post_init__(self) -> None:
        check_flag(self.prefix_space, "prefix_space")

    def _json(self) -> dict[str, Any]:
        return {"type": "byte_level", "prefix_space": self.prefix_space}


PretokenizerStage = Split | Digits | Cut | Punctuation | FixedLength | Metaspace | Alphabet


def keeps_text(stage: PretokenizerStage) -> bool:
    """Tell whether all text is in pieces as it is; byte-level BPE refuses text that an inverted split leaves out."""
    match stage:
        case Split(_, behavior, invert):
            return behavior != "removed" or invert
        case Punctuation(behavior):
            return behavior != "removed"
        case _:
            return isinstance(stage, Digits | FixedLength)
