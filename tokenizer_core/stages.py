"""The stages of a pipeline: each is the JSON that the kernel's room ``config`` declares, documents and checks.

>>> from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer
>>> Normalizer("replace", pattern=Pattern("string", "oe"), content="ö").to_dict()
{'type': 'replace', 'pattern': {'string': 'oe'}, 'content': 'ö'}
>>> Pretokenizer("punctuation").behavior
'isolated'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from tokenizer_core import patterns
from tokenizer_core._kernel import canonical_stage
from tokenizer_core.arguments import check_choice, check_unicode, whole_number
from tokenizer_core.errors import InvalidArtifact, InvalidOption, shown

Rewriting = Literal["nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents", "byte_level", "nmt"]
"""The normalizers without fields."""


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


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Stage:
    """One stage: its ``type``, and its fields, which are attributes too; a list becomes a tuple.

    A field that is left out has the kernel's default. The error for an unknown type or field lists those that exist.

    Raises:
        InvalidOption: at the field that the stage does not have, or has otherwise.
    """

    part: ClassVar[str]

    text: str
    """Canonical JSON; it alone is compared."""
    _fields: dict[str, Any] = field(compare=False)

    def __init__(self, type: str, **fields: Any) -> None:
        given = {name: _plain(value, name) for name, value in {"type": type, **fields}.items()}
        object.__setattr__(self, "text", canonical_stage(self.part, json.dumps(given)))
        object.__setattr__(self, "_fields", {name: _frozen(value) for name, value in json.loads(self.text).items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._fields:
            raise AttributeError(f"a {self.part} {self._fields['type']} has no field {name}")
        return self._fields[name]

    def __repr__(self) -> str:
        type, *fields = (repr(value) if name == "type" else f"{name}={value!r}" for name, value in self._fields.items())
        return f"{self.__class__.__name__}({', '.join((type, *fields))})"

    def to_dict(self) -> dict[str, Any]:
        """Return the stage as JSON has it."""
        document: dict[str, Any] = json.loads(self.text)
        return document


class Normalizer(Stage):
    """A rewrite of the text between added tokens."""

    __slots__ = ()
    part = "normalizer"


class Pretokenizer(Stage):
    """A cut of the text into pieces; some drop or rewrite parts of it.

    A split has one form, whatever it was made from, so that it has one hash.
    """

    __slots__ = ()
    part = "pretokenizer"

    def __init__(self, type: str, **fields: Any) -> None:
        Stage.__init__(self, type, **fields)
        if type == "split":
            pattern, behavior, invert = self.pattern, self.behavior, self.invert
            if pattern.kind == "regex":
                pattern = Pattern.of_regex(pattern.text)
            if behavior == "removed" and invert and pattern.kind == "name":
                # A named pattern covers every text: what it leaves out, and this removes, is nothing.
                behavior = "isolated"
            invert = invert and behavior != "isolated"
            Stage.__init__(self, type, pattern=pattern, behavior=behavior, invert=invert)

    @classmethod
    def into_matches(cls, text: str) -> Pretokenizer:
        """Make the matches of a pattern the pieces, as tiktoken and GPT-2 do.

        Named patterns cover every text. Of any other pattern, what lies outside its matches is dropped there and an
        error here (``uncovered_text``).

        Args:
            text: the name of a known pattern, or a regular expression as tiktoken reads it.
        """
        return cls("split", pattern=Pattern.named_or_regex(text), behavior="removed", invert=True)

    @property
    def keeps_text(self) -> bool:
        """True if all text is in pieces as it is; byte-level BPE refuses text that an inverted split leaves out."""
        if self.type in ("split", "punctuation"):
            return bool(self.behavior != "removed" or self._fields.get("invert"))
        return self.type in ("digits", "fixed_length")


_LATER = ("by_score", "user_defined", "reserved", "unused")
"""Fields of BPE over characters that came later."""


class Model(Stage):
    """The model, which turns pieces into ids, but for its vocabulary."""

    __slots__ = ()
    part = "model"

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON has it, without what came later and says nothing: older hashes stay the same."""
        document = Stage.to_dict(self)
        later = _LATER if self.type == "char_bpe" else ()
        return {name: value for name, value in document.items() if value or name not in later}

    @property
    def is_byte_bpe(self) -> bool:
        """True of BPE over bytes, which has no fields and needs no decoder."""
        return bool(self.type == "byte_bpe")


class Decoder(Stage):
    """A step from the texts of tokens to text: it makes of a list of texts another list."""

    __slots__ = ()
    part = "decoder"


def _plain(value: Any, name: str) -> Any:
    """Return what a caller gives as JSON has it."""
    if isinstance(value, Pattern):
        return {value.kind: value.text}
    if isinstance(value, str):
        check_unicode(value, name)
    elif isinstance(value, list | tuple):
        return [_plain(item, f"{name}[{index}]") for index, item in enumerate(value)]
    elif (number := whole_number(value)) is not None:
        return number
    elif not isinstance(value, bool | float | Mapping | None):
        raise InvalidOption(f"{name} is a value that JSON has, not {shown(value)}", field=name)
    return value


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return Pattern(*next(iter(value.items())))
    return tuple(value) if isinstance(value, list) else value


def _short(text: str, content: str) -> Decoder:
    return Decoder("replace", pattern=Pattern("string", text), content=content)


CLEAN_UP: tuple[Decoder, ...] = (
    Decoder("fuse"),
    *(_short(f" {sign}", sign) for sign in (".", "?", "!", ",")),
    _short(" ' ", "'"),
    *(_short(f" {word}", word) for word in ("n't", "'m", "'s", "'ve", "'re")),
)
"""Take spaces before punctuation and in contractions away: ``clean_up_tokenization`` of transformers."""
