"""Settings of SentencePiece's models of whole words and of single characters, checked before any work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tokenizer_core.formats.sentencepiece_export import SPACE
from tokenizer_core.stages import Model, Pretokenizer
from tokenizer_core.training.entry_settings import EntrySettings, frequent
from tokenizer_core.training.learning import Learned, Lesson
from tokenizer_core.training.sentencepiece_settings import SpacedSettings, check_characters
from tokenizer_core.training.settings import MAX_VOCAB_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceWordSettings(SpacedSettings):
    """Settings of a vocabulary of whole words with their spaces: the most frequent ones."""

    name: ClassVar[str] = "word"
    model_type: ClassVar[Literal["word", "char"]] = "word"
    learns: ClassVar[Literal["merges", "tokens"]] = "tokens"

    @property
    def is_model_file(self) -> bool:
        return True

    @property
    def cuts_behind_spaces(self) -> bool:
        # SentencePiece cuts a text into words before spaces, wherever it has put them.
        return False

    def model(self, unk: int) -> Model:
        return Model("symbols", unit=self.model_type, unk=unk, byte_fallback=self.byte_fallback)

    def learn(self, lesson: Lesson) -> Learned:
        """Take the most frequent words; a lone space is none where spaces are joined before words."""
        counted = lesson.pieces.items(0, lesson.sizes[0] + len(self.fixed) + 1)
        has_lone = self.treat_whitespace_as_suffix or not self.remove_extra_whitespaces
        lone = b"" if has_lone else SPACE.encode()
        return frequent(lesson, ((piece, count) for piece, count in counted if piece != lone), self)

    def to_dict(self) -> dict[str, Any]:
        return EntrySettings.to_dict(self) | {"style": "sentencepiece"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceCharacterSettings(SentencePieceWordSettings):
    """Settings of a vocabulary of single characters, a space among them: the most frequent ones."""

    name: ClassVar[str] = "character"
    model_type: ClassVar[Literal["word", "char"]] = "char"

    character_coverage: float = 0.9995
    required_characters: str = ""

    def _check_own(self) -> None:
        SpacedSettings._check_own(self)
        check_characters(self.character_coverage, self.required_characters)

    @property
    def pretokenizers(self) -> tuple[Pretokenizer, ...]:
        cuts = super(SentencePieceCharacterSettings, self).pretokenizers
        return (*cuts, Pretokenizer("fixed_length", length=1))

    def learn(self, lesson: Lesson) -> Learned:
        return frequent(lesson, self._covering(lesson.pieces.items(0, MAX_VOCAB_SIZE)), self)

    def _covering(self, counted: list[tuple[bytes, int]]) -> Iterator[tuple[bytes, int]]:
        """Yield the characters that are required, and the most frequent ones up to the coverage."""
        required = [character.encode() for character in dict.fromkeys(self.required_characters)]
        least, covered = self.character_coverage * sum(count for _, count in counted), 0
        yield from ((piece, self.min_frequency) for piece in required)
        for piece, count in counted:
            if covered >= least:
                return
            covered += count
            if piece not in required:
                yield piece, count
