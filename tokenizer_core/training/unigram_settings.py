"""Settings of Unigram, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from tokenizer_core._kernel import learn_unigram
from tokenizer_core.errors import InvalidOption, shown
from tokenizer_core.formats.sentencepiece_export import SCORE_UNIT
from tokenizer_core.stages import Model
from tokenizer_core.training.described import described
from tokenizer_core.training.entry_settings import Normalizing
from tokenizer_core.training.learning import Learned, Lesson, Start, Unit
from tokenizer_core.training.sentencepiece_settings import SentencePieceSettings

MAX_SEEDS = 12_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UnigramSettings(SentencePieceSettings):
    """Settings of Unigram."""

    name: ClassVar[str] = "unigram"
    model_type: ClassVar[Literal["unigram"]] = "unigram"
    has_nested_sizes: ClassVar[bool] = False
    has_scores: ClassVar[bool] = True
    learns: ClassVar[Unit] = "characters"

    normalizer: Sequence[Normalizing] = ("nmt", "nfkc")
    seed_size: int = described(1_000_000, "of Unigram: substrings to begin with, besides characters", "N")
    shrinking_factor: float = described(
        0.75, "of Unigram: the share of pieces that a round of pruning leaves, 0.1 to 0.95", "SHARE"
    )
    n_sub_iterations: int = described(2, "of Unigram: estimates of probabilities in a round", "N")
    limit_alphabet: int | None = None

    def _check_own(self) -> None:
        for name, most in (("seed_size", MAX_SEEDS), ("n_sub_iterations", 100), ("max_token_length", 255)):
            if not 1 <= (number := getattr(self, name)) <= most:
                raise InvalidOption(f"{name} is 1 to {most}, not {number}", field=name)
        factor: object = self.shrinking_factor
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0.1 <= factor <= 0.95:
            raise InvalidOption(f"shrinking_factor is 0.1 to 0.95, not {shown(factor)}", field="shrinking_factor")
        SentencePieceSettings._check_own(self)
        if self.min_frequency != 1:
            raise InvalidOption("the model 'unigram' takes no min_frequency; leave it away", field="min_frequency")

    def model(self, unk: int) -> Model:
        return Model("unigram", unk=unk, byte_fallback=self.byte_fallback)

    def learn(self, lesson: Lesson) -> Learned:
        def report(unit: Literal["characters", "rounds"], done: int, total: int) -> None:
            if lesson.on_merges is not None:
                lesson.on_merges(done, total, [], None, unit=unit)

        found, _ = learn_unigram(
            lesson.pieces,
            lesson.sizes,
            seed_size=self.seed_size,
            shrinking_factor=self.shrinking_factor,
            n_sub_iterations=self.n_sub_iterations,
            max_token_length=self.max_token_length,
            limit_alphabet=self.limit_alphabet,
            character_coverage=self.character_coverage,
            required_characters=self.required_characters,
            borders=self.borders,
            threads=lesson.threads,
            memory=lesson.memory,
            kept=lesson.known.rounds,
            keep=lesson.known.keep,
            progress=report,
        )
        fixed = {entry.encode() for entry in self.fixed}
        largest, *smaller = ([one for one in each if one[0] not in fixed and b"\0" not in one[0]] for each in found)
        return replace(_learned(largest), smaller=[_learned(one) for one in smaller])


def _learned(found: list[tuple[bytes, float]]) -> Learned:
    scores = [round(score / SCORE_UNIT) * SCORE_UNIT for _, score in found]
    return Learned(Start(()), [piece for piece, _ in found], [], scores)
