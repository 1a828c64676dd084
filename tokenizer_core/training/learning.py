"""Learn merges from counts: one call of the kernel, from the beginning or from a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from tokenizer_core._kernel import BYTE_ORDER, PieceCounts, Vocabulary, learn_merges, learn_merges_for_languages

Merge = tuple[int, ...]
"""Left, right and product by the index of their token, how often the pair occurred, and with parity the number of the
language that the merge is made for, from 1 on, or 0 for all."""

Unit = Literal["bytes", "merges", "tokens", "characters", "rounds", "files"]
"""The unit of progress."""


class OnMerges(Protocol):
    """Called with how many new tokens are made and are wanted, the merges since the last call, and the tokens that all
    pieces have by now, if that is known; of another unit with how many of it are done. What it raises ends the run.
    """

    def __call__(
        self, done: int, total: int, new: list[Merge], tokens: int | None, /, unit: Unit | None = None
    ) -> object: ...


@dataclass(frozen=True, slots=True)
class Known:
    """The results of an earlier attempt of the same run, which need not be found again.

    Attributes:
        merges: its first merges.
        rounds: of Unigram, what the kernel has kept after the last round of pruning; of superwords, how many of the
            merges are within words, once these are all made.
        keep: takes what it keeps after the next rounds.
    """

    merges: Sequence[Merge] = ()
    rounds: bytes = b""
    keep: Callable[[bytes], object] | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """The vocabulary and merges before the first learned merge.

    Attributes:
        tokens: by index.
        merges: left, right and product by their index; made in every piece before any is counted.
        ignore_merges: a piece that is a token is taken whole.
    """

    tokens: tuple[bytes, ...] = BYTE_ORDER
    merges: tuple[tuple[int, int, int], ...] = ()
    ignore_merges: bool = False

    @classmethod
    def after(cls, merges: Sequence[tuple[bytes, bytes]]) -> Start:
        """Begin with the bytes and the products of merges."""
        ids = {token: index for index, token in enumerate(BYTE_ORDER)}
        triples = []
        for left, right in merges:
            product = ids.setdefault(left + right, len(ids))
            triples.append((ids[left], ids[right], product))
        return cls(tuple(ids), tuple(triples))


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal of learning; ``tokens`` counts all, including those of the start.

    Attributes:
        words: if merges of superwords follow those within words, how many tokens there are then, and the pipeline that
            cuts pieces into words, as JSON.
        choice: of parity: the first merges that all languages choose together, and the window, or 0.
    """

    tokens: int
    min_frequency: int
    max_token_length: int | None
    tie_break: str
    forbidden: tuple[str, ...]
    words: tuple[int, str] | None = None
    choice: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Learned:
    """The tokens of the start and then the new ones, the new merges by their indices, and the scores of all tokens.

    Attributes:
        smaller: what was learned for smaller vocabularies, the largest first, where they are not its beginning.
        languages: by name, the bytes of the corpus of each, whether it is measured on parallel texts, and the tokens of
            what it is measured on.
    """

    start: Start
    tokens: list[bytes]
    merges: list[Merge]
    scores: list[float] = field(default_factory=list)
    smaller: list[Learned] = field(default_factory=list)
    languages: list[tuple[str, int, bool, int]] = field(default_factory=list)

    def first(self, tokens: int) -> list[tuple[int, int, int]]:
        """Return the merges that make the first ``tokens`` tokens, with those of the start."""
        known, taken = len(self.start.tokens), 0
        if tokens == len(self.tokens):
            taken = len(self.merges)
        while known < tokens and taken < len(self.merges):
            # A merge can also make a token that another one has made before.
            known += self.merges[taken][2] == known
            taken += 1
        new = ((left, right, product) for left, right, product, *_ in self.merges[:taken])
        return [*self.start.merges, *new]


