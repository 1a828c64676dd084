"""Settings of the models of SentencePiece, checked before any work.

An artifact is a ``tokenizer.json`` where that format can say it, and a ``tokenizer.model`` where not: with symbols of
the user, spaces behind words, and whole words or single characters as entries.
"""

from __future__ import annotations

import base64
import re
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from tokenizer_core._kernel import Pipeline, Vocabulary
from tokenizer_core.arguments import check_unicode
from tokenizer_core.config import PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, InvalidOption, shown
from tokenizer_core.formats import sentencepiece
from tokenizer_core.formats.sentencepiece_export import ESCAPED, JOINED, PREFIXED, SPACE, WORDS, charsmap_of, ranked
from tokenizer_core.formats.sentencepiece_write import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, Rules, write
from tokenizer_core.stages import Decoder, Model, Normalizer, Pattern, Pretokenizer
from tokenizer_core.training.described import described
from tokenizer_core.training.entry_settings import EntrySettings, Merges
from tokenizer_core.training.learning import Learned, Lesson
from tokenizer_core.training.setting_checks import check_limit
from tokenizer_core.training.settings import TieBreak

BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
MAX_SYMBOLS = 10_000
"""Most symbols of the user: all are parts of one expression, which cuts a corpus."""

MAX_SYMBOL_BYTES = 7999
"""The most of a piece in a SentencePiece model."""

NUL = "\0"
"""No piece of a SentencePiece model has it."""


def _split(expression: str) -> Pretokenizer:
    return Pretokenizer("split", pattern=Pattern("regex", expression))


