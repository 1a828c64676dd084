"""The plan of a run whose vocabulary is of texts, and the choice of a plan by the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokenizer_core._kernel import PieceCounts
from tokenizer_core.errors import InvalidOption
from tokenizer_core.tokenizer import Tokenizer
from tokenizer_core.training.entry_settings import EntrySettings
from tokenizer_core.training.families import AnySettings
from tokenizer_core.training.learning import Known, Learned, Lesson, OnMerges, Unit
from tokenizer_core.training.merge_log import MergeLog
from tokenizer_core.training.plans import NewSizes, NewVocabulary, provenance_of
from tokenizer_core.training.settings import TrainSettings


@dataclass(frozen=True, slots=True)
class NewEntries(NewSizes):
    """A new vocabulary of texts, in several sizes.

    Attributes:
        memory: bytes that Unigram may hold while it learns, if that is bounded.
    """

    settings: EntrySettings
    sizes: Sequence[int]
    memory: int | None = None

    @property
    def wanted(self) -> int:
        return max(self.sizes) - len(self.settings.fixed)

    @property
    def _learned_sizes(self) -> list[int]:
        """The vocabularies that are learned, the largest first: the others are its beginning."""
        return [max(self.sizes)] if self.settings.has_nested_sizes else sorted(set(self.sizes), reverse=True)

    @property
    def learns(self) -> Unit:
        return self.settings.learns

    @property
    def key(self) -> list[Any]:
        return [self.settings.to_dict() | {"vocab_size": max(self.sizes)}, *self._learned_sizes[1:]]

    def learn(self, pieces: PieceCounts, known: Known, on_merges: OnMerges, threads: int) -> Learned:
        sizes = [size - len(self.settings.fixed) for size in self._learned_sizes]
        learned = self.settings.learn(Lesson(pieces, sizes, known, on_merges, threads, self.memory))
        if self.settings.hard_vocab_limit and len(learned.tokens) < sizes[0]:
            most = len(learned.tokens) + max(self.sizes) - sizes[0]
            message = f"the corpus gives {most} tokens; lower vocab_size, or turn hard_vocab_limit off"
            raise InvalidOption(message, field="vocab_size")
        alphabet, least = len(learned.start.tokens), min(self.sizes) - len(self.settings.fixed)
        if least < alphabet:
            message = f"the alphabet and the special tokens are {alphabet + max(self.sizes) - self.wanted} tokens"
            raise InvalidOption(f"{message}, and one size is {min(self.sizes)}", field="sizes")
        return learned

    def restored(self, log: MergeLog) -> Learned:
        return log.learned()

    def tokenizer_of(self, size: int, learned: Learned, corpus: dict[str, Any]) -> Tokenizer:
        if not self.settings.has_nested_sizes:
            learned = [learned, *learned.smaller][self._learned_sizes.index(size)]
        tokens = learned.tokens[: size - len(self.settings.fixed)]
        texts = [token.decode() for token in tokens]
        merges = learned.first(len(tokens)) if self.settings.has_merges else ()
        parts = self.settings.build(texts, learned.scores[: len(texts)], merges)
        new = len(tokens) - len(learned.start.tokens)
        made = {"tokens": new, "merges": min(new, len(learned.merges))}
        provenance = provenance_of(self.settings.to_dict() | {"vocab_size": size}, corpus, made)
        return Tokenizer(replace(parts, name="trained", provenance=provenance))


def new_plan(settings: AnySettings, sizes: Sequence[int]) -> NewVocabulary | NewEntries:
    """Return the plan of a new vocabulary of any model.

    Raises:
        InvalidOption: with the field, such as ``sizes[1]``.
    """
    return NewVocabulary(settings, sizes) if isinstance(settings, TrainSettings) else NewEntries(settings, sizes)
