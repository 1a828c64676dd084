"""The plan of a training run: a new vocabulary in one or several sizes, or an extended one."""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from tokenizer_core._kernel import VERSION, PieceCounts, Vocabulary
from tokenizer_core.arguments import holds_items, integer_of
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.errors import InvalidOption, Unsupported, shown
from tokenizer_core.formats.added import reserve, special
from tokenizer_core.tokenizer import Tokenizer
from tokenizer_core.training.counting import Rules
from tokenizer_core.training.counts import Counts
from tokenizer_core.training.families import AnySettings
from tokenizer_core.training.learning import Goal, Known, Learned, Merge, OnMerges, Start, Unit, learn, replayed
from tokenizer_core.training.merge_log import MergeLog
from tokenizer_core.training.progress import Newest, Reporter
from tokenizer_core.training.settings import TrainSettings

HUGE_PIECE = 100_000
"""Bytes; a longer piece is not a word, and is warned of."""

MAX_SIZES = 64
"""Vocabularies of one run."""

MUCH_LOST = 0.1
"""The share of a script's text above which there is a warning if rare pieces are left out."""

MAX_SCRIPTS = 5
"""Scripts that the warning names."""

EXTENDING = ("vocab_size", "tie_break", "min_frequency", "max_token_length", "max_piece_length", "min_count")
"""The settings that can be chosen when a tokenizer is extended: the others are as it has them."""


class TrainingWarning(UserWarning):
    """A training run goes on, but its result may not be what was wanted."""


class Plan(ABC):
    """The settings of counting, of learning and of the result."""

    __slots__ = ()

    settings: AnySettings

    @property
    def learns(self) -> Unit:
        """The unit of progress, of several the first: merges, or tokens where there are none."""
        return "merges"

    @property
    @abstractmethod
    def wanted(self) -> int:
        """Tokens to learn, at most."""

    @property
    @abstractmethod
    def key(self) -> list[Any]:
        """Return what decides which tokens are learned from counts, as JSON has it."""

    @property
    def newest(self) -> Newest | None:
        """Follow the merges of a run, where their tokens are known from the beginning."""
        return None

    @property
    @abstractmethod
    def cut(self) -> tuple[str, tuple[str, ...]]:
        """The pipeline that cuts a corpus, as JSON, and the literals that end a document."""

    def rules(self, *, replace_invalid: bool = False, threads: int = 0) -> Rules:
        """Return the rules of counting."""
        return Rules(*self.cut, replace_invalid, threads, has_languages=self.settings.parity)

    @abstractmethod
    def learn(self, pieces: PieceCounts, known: Known, on_merges: OnMerges, threads: int) -> Learned:
        """Learn tokens, behind those that are known."""

    def follow(self, counts: Counts, reporter: Reporter, threads: int, log: MergeLog | None = None) -> Learned:
        """Learn from counts, and report meanwhile; with a log, after what it knows, and into it."""
        known = Known()
        if log is not None:
            known = log.known()
            log.restart()
        reporter.begin_learning(self.wanted)
        newest, piece_bytes = self.newest, counts.pieces.piece_bytes

        def on_merges(done: int, total: int, new: list[Merge], tokens: int | None, /, unit: Unit | None = None) -> None:
            reporter.merging(done, total, unit=unit)
            per_byte = tokens / piece_bytes if tokens is not None and piece_bytes else None
            shown = () if newest is None else newest.add(new)
            reporter.progress = replace(reporter.progress, tokens_per_byte=per_byte, newest=shown)
            if log is not None:
                log.add(new, per_byte)

        return reporter.run(lambda: self.learn(counts.pieces, known, on_merges, threads))

    @abstractmethod
    def restored(self, log: MergeLog) -> Learned:
        """Return what a finished run has learned."""

    @abstractmethod
    def tokenizers(self, learned: Learned, corpus: dict[str, Any]) -> list[Tokenizer]:
        """Make the tokenizers; ``corpus`` is for their provenance."""


