"""The pattern of a stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tokenizer_core import patterns
from tokenizer_core.arguments import check_choice, check_unicode
from tokenizer_core.errors import InvalidArtifact


@dataclass(frozen=True, slots=True)
class Pattern:
    """The pattern of a stage: the ``name`` of a known pattern, any other ``regex``, or a literal ``string``.

    A regular expression is kept as Oniguruma reads it, which is what a ``tokenizer.json`` holds.
    """

    kind: Literal["name", "regex", "string"]
    text: str

    def __post_init__(self) -> None:
        check_choice(self.kind, Literal["name", "regex", "string"], "kind")
        check_unicode(self.text, "text")
        if self.kind == "name":
            object.__setattr__(self, "text", patterns.ALIASES.get(self.text, self.text))

    @classmethod
    def of_regex(cls, text: str) -> Pattern:
        """Take a regular expression by its name if it is a known spelling, else as it is."""
        name = patterns.name_of(text)
        return cls("regex", text) if name is None else cls("name", name)

    @classmethod
    def named_or_regex(cls, text: str) -> Pattern:
        """Take what a caller gives: the name of a known pattern, or a regular expression as tiktoken reads it.

        Raises:
            InvalidOption: it is not a string of Unicode.
            InvalidArtifact: ``invalid_pattern`` for a word that is not a known name, since as a regular expression it
                would only match itself; and for what cannot be written into a ``tokenizer.json``.
        """
        check_unicode(text, "pattern")
        if text in patterns.PATTERNS or text in patterns.ALIASES:
            return cls("name", text)
        if text.replace("-", "_").isidentifier() or not text:
            names = ", ".join([*patterns.PATTERNS, *patterns.ALIASES])
            raise InvalidArtifact(
                f"no pattern is named {text[:80]!r}; known: {names}; or give a regular expression",
                code="invalid_pattern",
                field="pattern",
            )
        if patterns.name_of(text) is not None:
            return cls.of_regex(text)
        return cls.of_regex(patterns.from_tiktoken(text))

    def _json(self) -> dict[str, str]:
        return {self.kind: self.text}
