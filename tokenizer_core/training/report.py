"""The report of a finished run: numbers for people and plots, outside the artifact's hash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.training.learning import Learned

_LONGEST = 20


@dataclass(frozen=True, slots=True)
class SizeReport:
    """Another size of a run: the tokens asked for, those that there are, and the hash of the tokenizer."""

    wanted: int
    vocab_size: int
    hash: str


@dataclass(frozen=True, slots=True)
class LanguageCost:
    """The cost of one language.

    Attributes:
        bytes: of its corpus.
        is_parallel: its tokens are those of parallel texts; otherwise of its corpus.
        lines: of its parallel texts, if they are known.
        tokens: of either.
        without_parity: the same of as many merges of the same corpus without parity.
    """

    language: str
    bytes: int
    is_parallel: bool
    lines: int
    tokens: int
    without_parity: int


@dataclass(frozen=True, slots=True, repr=False)
class TrainingReport(ShortRepr):
    """The counted corpus and the learned merges of a run, in numbers.

    Attributes:
        hash: of the tokenizer.
        corpus: hash, documents, bytes, pieces, distinct pieces and those left out.
        vocab_size: tokens that there are; less than asked for when no pair was left.
        wanted: tokens asked for.
        tokens, merges: learned ones.
        longest_tokens: the longest of the learned tokens, with U+FFFD for what is not UTF-8.
        frequencies: how often the pair of each merge occurred, in order.
        skipped: lines and rows of the corpus that could not be read and were left out.
        first_skipped: what was wrong with the first of them, each with its place.
        longest_piece: bytes of the longest piece.
        seconds: spent on merging, or learning, over all attempts.
        timeline: seconds and merges made.
        curve: merges made, and the tokens a byte of the counted pieces with them.
        languages: with parity, the costs of each with as many tokens as were learned.
        sizes: the other sizes of the run; all else is told of ``vocab_size``.
    """

    hash: str
    corpus: dict[str, Any]
    vocab_size: int
    wanted: int
    tokens: int
    merges: int
    longest_tokens: tuple[str, ...]
    frequencies: tuple[int, ...]
    skipped: int
    first_skipped: tuple[str, ...]
    longest_piece: int
    seconds: float
    timeline: tuple[tuple[float, int], ...]
    curve: tuple[tuple[int, float], ...] = ()
    languages: tuple[LanguageCost, ...] = ()
    sizes: tuple[SizeReport, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON has."""
        return asdict(self)


def longest_tokens(learned: Learned) -> tuple[str, ...]:
    """Return the longest tokens that were learned, the first learned first among equals."""
    new: Sequence[bytes] = learned.tokens[len(learned.start.tokens) :]
    longest = sorted(new, key=len, reverse=True)[:_LONGEST]
    return tuple(token.decode(errors="replace") for token in longest)