class _OfBytes(Plan):
    """The common parts of a new vocabulary and a longer one: both are learned by merges of bytes."""

    __slots__ = ()

    @property
    @abstractmethod
    def start(self) -> Start:
        """Return what there is before the first merge."""

    @property
    @abstractmethod
    def goal(self) -> Goal:
        """Return what is to be learned."""

    @property
    def wanted(self) -> int:
        return self.goal.tokens - len(self.start.tokens)

    @property
    def newest(self) -> Newest | None:
        return Newest(self.start.tokens)

    @property
    def key(self) -> list[Any]:
        tokens = [token.hex() for token in self.start.tokens]
        return [tokens, self.start.merges, asdict(self.goal)]

    def learn(self, pieces: PieceCounts, known: Known, on_merges: OnMerges, threads: int) -> Learned:
        del threads  # One core makes the merges.
        return learn(pieces, self.start, self.goal, known, on_merges)

    def restored(self, log: MergeLog) -> Learned:
        return replayed(self.start, log.merges)


class NewSizes(Plan):
    """The common parts of new vocabularies, of which there may be several sizes.

    Attributes:
        sizes: in the place of the settings' ``vocab_size``, in any order.
    """

    __slots__ = ()

    sizes: Sequence[int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", sizes_of(self.settings, self.sizes))

    @property
    def cut(self) -> tuple[str, tuple[str, ...]]:
        return self.settings.pipeline().to_json(), self.settings.literals

    def tokenizers(self, learned: Learned, corpus: dict[str, Any]) -> list[Tokenizer]:
        return [self.tokenizer_of(size, learned, corpus) for size in self.sizes]

    @abstractmethod
    def tokenizer_of(self, size: int, learned: Learned, corpus: dict[str, Any]) -> Tokenizer:
        """Make the tokenizer of one size."""


@dataclass(frozen=True, slots=True)
class NewVocabulary(NewSizes, _OfBytes):
    """A new vocabulary of bytes in several sizes, each the beginning of the next."""

    settings: TrainSettings
    sizes: Sequence[int]

    @property
    def start(self) -> Start:
        return Start.after(self.settings.initial_merges)

    @property
    def goal(self) -> Goal:
        literals = self.settings.literals
        goal = _goal(self.settings, max(self.sizes) - len(literals), literals)
        return replace(goal, words=self.settings.words_of(max(self.sizes), len(self.start.tokens)))

    def tokenizer_of(self, size: int, learned: Learned, corpus: dict[str, Any]) -> Tokenizer:
        settings = replace(self.settings, vocab_size=size)
        literals = settings.literals
        tokens = learned.tokens[: size - len(literals)]
        shift, first = (len(literals), 0) if settings.id_layout == "specials_first" else (0, len(tokens))
        merges = learned.first(len(tokens))
        vocabulary = Vocabulary.from_tokens(
            [(id, token) for id, token in enumerate(tokens, shift)],
            [(left + shift, right + shift, product + shift) for left, right, product in merges],
        )
        added = special({literal: id for id, literal in enumerate(literals, first)})
        config = replace(settings.pipeline(), added_tokens=added)
        made = {
            "tokens": len(tokens) - len(learned.start.tokens),
            "merges": len(merges) - len(learned.start.merges),
        }
        provenance = provenance_of(settings.to_dict(), corpus, made)
        return Tokenizer(TokenizerParts(reserve(vocabulary, added), config, name="trained", provenance=provenance))


@dataclass(frozen=True, slots=True)
class LongerVocabulary(_OfBytes):
    """More merges for a tokenizer: every id keeps its token, new ones follow the highest.

    The corpus is cut as the tokenizer cuts, and its own merges are made first.

    Raises:
        InvalidOption: with the field.
        Unsupported: the vocabulary has entries that are not bytes, or an added token takes more or less of a text than
            its literal, or the literal of a text that a normalizer rewrote.
    """

    tokenizer: Tokenizer
    settings: TrainSettings
    ids: tuple[int, ...]
    known: Start

    @classmethod
    def of(cls, tokenizer: Tokenizer, vocab_size: int, **chosen: Any) -> LongerVocabulary:
        """Check the settings, those of ``EXTENDING``."""
        vocabulary, config = tokenizer.parts.vocabulary, tokenizer.parts.config
        _require_bytes(vocabulary, config)
        _require_plain(config)
        if integer_of(vocab_size, "vocab_size") < tokenizer.vocab_size:
            message = f"vocab_size is more than the {tokenizer.vocab_size} that the tokenizer has, not {vocab_size}"
            raise InvalidOption(message, field="vocab_size")
        settings = TrainSettings(vocab_size=vocab_size, pattern=None, **chosen)
        tokens = _tokens(vocabulary)
        index = {id: place for place, (id, _) in enumerate(tokens)}
        merges = tuple((index[left], index[right], index[product]) for left, right, product in vocabulary.merge_ids())
        start = Start(tuple(token for _, token in tokens), merges, config.ignore_merges)
        return cls(tokenizer, settings, tuple(index), start)

    @property
    def start(self) -> Start:
        return self.known

    @property
    def goal(self) -> Goal:
        more = self.settings.vocab_size - self.tokenizer.vocab_size
        return _goal(self.settings, len(self.ids) + more, self._literals)

    @property
    def cut(self) -> tuple[str, tuple[str, ...]]:
        return self.tokenizer.parts.config.to_json(), self._literals

    def tokenizers(self, learned: Learned, corpus: dict[str, Any]) -> list[Tokenizer]:
        parts, size = self.tokenizer.parts, self.tokenizer.vocab_size
        made = {"tokens": len(learned.tokens) - len(self.ids), "merges": len(learned.merges)}
        ids = [*self.ids, *range(size, size + made["tokens"])]
        vocabulary = Vocabulary.from_tokens(
            [*zip(ids, learned.tokens, strict=True), *(self._entries() if made["tokens"] else ())],
            [(ids[left], ids[right], ids[product]) for left, right, product in learned.first(len(ids))],
        )
        settings = {name: getattr(self.settings, name) for name in EXTENDING}
        provenance = provenance_of(settings, corpus, made) | {"extends": self.tokenizer.hash}
        return [self.tokenizer.with_parts(replace(parts, vocabulary=vocabulary, provenance=provenance))]

    def _entries(self) -> list[tuple[int, bytes]]:
        """Return the added tokens that become entries where others follow, as their ids need in a ``tokenizer.json``.

        An entry that is more than a literal is text, which pieces are that are taken whole.
        """
        config = self.tokenizer.parts.config
        return [
            (token.id, token.content.encode())
            for token in config.added_tokens
            if config.ignore_merges and not token.special and token.id not in self.ids and _is_own_entry(token.content)
        ]

    @property
    def _literals(self) -> tuple[str, ...]:
        return tuple(token.content for token in self.tokenizer.parts.config.added_tokens)


def sizes_of(settings: AnySettings, given: Any) -> tuple[int, ...]:
    """Check sizes, each as a ``vocab_size`` of the settings.

    Raises:
        InvalidOption: with the field, such as ``sizes[1]``.
    """
    named = tuple(islice(given, MAX_SIZES + 1)) if holds_items(given) else ()
    if not 1 <= len(named) <= MAX_SIZES:
        raise InvalidOption(f"sizes is a list of 1 to {MAX_SIZES} sizes, not {shown(given)}", field="sizes")
    sizes = []
    for index, size in enumerate(named):
        try:
            sizes.append(replace(settings, vocab_size=size).vocab_size)
        except InvalidOption as error:
            raise InvalidOption(error.message, field=f"sizes[{index}]") from None
    return tuple(sizes)


def warn_of_huge_pieces(counts: Counts) -> None:
    """Warn when the pretokenizer leaves a piece that is not a word."""
    longest = counts.pieces.longest
    if len(longest) > HUGE_PIECE and json.loads(counts.config)["pretokenizer"]:
        start = longest[:40].decode(errors="replace")
        warnings.warn(
            f"the pretokenizer leaves a piece of {len(longest)} bytes, {start!r} and so on; set max_piece_length to "
            "leave such pieces out",
            TrainingWarning,
            stacklevel=4,
        )


def warn_of_rare_pieces(counts: Counts) -> None:
    """Warn of scripts of which much is left out for being rare: often those whose words are not set apart by spaces."""
    lost = {each.script: each.rare[2] / each.all[2] for each in counts.dropped if each.rare[2]}
    much = sorted((script for script in lost if lost[script] > MUCH_LOST), key=lost.__getitem__, reverse=True)
    if much:
        shares = ", ".join(f"{lost[script]:.0%} of {script}" for script in much[:MAX_SCRIPTS])
        warnings.warn(
            f"min_count {counts.min_count} leaves out {shares}, in bytes of text; none of that is learned, so lower it",
            TrainingWarning,
            stacklevel=4,
        )


def warn_of_skipped(counts: Counts) -> None:
    """Warn of lines or rows of the corpus that were left out, where no report has them."""
    if counts.skipped:
        message = f"{counts.skipped} lines of the corpus were skipped, first {counts.first_skipped[0]}"
        warnings.warn(message, TrainingWarning, stacklevel=4)


def _is_own_entry(literal: str) -> bool:
    """Tell whether ``tokenizer.json`` spells a text as it is."""
    return literal.isascii() and literal.isprintable() and " " not in literal


def _goal(settings: TrainSettings, tokens: int, forbidden: tuple[str, ...]) -> Goal:
    limits = settings.min_frequency, settings.max_token_length
    return Goal(tokens, *limits, settings.tie_break, forbidden, choice=settings.choice)


def provenance_of(settings: dict[str, Any], corpus: dict[str, Any], learned: dict[str, int]) -> dict[str, Any]:
    """Say what was trained from what, with nothing in it that differs between two runs."""
    return {"trained_by": f"tokd {VERSION}", "settings": settings, "corpus": corpus, "learned": learned}


def _require_bytes(vocabulary: Vocabulary, config: PipelineConfig) -> None:
    """Require a byte-level BPE in which merges begin with every byte.

    Raises:
        Unsupported
    """
    if not config.model.is_byte_bpe:
        raise Unsupported("only byte-level BPE can be extended, and this tokenizer has another model", field="model")
    if missing := vocabulary.missing_bytes:
        raise Unsupported(f"the tokenizer has no token for the byte 0x{missing[0]:02X}; it cannot be extended")


def _require_plain(config: PipelineConfig) -> None:
    """Require that a corpus can be cut as the tokenizer cuts: by the literals of added tokens, in the text as it came.

    Raises:
        Unsupported
    """
    flags = ["single_word", "lstrip", "rstrip"]
    if config.normalizer:
        flags.append("normalized")
    for index, token in enumerate(config.added_tokens):
        for flag in flags:
            if getattr(token, flag):
                raise Unsupported(
                    f"the added token {token.content[:80]!r} has {flag}, by which no corpus is cut; extend a tokenizer "
                    "without that, and put it back",
                    field=f"added_tokens[{index}].{flag}",
                )


def _tokens(vocabulary: Vocabulary) -> Sequence[tuple[int, bytes]]:
    """List the tokens by id.

    Raises:
        Unsupported: an entry is not in the byte alphabet, so that its bytes mean nothing.
    """
    tokens = []
    for id in range(vocabulary.id_limit):
        token = vocabulary.token_bytes(id)
        if not token:
            continue
        if vocabulary.is_opaque(id):
            raise Unsupported(f"the entry with the id {id} is not a string of bytes; it cannot be extended", index=id)
        tokens.append((id, token))
    return tokens
