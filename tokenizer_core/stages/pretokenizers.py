"""Cuts of the text into pieces; some drop or rewrite parts of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tokenizer_core.arguments import integer_of
from tokenizer_core.checked import Character, Checked
from tokenizer_core.stages.pattern import Pattern

Behavior = Literal["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
Cutting = Literal["whitespace_split", "bert", "whitespace", "unicode_scripts"]
Prepending = Literal["always", "first", "never"]


@dataclass(frozen=True, slots=True)
class Split(Checked):
    """Cut at the matches of a pattern; each cut has one form, whatever it was made from, so that it has one hash."""

    TYPE = "split"

    pattern: Pattern
    behavior: Behavior = "isolated"
    invert: bool = False

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits(Checked):
    """Cut at digits: each alone, or each run."""

    TYPE = "digits"

    individual: bool


@dataclass(frozen=True, slots=True)
class Cut(Checked):
    """A pretokenizer without settings; white space that it cuts at is dropped."""

    type: Cutting


@dataclass(frozen=True, slots=True)
class Punctuation(Checked):
    """Cut at punctuation marks."""

    TYPE = "punctuation"

    behavior: Behavior = "isolated"


@dataclass(frozen=True, slots=True)
class FixedLength(Checked):
    """Pieces of so many characters."""

    TYPE = "fixed_length"

    length: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", integer_of(self.length, "length", 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metaspace(Checked):
    """Spaces become ``replacement``, which is also put before pieces, and cuts them if ``split``.

    Attributes:
        prepend: which pieces that do not begin with it it is put before: ``first`` is the one that begins the text.
    """

    TYPE = "metaspace"

    replacement: Character
    prepend: Prepending
    split: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Alphabet(Checked):
    """Bytes become characters of the byte alphabet; ``prefix_space`` puts a space before pieces that have none."""

    TYPE = "byte_level"

    prefix_space: bool


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
