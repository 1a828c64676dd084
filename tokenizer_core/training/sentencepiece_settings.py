"""Settings of Unigram and of BPE in the manner of SentencePiece, checked before any work."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import PipelineConfig
from tokenizer_core.errors import InvalidOption, shown
from tokenizer_core.formats.sentencepiece_bpe import ESCAPED, JOINED, SPACE
from tokenizer_core.stages import Decoder, Model, Normalizer, Pattern, Pretokenizer
from tokenizer_core.training.described import described
from tokenizer_core.training.entry_settings import EntrySettings, Merges
from tokenizer_core.training.learning import Learned, Lesson
from tokenizer_core.training.setting_checks import check_limit
from tokenizer_core.training.settings import TieBreak

BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
NUL = "\0"
"""No piece of a SentencePiece model has it."""

_WITH_RUNS = Pretokenizer("split", pattern=Pattern("regex", rf"{SPACE}+(?={SPACE})|{SPACE}[^{SPACE}]*|[^{SPACE}]+"))
"""Words, each with one space before it; those before that one are a word of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceSettings(EntrySettings, ABC):
    """The settings that both trainers of SentencePiece have, by their names there.

    A space becomes ``▁`` and begins a word, also before the text.
    """

    unk: str = "<unk>"
    max_token_length: int = 16
    character_coverage: float = described(
        0.9995,
        "of Unigram and BPE in the style of SentencePiece: only the most frequent characters that are together so "
        "great a share of all, above 0 and at most 1",
        "SHARE",
    )
    required_characters: str = described(
        "", "of Unigram and such BPE: characters that are entries whether they occur or not", "TEXT"
    )
    byte_fallback: bool = described(
        False, "of Unigram and such BPE: a character that is no entry becomes those of its bytes, 256 of the vocabulary"
    )
    remove_extra_whitespaces: bool = described(
        True, "of Unigram and such BPE: of several spaces one is left, at both ends of a text none"
    )
    allow_whitespace_only_pieces: bool = described(
        False,
        "of Unigram and such BPE: several spaces may be an entry; goes without `remove_extra_whitespaces`, and a "
        "document is then held whole while it is counted",
    )
    split_by_unicode_script: bool = described(
        True, "of Unigram and such BPE: no entry has characters of several scripts"
    )
    split_by_number: bool = described(
        True, "of Unigram and such BPE: no entry has digits beside letters, if scripts are kept apart"
    )
    split_digits: bool = described(False, "of Unigram and such BPE: every digit is an entry of its own")
    add_dummy_prefix: bool = described(True, "of Unigram and such BPE: a space is put before a text")

    def _check_own(self) -> None:
        EntrySettings._check_own(self)
        coverage: object = self.character_coverage
        if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage <= 1:
            message = f"character_coverage is above 0 and at most 1, not {shown(coverage)}"
            raise InvalidOption(message, field="character_coverage")
        if self.allow_whitespace_only_pieces and self.remove_extra_whitespaces:
            message = "spaces are joined, so none of several is an entry; set remove_extra_whitespaces to false"
            raise InvalidOption(message, field="allow_whitespace_only_pieces")

    @property
    def fixed(self) -> tuple[str, ...]:
        return (*self.literals, *(BYTES if self.byte_fallback else ()))

    @property
    def pretokenizers(self) -> tuple[Pretokenizer, ...]:
        if self.allow_whitespace_only_pieces:
            return (_WITH_RUNS,)
        return (
            Pretokenizer(
                "metaspace", replacement=SPACE, prepend="always" if self.add_dummy_prefix else "never", split=True
            ),
        )

    def pipeline(self) -> PipelineConfig:
        """Describe how a corpus is cut. Joined spaces cut no word in another way, and a lone one is not learned."""
        config = EntrySettings.pipeline(self)
        escaped = self.escaped if self.allow_whitespace_only_pieces else ()
        return replace(config, normalizer=(*config.normalizer, *escaped))

    @property
    def escaped(self) -> tuple[Normalizer, ...]:
        """The stages that write spaces as SentencePiece does."""
        return (*([Normalizer("prepend", prefix=SPACE)] if self.add_dummy_prefix else []), ESCAPED)

    @property
    def decoders(self) -> tuple[Decoder, ...]:
        spaces, bytes_ = (
            Decoder("replace", pattern=Pattern("string", SPACE), content=" "),
            [Decoder("byte_fallback")] if self.byte_fallback else [],
        )
        first = [Decoder("strip", content=" ", start=1, stop=0)] if self.add_dummy_prefix else []
        return (spaces, *bytes_, Decoder("fuse"), *first)

    def build(
        self, entries: Sequence[str], scores: Sequence[float], merges: Merges = ()
    ) -> tuple[Vocabulary, PipelineConfig]:
        """Make the pipeline. No entry has a ``▁`` behind another character, so the text need not be cut.

        Unigram is faster on words than on a text; they are what it cuts itself if no entry has several spaces.
        """
        vocabulary, config = EntrySettings.build(self, entries, scores, merges)
        rewrites, joined = EntrySettings.pipeline(self).normalizer, [JOINED] if self.remove_extra_whitespaces else []
        if self.has_scores and joined:
            return vocabulary, replace(config, normalizer=(*rewrites, *joined), pretokenizer=self.pretokenizers)
        return vocabulary, replace(config, normalizer=(*rewrites, *joined, *self.escaped), pretokenizer=())

    @property
    def borders(self) -> list[str]:
        """The names of the borders that no entry crosses."""
        asked = {
            "scripts": self.split_by_unicode_script,
            "numbers": self.split_by_number,
            "digits": self.split_digits,
            "lone_spaces": self.remove_extra_whitespaces,
        }
        return [name for name, is_asked in asked.items() if is_asked]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceBpeSettings(SentencePieceSettings):
    """Settings of BPE over characters as SentencePiece has it. A line feed stands alone."""

    name: ClassVar[str] = "bpe"
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
            if character in (NUL, " ", *self.literals):
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