@dataclass(frozen=True, slots=True)
class Lesson:
    """All that entries are learned from.

    Attributes:
        sizes: how many, the most first; also those of smaller vocabularies that are not the beginning of the first.
        known: what an earlier attempt has found.
        memory: bytes that learning may hold, if that is bounded.
    """

    pieces: PieceCounts
    sizes: Sequence[int]
    known: Known
    on_merges: OnMerges | None
    threads: int
    memory: int | None = None

    def merges(self, **options: Any) -> Learned:
        """Learn them by merges of characters; the arguments are those of ``learn_merges``."""
        found, alphabet, merges = learn_merges(
            self.pieces, self.sizes[0], known=self.known.merges, progress=self.on_merges, **options
        )
        return Learned(Start(tuple(found[:alphabet])), found, merges)


def replayed(start: Start, merges: Sequence[Merge]) -> Learned:
    """Return what merges make of the tokens of the start."""
    tokens = list(start.tokens)
    for left, right, product, *_ in merges:
        if product == len(tokens):
            tokens.append(tokens[left] + tokens[right])
    return Learned(start, tokens, list(merges))


def learn(pieces: PieceCounts, start: Start, goal: Goal, known: Known, on_merges: OnMerges) -> Learned:
    """Learn merges; those of superwords after those within words, as if they came after ``start``.

    A text is encoded by all merges in one order, so those within words are made across words too before any other is
    learned: the trainer sees every piece as it is encoded in the end.
    """
    if goal.words is None:
        return _learn(pieces, start, goal, known.merges, on_merges)
    most, words = goal.words
    total = goal.tokens - len(start.tokens)
    if known.rounds:
        within = replayed(start, known.merges[: int(known.rounds)])
        on_merges(len(within.tokens) - len(start.tokens), total, within.merges, None)
    else:
        smaller = replace(goal, tokens=most)
        within = _learn(pieces.cut(words), start, smaller, known.merges, _shifted(on_merges, 0, total))
        if known.keep is not None:
            known.keep(b"%d" % len(within.merges))
    made = len(within.tokens) - len(start.tokens)
    middle = Start(tuple(within.tokens), tuple(within.first(len(within.tokens))))
    across = _learn(pieces, middle, goal, known.merges[len(within.merges) :], _shifted(on_merges, made, total))
    return Learned(start, across.tokens, within.merges + across.merges)


def _shifted(on_merges: OnMerges, before: int, total: int) -> OnMerges:
    """Report a part of the merges as such."""
    return lambda done, _, new, tokens, unit=None: on_merges(before + done, total, new, tokens, unit=unit)


def _learn(pieces: PieceCounts, start: Start, goal: Goal, known: Sequence[Merge], on_merges: OnMerges) -> Learned:
    """Learn merges, behind those of ``known``: the first ones of the same run."""
    made = {merge[:2] for merge in start.merges}

    def fresh(new: list[Merge]) -> list[Merge]:
        # An old token made anew brings back pairs that were merged before the kernel began: their first rank stays.
        return [merge for merge in new if merge[:2] not in made]

    vocabulary = None
    if start.merges or start.tokens != BYTE_ORDER:
        vocabulary = Vocabulary.from_tokens(list(enumerate(start.tokens)), list(start.merges))
    options: dict[str, Any] = {
        "min_frequency": goal.min_frequency,
        "max_token_length": goal.max_token_length,
        "tie_break": goal.tie_break,
        "forbidden": goal.forbidden,
        "vocabulary": vocabulary,
        "ignore_merges": start.ignore_merges,
        "known": known,
        "progress": lambda done, total, new, tokens: on_merges(done, total, fresh(new), tokens),
    }
    new: list[Merge]
    if goal.choice is None:
        found, _, new = learn_merges(pieces, goal.tokens, **options)
        return Learned(start, found, fresh(new))
    first, window = goal.choice
    found, new, languages = learn_merges_for_languages(
        pieces, goal.tokens, global_merges=first, window=window, **options
    )
    return Learned(start, found, fresh(new), languages=languages)
