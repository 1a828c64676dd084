"""The frozen description of a tokenizer: the kernel's configuration, the metadata, and both with a vocabulary.

``PipelineConfig`` is the Python side of the kernel's ``config.rs``: field for field the same. Everything in it can
change an id and is covered by the tokenizer's hash; nothing in ``Settings`` is. A field of another type is refused by
its name (``InvalidOption``) wherever one of these is made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tokenizer_core import patterns
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.arguments import (
    check_choice,
    check_flag,
    check_kind,
    check_unicode,
    integer_of,
    optional_integer,
    tuple_of,
)
from tokenizer_core.errors import InvalidArtifact, InvalidOption, shown

Behavior = Literal["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
Rewriting = Literal["nfc", "nfd", "nfkc", "nfkd", "lowercase", "strip_accents"]
Side = Literal["left", "right"]
Unit = Literal["byte", "char", "utf16"]
"""Of spans."""


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


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A normalizer without settings."""

    type: Rewriting

    def __post_init__(self) -> None:
        check_choice(self.type, Rewriting, "type")

    def _json(self) -> dict[str, Any]:
        return {"type": self.type}


@dataclass(frozen=True, slots=True)
class Replace:
    """Every match becomes ``content``, taken literally."""

    pattern: Pattern
    content: str

    def __post_init__(self) -> None:
        check_kind(self.pattern, Pattern, "pattern")
        check_unicode(self.content, "content")

    def _json(self) -> dict[str, Any]:
        return {"type": "replace", "pattern": self.pattern._json(), "content": self.content}


@dataclass(frozen=True, slots=True)
class Prepend:
    """``prefix`` is put before a text that is not empty."""

    prefix: str

    def __post_init__(self) -> None:
        check_unicode(self.prefix, "prefix")

    def _json(self) -> dict[str, Any]:
        return {"type": "prepend", "prefix": self.prefix}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """White space is taken off the ends."""

    left: bool
    right: bool

    def __post_init__(self) -> None:
        check_flag(self.left, "left")
        check_flag(self.right, "right")

    def _json(self) -> dict[str, Any]:
        return {"type": "strip", "left": self.left, "right": self.right}


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


NormalizerStage = Rewrite | Replace | Prepend | Strip
PretokenizerStage = Split | Digits