_PREFIXED_WORDS = _split(rf"{SPACE}?[^{SPACE}]+|{SPACE}")
_PREFIXED_RUNS = _split(rf"{SPACE}+(?={SPACE})|{SPACE}[^{SPACE}]*|[^{SPACE}]+")
"""Words, each with one space before it; those before that one are a word of their own."""
_SUFFIXED_WORDS = _split(rf"[^{SPACE}]*{SPACE}|[^{SPACE}]+")
_SUFFIXED_RUNS = _split(rf"[^{SPACE}]+{SPACE}?|{SPACE}+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacedSettings(EntrySettings, ABC):
    """The settings that all models of SentencePiece have, by their names there.

    A space becomes ``▁`` and begins a word, also before the text, or ends it.
    """

    model_type: ClassVar[Literal["unigram", "bpe", "word", "char"]]

    unk: str = "<unk>"
    byte_fallback: bool = described(
        False,
        "of all models of SentencePiece: a character that is no entry becomes those of its bytes, 256 of the "
        "vocabulary",
    )
    remove_extra_whitespaces: bool = described(
        True, "of all models of SentencePiece: of several spaces one is left, at both ends of a text none"
    )
    add_dummy_prefix: bool = described(True, "of all models of SentencePiece: a space is put before a text")
    treat_whitespace_as_suffix: bool = described(
        False, "of all models of SentencePiece: a space ends a word; the artifact holds a `tokenizer.model`"
    )
    user_defined_symbols: Sequence[str] = described(
        (),
        "of all models of SentencePiece: texts that are always one token, with the ids behind the special tokens, or "
        "among them; the artifact holds a `tokenizer.model`",
        "TEXT",
    )

    def _check_own(self) -> None:
        EntrySettings._check_own(self)
        if len(self.user_defined_symbols) > MAX_SYMBOLS:
            message = f"user_defined_symbols are at most {MAX_SYMBOLS}, not {len(self.user_defined_symbols)}"
            raise InvalidOption(message, field="user_defined_symbols")
        seen, taken = set[str](), {"", self.unk, *BYTES}
        for index, symbol in enumerate(self.user_defined_symbols):
            field = f"user_defined_symbols[{index}]"
            check_unicode(symbol, field)
            if symbol in taken or any(character in symbol for character in (" ", SPACE, NUL)):
                message = f"{shown(symbol)} is empty, has a space, is a byte or the unknown token; take another text"
                raise InvalidOption(message, field=field)
            if len(symbol.encode()) > MAX_SYMBOL_BYTES:
                raise InvalidOption(f"{shown(symbol)} has more than {MAX_SYMBOL_BYTES} bytes", field=field)
            if symbol in seen:
                raise InvalidOption(f"{shown(symbol)} stands twice", field=field)
            seen.add(symbol)

    def _check_pipeline(self) -> None:
        if self.user_defined_symbols:
            try:
                Pipeline(Vocabulary.from_tokens([], []), self.pipeline().to_json())
            except InvalidArtifact:
                message = "user_defined_symbols have too many characters together to be cut out of a corpus"
                raise InvalidOption(f"{message}; leave some away", field="user_defined_symbols") from None
        EntrySettings._check_pipeline(self)

    @property
    def fixed(self) -> tuple[str, ...]:
        literals = dict.fromkeys(self.literals)
        symbols = (symbol for symbol in self.user_defined_symbols if symbol not in literals)
        return (*literals, *symbols, *(BYTES if self.byte_fallback else ()))

    @property
    def cuts_words(self) -> bool:
        """No entry goes over a space."""
        return True

    @property
    def cuts_behind_spaces(self) -> bool:
        """A corpus is cut behind spaces, not before."""
        return self.treat_whitespace_as_suffix

    @property
    def has_runs(self) -> bool:
        """Several spaces may be an entry."""
        return False

    @property
    def is_model_file(self) -> bool:
        """No ``tokenizer.json`` can say the tokenizer."""
        return bool(self.user_defined_symbols) or self.treat_whitespace_as_suffix

    @property
    def pretokenizers(self) -> tuple[Pretokenizer, ...]:
        """Return what cuts a corpus."""
        longest_first = sorted(self.user_defined_symbols, key=len, reverse=True)
        symbols = Pattern("regex", "|".join(map(re.escape, longest_first)))
        apart = [Pretokenizer("split", pattern=symbols, behavior="removed")] if longest_first else []
        if self.is_model_file or not self.cuts_words:
            apart.append(Pretokenizer("split", pattern=Pattern("string", NUL), behavior="removed"))
        if not self.cuts_words:
            return tuple(apart)
        if self.cuts_behind_spaces:
            return (*apart, _SUFFIXED_RUNS if self.has_runs else _SUFFIXED_WORDS)
        if self.has_runs:
            return (*apart, _PREFIXED_RUNS)
        if self.is_model_file:
            return (*apart, _PREFIXED_WORDS)
        prepend = "always" if self.add_dummy_prefix else "never"
        return (Pretokenizer("metaspace", replacement=SPACE, prepend=prepend, split=True),)

    def pipeline(self) -> PipelineConfig:
        """Describe how a corpus is cut. Joined spaces cut no word in another way, and a lone one is not learned."""
        config = EntrySettings.pipeline(self)
        if self.is_model_file:
            return replace(config, normalizer=(*self._lines, self._rules(config.normalizer)))
        if not self.cuts_words:
            joined = [JOINED] if self.remove_extra_whitespaces else []
            return replace(config, normalizer=(*self._lines, *config.normalizer, *joined, *self.escaped))
        escaped = self.escaped if self.has_runs else ()
        return replace(config, normalizer=(*config.normalizer, *escaped))

    @property
    def _lines(self) -> tuple[Normalizer, ...]:
        """The stage that makes lines texts of their own, where words are not."""
        if self.cuts_words:
            return ()
        before, behind = (" ", "") if self.treat_whitespace_as_suffix else ("", " ")
        border = before + NUL + behind if self.add_dummy_prefix else NUL
        spaces = " *" if self.remove_extra_whitespaces else ""
        return (Normalizer("replace", pattern=Pattern("regex", rf"{spaces}\n{spaces}"), content=border),)

    def _rules(self, rewrites: tuple[Normalizer, ...]) -> Normalizer:
        return Normalizer(
            "sentence_piece",
            charsmap=base64.b64encode(charsmap_of(rewrites)).decode(),
            symbols=tuple(sorted(self.user_defined_symbols)),
            dummy_prefix=self.add_dummy_prefix,
            suffix=self.treat_whitespace_as_suffix,
            fold=self.remove_extra_whitespaces,
            escape=True,
        )

    @property
    def escaped(self) -> tuple[Normalizer, ...]:
        """The stages that write spaces as SentencePiece does."""
        return (*([PREFIXED] if self.add_dummy_prefix else []), ESCAPED)

    @property
    def decoders(self) -> tuple[Decoder, ...]:
        spaces, bytes_ = (
            Decoder("replace", pattern=Pattern("string", SPACE), content=" "),
            [Decoder("byte_fallback")] if self.byte_fallback else [],
        )
        first = [Decoder("strip", content=" ", start=1, stop=0)] if self.add_dummy_prefix else []
        return (spaces, *bytes_, Decoder("fuse"), *first)

    def build(self, entries: Sequence[str], scores: Sequence[float], merges: Merges = ()) -> TokenizerParts:
        """Make the tokenizer. No entry goes over the borders of words, so the text need not be cut.

        Unigram is faster on words than on a text.
        """
        rewrites = EntrySettings.pipeline(self).normalizer
        if self.is_model_file:
            return self._build_model(entries, scores, merges, rewrites)
        parts = EntrySettings.build(self, entries, scores, merges)
        joined = [JOINED] if self.remove_extra_whitespaces else []
        words = (WORDS,) if self.has_scores and joined and self.cuts_words else ()
        normalizer = (*rewrites, *joined, *self.escaped)
        return replace(parts, config=replace(parts.config, normalizer=normalizer, pretokenizer=words))

    def _build_model(
        self, entries: Sequence[str], scores: Sequence[float], merges: Merges, rewrites: tuple[Normalizer, ...]
    ) -> TokenizerParts:
        kinds = dict.fromkeys(self.literals, CONTROL) | dict.fromkeys(self.user_defined_symbols, USER_DEFINED)
        kinds[self.unk] = UNKNOWN
        own = scores if self.has_scores else ranked(len(entries), merges)
        fixed = [(text, 0.0, kinds.get(text, BYTE)) for text in self.fixed]
        rules = Rules(
            model_type=self.model_type,
            byte_fallback=self.byte_fallback,
            dummy_prefix=self.add_dummy_prefix,
            fold=self.remove_extra_whitespaces,
            charsmap=charsmap_of(rewrites),
            names={"unk": self.unk},
            suffix=self.treat_whitespace_as_suffix,
        )
        learned = [(text, score, NORMAL) for text, score in zip(entries, own, strict=True)]
        parts = sentencepiece.parse(write([*fixed, *learned], rules), {})
        return replace(parts, settings=Settings(unk=self.unk))


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceSettings(SpacedSettings, ABC):
    """The settings that both trainers of pieces have."""

    max_token_length: int = 16
    character_coverage: float = described(
        0.9995,
        "of Unigram and BPE in the style of SentencePiece: only the most frequent characters that are together so "
        "great a share of all, above 0 and at most 1",
        "SHARE",
    )
    required_characters: str = described(
        "", "of Unigram, such BPE and such characters: characters that are entries whether they occur or not", "TEXT"
    )
    allow_whitespace_only_pieces: bool = described(
        False,
        "of Unigram and such BPE: several spaces may be an entry; goes without `remove_extra_whitespaces`, and a "
        "document is then held whole while it is counted",
    )
    split_by_whitespace: bool = described(
        True,
        "of Unigram and such BPE: no entry goes over a space; if one may, none goes over a line break, and a document "
        "is held whole while it is counted",
    )
    split_by_unicode_script: bool = described(
        True, "of Unigram and such BPE: no entry has characters of several scripts"
    )
    split_by_number: bool = described(
        True, "of Unigram and such BPE: no entry has digits beside letters, if scripts are kept apart"
    )
    split_digits: bool = described(False, "of Unigram and such BPE: every digit is an entry of its own")

    def _check_own(self) -> None:
        SpacedSettings._check_own(self)
        check_characters(self.character_coverage, self.required_characters)
        if self.allow_whitespace_only_pieces and self.remove_extra_whitespaces:
            message = "spaces are joined, so none of several is an entry; set remove_extra_whitespaces to false"
            raise InvalidOption(message, field="allow_whitespace_only_pieces")

    @property
    def cuts_words(self) -> bool:
        return self.split_by_whitespace

    @property
    def has_runs(self) -> bool:
        return self.allow_whitespace_only_pieces

    @property
    def borders(self) -> list[str]:
        """The names of the borders that no entry crosses."""
        asked = {
            "scripts": self.split_by_unicode_script,
            "numbers": self.split_by_number,
            "digits": self.split_digits,
            "lone_spaces": self.remove_extra_whitespaces,
            "spaces_begin": not (self.split_by_whitespace or self.treat_whitespace_as_suffix),
            "spaces_end": self.treat_whitespace_as_suffix and not self.split_by_whitespace,
            "space_runs": self.allow_whitespace_only_pieces,
        }
        return [name for name, is_asked in asked.items() if is_asked]


def check_characters(coverage: object, required: str) -> None:
    """Require a share above 0, and characters that a piece may have."""
    if NUL in required:
        raise InvalidOption("no piece has U+0000; leave it away", field="required_characters")
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage <= 1:
        message = f"character_coverage is above 0 and at most 1, not {shown(coverage)}"
        raise InvalidOption(message, field="character_coverage")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceBpeSettings(SentencePieceSettings):
    """Settings of BPE over characters as SentencePiece has it. A line feed stands alone."""

    name: ClassVar[str] = "bpe"
    model_type: ClassVar[Literal["bpe"]] = "bpe"
    has_merges: ClassVar[bool] = True

    tie_break: TieBreak = "shortest"

    def _check_own(self) -> None:
        SentencePieceSettings._check_own(self)
        check_limit(self.max_token_length, "max_token_length")
        named = {f"special_tokens[{index}]": literal for index, literal in enumerate(self.special_tokens)}
        for field, literal in {**named, "unk": self.unk}.items():
            if literal in (SPACE, *BYTES):
                raise InvalidOption(f"{literal!r} stands for a space or a byte; take another literal", field=field)
        for character in self.required_characters:
            if character in (" ", *self.literals):
                message = f"{character!r} cannot be an entry that text becomes; leave it away"
                raise InvalidOption(message, field="required_characters")

    @property
    def pretokenizers(self) -> tuple[Pretokenizer, ...]:
        return (
            *super(SentencePieceBpeSettings, self).pretokenizers,
            Pretokenizer("split", pattern=Pattern("string", "\n")),
        )

    def model(self, unk: int) -> Model:
        return Model("char_bpe", unk=unk, fuse_unk=True, byte_fallback=self.byte_fallback)

    def learn(self, lesson: Lesson) -> Learned:
        return lesson.merges(
            level="characters",
            min_frequency=self.min_frequency,
            max_token_length=self.max_token_length,
            tie_break=self.tie_break,
            forbidden=(*self.fixed, NUL),
            character_coverage=self.character_coverage,
            required_characters=SPACE + self.required_characters,
            borders=self.borders,
        )

    def to_dict(self) -> dict[str, Any]:
        return EntrySettings.to_dict(self) | {"style": "sentencepiece"}
