"""Settings of BPE in the manner of SentencePiece, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tokenizer_core._kernel import PieceCounts, Vocabulary, learn_merges
from tokenizer_core.arguments import check_choice, check_flag, check_unicode
from tokenizer_core.config import PipelineConfig
from tokenizer_core.errors import InvalidOption, shown
from tokenizer_core.stages.decoders import DecoderStage, Join, StripDecoder
from tokenizer_core.stages.models import CharBpe, Model
from tokenizer_core.stages.normalizers import Prepend, Replace
from tokenizer_core.stages.pattern import Pattern
from tokenizer_core.stages.pretokenizers import Metaspace, PretokenizerStage, Split
from tokenizer_core.training.described import described
from tokenizer_core.training.entry_settings import EntrySettings, Merges
from tokenizer_core.training.learning import Known, Learned, OnMerges, Start
from tokenizer_core.training.setting_checks import check_limit, number_of
from tokenizer_core.training.settings import TieBreak
from tokenizer_core.training.unigram_settings import BYTES, SPACE

NUL = "\0"
"""No piece of a SentencePiece model has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceBpeSettings(EntrySettings):
    """Settings of BPE over characters as SentencePiece has it.

    A space becomes ``▁`` and begins a word, also before the text. A line feed stands alone.
    """

    name: ClassVar[str] = "bpe"
    has_merges: ClassVar[bool] = True

    unk: str = "<unk>"
    tie_break: TieBreak = "shortest"
    max_token_length: int = 16
    character_coverage: float = described(
        1.0,
        "of BPE in the style of SentencePiece: only the most frequent characters that are together so great a share of "
        "all, above 0 and at most 1",
        "SHARE",
    )
    required_characters: str = described(
        "", "of Unigram and such BPE: characters that are entries whether they occur or not", "TEXT"
    )
    byte_fallback: bool = described(
        False, "of Unigram and such BPE: a character that is no entry becomes those of its bytes, 256 of the vocabulary"
    )

    def __post_init__(self) -> None:
        check_choice(self.tie_break, TieBreak, "tie_break")
        check_flag(self.byte_fallback, "byte_fallback")
        object.__setattr__(self, "max_token_length", number_of(self.max_token_length, "max_token_length"))
        check_limit(self.max_token_length, "max_token_length")
        check_unicode(self.required_characters, "required_characters")
        coverage: object = self.character_coverage
        if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage <= 1:
            message = f"character_coverage is above 0 and at most 1, not {shown(coverage)}"
            raise InvalidOption(message, field="character_coverage")
        EntrySettings.__post_init__(self)
        named = {f"special_tokens[{index}]": literal for index, literal in enumerate(self.special_tokens)}
        for field, literal in {**named, "unk": self.unk}.items():
            if literal in (SPACE, *BYTES):
                raise InvalidOption(f"{literal!r} stands for a space or a byte; take another literal", field=field)
        for character in self.required_characters:
            if character in (NUL, " ", *self.literals):
                message = f"{character!r} cannot be an entry that text becomes; leave it away"
                raise InvalidOption(message, field="required_characters")

    @property
    def fixed(self) -> tuple[str, ...]:
        return (*self.literals, *(BYTES if self.byte_fallback else ()))

    @property
    def pretokenizers(self) -> tuple[PretokenizerStage, ...]:
        line_feeds = Split(Pattern("string", "\n"))
        return (Metaspace(replacement=SPACE, prepend="always", split=True), line_feeds)

    @property
    def decoders(self) -> tuple[DecoderStage, ...]:
        spaces, bytes_ = Replace(Pattern("string", SPACE), " "), [Join("byte_fallback")] if self.byte_fallback else []
        return (spaces, *bytes_, Join("fuse"), StripDecoder(content=" ", start=1, stop=0))

    def model(self, unk: int) -> Model:
        return CharBpe(unk=unk, fuse_unk=True, byte_fallback=self.byte_fallback)

    def build(
        self, entries: Sequence[str], scores: Sequence[float], merges: Merges = ()
    ) -> tuple[Vocabulary, PipelineConfig]:
        """Make the pipeline without pretokenizers: no merge has a ``▁`` inside, so none is needed."""
        vocabulary, config = EntrySettings.build(self, entries, scores, merges)
        spaces = (Prepend(SPACE), Replace(Pattern("string", " "), SPACE))
        return vocabulary, replace(config, normalizer=(*config.normalizer, *spaces), pretokenizer=())

    def learn(
        self,
        pieces: PieceCounts,
        sizes: Sequence[int],
        known: Known,
        on_merges: OnMerges | None,
        threads: int,
    ) -> Learned:
        del threads  # One core makes the merges.
        found, alphabet, merges = learn_merges(
            pieces,
            sizes[0],
            level="characters",
            min_frequency=self.min_frequency,
            max_token_length=self.max_token_length,
            tie_break=self.tie_break,
            forbidden=(*self.fixed, NUL),
            character_coverage=self.character_coverage,
            required_characters=SPACE + self.required_characters,
            known=known.merges,
            progress=on_merges,
        )
        return Learned(Start(tuple(found[:alphabet])), found, merges)

    def to_dict(self) -> dict[str, Any]:
        return EntrySettings.to_dict(self) | {"style": "sentencepiece"}