ADDED_TOKEN_FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedToken:
    """A literal with an id of its own; the flags are those of Hugging Face.

    Raises:
        InvalidOption: a field is of another type, or the literal no Unicode text.
    """

    id: int
    content: str
    special: bool = False
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", integer_of(self.id, "id"))
        check_unicode(self.content, "content")
        for flag in ADDED_TOKEN_FLAGS:
            check_flag(getattr(self, flag), flag)

    def _json(self) -> dict[str, Any]:
        return {"id": self.id, "content": self.content, **{flag: getattr(self, flag) for flag in ADDED_TOKEN_FLAGS}}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConfig:
    """A whole pipeline but for its vocabulary; added tokens stand in the order of their ids."""

    normalizer: tuple[NormalizerStage, ...] = ()
    prefix_space: bool = False
    pretokenizer: tuple[PretokenizerStage, ...] = ()
    ignore_merges: bool = False
    added_tokens: tuple[AddedToken, ...] = ()
    prefix_ids: tuple[int, ...] = ()
    suffix_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (
            ("normalizer", NormalizerStage),
            ("pretokenizer", PretokenizerStage),
            ("added_tokens", AddedToken),
        ):
            stages = tuple_of(getattr(self, name), name)
            for index, stage in enumerate(stages):
                check_kind(stage, kind, f"{name}[{index}]")
            object.__setattr__(self, name, stages)
        for name in ("prefix_ids", "suffix_ids"):
            ids = tuple_of(getattr(self, name), name)
            ids = tuple(integer_of(id, f"{name}[{index}]") for index, id in enumerate(ids))
            object.__setattr__(self, name, ids)
        for flag in ("prefix_space", "ignore_merges"):
            check_flag(getattr(self, flag), flag)
        # The order changes no id, so it must not change the hash either.
        object.__setattr__(self, "added_tokens", tuple(sorted(self.added_tokens, key=lambda token: token.id)))

    @property
    def has_expressions(self) -> bool:
        """True if a stage has a regular expression without a scanner."""
        found = (getattr(stage, "pattern", None) for stage in (*self.normalizer, *self.pretokenizer))
        return any(pattern is not None and pattern.kind == "regex" for pattern in found)

    def to_json(self) -> str:
        """Write the canonical JSON that the kernel reads and the tokenizer's hash covers."""
        document = {
            "normalizer": [stage._json() for stage in self.normalizer],
            "prefix_space": self.prefix_space,
            "pretokenizer": [stage._json() for stage in self.pretokenizer],
            "ignore_merges": self.ignore_merges,
            "added_tokens": [token._json() for token in self.added_tokens],
            "prefix_ids": list(self.prefix_ids),
            "suffix_ids": list(self.suffix_ids),
        }
        return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The metadata of a tokenizer: it changes no id of a text.

    Args:
        bos, eos, pad, unk: literals, or ``None``.
        padding_side, truncation_side: applied only when a caller asks for padding or truncation.
        model_max_length: in ids, or ``None`` when the source names none.
        chat_template: Jinja source, or ``None``.
        named_templates: further templates by name, such as ``tool_use``.
        pair_template: ids, ``"A"`` and ``"B"`` with their type ids, as the source frames a pair; kept for export.
        extra: what else the source's ``tokenizer_config.json`` says, as JSON text by key; kept for export.

    Raises:
        InvalidOption: a literal or a template is not a string of Unicode, or a field of another type.
    """

    bos: str | None = None
    eos: str | None = None
    pad: str | None = None
    unk: str | None = None
    padding_side: Side = "right"
    truncation_side: Side = "right"
    model_max_length: int | None = None
    chat_template: str | None = None
    named_templates: tuple[tuple[str, str], ...] = ()
    pair_template: tuple[tuple[int | Literal["A", "B"], int], ...] | None = None
    extra: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name in ("bos", "eos", "pad", "unk", "chat_template"):
            if (value := getattr(self, name)) is not None:
                check_unicode(value, name)
        check_choice(self.padding_side, Side, "padding_side")
        check_choice(self.truncation_side, Side, "truncation_side")
        object.__setattr__(self, "model_max_length", optional_integer(self.model_max_length, "model_max_length"))
        for name, second in (("named_templates", "a template"), ("extra", "JSON text")):
            for index, pair in enumerate(tuple_of(getattr(self, name), name)):
                if len(tuple_of(pair, place := f"{name}[{index}]")) != 2:
                    raise InvalidOption(f"{place} is a name and {second}, not {len(pair)} parts", field=place)
                for text in pair:
                    check_unicode(text, place)
        for index, (_, text) in enumerate(self.extra):
            _check_json(text, f"extra[{index}]")
        for index, item in enumerate(tuple_of(self.pair_template or (), "pair_template")):
            if len(tuple_of(item, place := f"pair_template[{index}]")) != 2:
                raise InvalidOption(f"{place} is an id or a text, and its type id, not {len(item)} parts", field=place)
            if item[0] not in ("A", "B"):
                integer_of(item[0], place, 0)
            integer_of(item[1], place, 0)

    @property
    def templates(self) -> dict[str, str]:
        """The sources of all templates by name; the one without a name is ``default``."""
        default = {} if self.chat_template is None else {"default": self.chat_template}
        return default | dict(self.named_templates)

    def template_name(self, *, has_tools: bool) -> str:
        """Choose a template as Hugging Face does: ``tool_use`` if there are tools and it is there, else ``default``."""
        return "tool_use" if has_tools and "tool_use" in self.templates else "default"


def _check_json(text: str, field: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidOption(f"{field} has JSON text behind its name, not {shown(text)}", field=field) from None


@dataclass(frozen=True, slots=True)
class TokenizerParts:
    """The parts of a tokenizer: the result of every reader, the input of the facade."""

    vocabulary: Vocabulary
    config: PipelineConfig
    settings: Settings = field(default_factory=Settings)
    name: str = "tokenizer"
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_kind(self.vocabulary, Vocabulary, "vocabulary")
        check_kind(self.config, PipelineConfig, "config")
        check_kind(self.settings, Settings, "settings")
        check_unicode(self.name, "name")
        check_kind(self.provenance, Mapping, "provenance")
