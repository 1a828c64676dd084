"""The report of a finished run: numbers for people and plots, outside the artifact's hash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tokenizer_core.corpus.bounds import Bounds
from tokenizer_core.corpus.documents import text_of_line
from tokenizer_core.corpus.files import Files, sources
from tokenizer_core.corpus.reading import Meter, Source, blocks, lines, rows
from tokenizer_core.errors import InvalidCorpus
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.tokenizer import Tokenizer
from tokenizer_core.training.learning import Learned

Item = TypeVar("Item")

_LONGEST = 20

SAMPLED_FILES = 20
SAMPLED_CHARACTERS = 100_000
"""Of the lines of a sample, together."""

SPACES = frozenset(" ▁Ġ")
"""A space, as vocabularies write it."""


@dataclass(frozen=True, slots=True)
class SampleReport:
    """The tokens of lines from the beginnings of the files or texts of a corpus.

    Attributes:
        lines: with anything but white space.
        back: of these, lines that are the same after they are encoded and decoded.
        tokens: of all.
        spaces, characters: tokens that are a lone space, or any other single character.
    """

    lines: int
    back: int
    tokens: int
    spaces: int
    characters: int

    @classmethod
    def of(cls, tokenizer: Tokenizer, texts: Iterable[str]) -> SampleReport:
        """Encode the lines of texts."""
        sampled: list[str] = []
        room = SAMPLED_CHARACTERS
        for line in (line for text in texts for line in text.split("\n") if line.strip()):
            if room <= 0:
                break
            sampled.append(line[:room])
            room -= len(line)
        encoded = [[int(id) for id in tokenizer.encode(line, special_tokens="text")] for line in sampled]
        texts_of = {id: text for text, id in tokenizer.parts.vocabulary.token_texts()}
        used = [texts_of.get(id, "") for ids in encoded for id in ids]
        spaces = sum(text in SPACES for text in used)
        back = sum(tokenizer.decode(ids) == line for ids, line in zip(encoded, sampled, strict=True))
        return cls(len(sampled), back, len(used), spaces, sum(len(text) == 1 for text in used) - spaces)


def beginnings(corpus: Files | tuple[str, ...], bounds: Bounds, left_out: Iterable[Path] = ()) -> Iterator[str]:
    """Read from the beginnings of some files or texts, of each at most the same share of a sample.

    Raises:
        CorpusError
    """
    if isinstance(corpus, Files):
        found = [source for source in sources(corpus, bounds, left_out) if source.format != "counts"]
        each = [partial(_beginning, source, corpus, Meter(bounds=bounds)) for source in _spread(found)]
    else:
        each = [partial(iter, (text,)) for text in _spread(corpus)]
    for begin in each:
        room = SAMPLED_CHARACTERS // len(each)
        for text in begin():
            yield text[:room]
            room -= len(text)
            if room <= 0:
                break


def _spread(items: Sequence[Item]) -> Sequence[Item]:
    """Take items that are as far apart as those between them."""
    return items[:: max(1, len(items) // SAMPLED_FILES)][:SAMPLED_FILES]


def _beginning(source: Source, files: Files, meter: Meter) -> Iterator[str]:
    if source.format == "parquet":
        yield from next(rows(source, files.column, meter), [])
    elif source.format == "jsonl":
        for line in next(lines(source, meter), b"").splitlines():
            with suppress(InvalidCorpus):
                yield text_of_line(line.decode(errors="replace"), files.field, source.name, 0)
    else:
        # The block can end within a character.
        yield next(blocks(source, meter), b"").decode(errors="ignore")


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
        sample: the tokens of some of its lines; ``None`` if there are none, or they cannot be read any more.
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
    sample: SampleReport | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON has."""
        return asdict(self)


def longest_tokens(learned: Learned) -> tuple[str, ...]:
    """Return the longest tokens that were learned, the first learned first among equals."""
    new: Sequence[bytes] = learned.tokens[len(learned.start.tokens) :]
    longest = sorted(new, key=len, reverse=True)[:_LONGEST]
    return tuple(token.decode(errors="replace") for token in longest)
