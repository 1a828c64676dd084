"""Train byte-level BPE: documents and settings in, a tokenizer out, with the same bytes on every machine.

>>> from tokenizer_core import train
>>> tokenizer = train(iter(["low lower lowest", "new newer newest"]), vocab_size=260)
>>> [left + right for left, right in tokenizer.merges]
[b'ow', b'we', b'low', b'ne']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from tokenizer_core.arguments import check_call, check_flag, check_kind
from tokenizer_core.corpus.files import Corpus
from tokenizer_core.errors import InvalidOption
from tokenizer_core.stages import Rewriting
from tokenizer_core.tokenizer import Tokenizer
from tokenizer_core.training import sorted_counts
from tokenizer_core.training.counting import count
from tokenizer_core.training.counts import Counts, require_pieces
from tokenizer_core.training.entry_plan import new_plan
from tokenizer_core.training.entry_settings import Normalizing, PairScore, Words
from tokenizer_core.training.families import AnySettings, BpeStyle, ModelName, settings_of
from tokenizer_core.training.plans import (
    LongerVocabulary,
    Plan,
    warn_of_huge_pieces,
    warn_of_rare_pieces,
    warn_of_skipped,
)
from tokenizer_core.training.progress import Report, Reporter
from tokenizer_core.training.settings import IdLayout, TieBreak


class Options(TypedDict, total=False):
    """The settings of all models."""

    style: BpeStyle
    pattern: str | None
    superwords_from: float | None
    superwords_pattern: str | None
    normalizer: Sequence[Rewriting] | Sequence[Normalizing]
    pretokenizer: Words
    special_tokens: Sequence[str]
    unk: str
    tie_break: TieBreak
    score: PairScore
    prefix: str
    limit_alphabet: int | None
    character_coverage: float
    required_characters: str
    byte_fallback: bool
    seed_size: int
    shrinking_factor: float
    n_sub_iterations: int
    min_frequency: int
    max_token_length: int | None
    max_piece_length: int | None
    min_count: int
    id_layout: IdLayout
    initial_merges: Sequence[tuple[bytes, bytes]]
    parity: bool
    global_merges: int
    parity_window: int | None
    sixteen_bit: bool


def train(
    corpus: Corpus | Counts,
    vocab_size: int = 32_000,
    *,
    model: ModelName = "bpe",
    replace_invalid: bool = False,
    threads: int = 0,
    progress: Report | None = None,
    **settings: Unpack[Options],
) -> Tokenizer:
    """Train a tokenizer; when no pair is left before ``vocab_size``, it is smaller and its provenance says so.

    Args:
        model: byte-level BPE, ``wordpiece``, ``unigram``, ``word`` or ``character``.
        corpus: a path, glob pattern or URL; ``Files``; paths as ``Path`` objects; strings, with ``parity`` in a mapping
            by language; or ``Counts``.
        replace_invalid: replace invalid UTF-8 by U+FFFD instead of failing.
        threads: for counting and for Unigram; 0 means one a core. It changes no token.
        progress: called about ten times a second; what it raises, such as ``Cancelled``, ends the run.

    The other arguments are those of ``TrainSettings``, ``SentencePieceBpeSettings`` (with ``style="sentencepiece"``),
    ``WordPieceSettings``, ``UnigramSettings``, ``WordSettings`` or ``CharacterSettings``.

    Raises:
        InvalidOption: with the field, before any work.
        CorpusError: with the file and the byte, line or row.
    """
    chosen = settings_of(model, {"vocab_size": vocab_size, **settings})
    return train_sizes(
        corpus, (vocab_size,), chosen, replace_invalid=replace_invalid, threads=threads, progress=progress
    )[0]


def train_sizes(
    corpus: Corpus | Counts,
    sizes: Sequence[int],
    settings: AnySettings,
    *,
    replace_invalid: bool = False,
    threads: int = 0,
    progress: Report | None = None,
) -> list[Tokenizer]:
    """Train several sizes in one run: the merges of a smaller one are the first of a larger one.

    Args:
        sizes: in the place of the settings' ``vocab_size``, in any order; at most 64.

    Raises:
        InvalidOption: with the field, such as ``sizes[1]``.
        CorpusError: with the file and the byte, line or row.
    """
    check_kind(settings, AnySettings, "settings")
    plan = new_plan(settings, sizes)
    return _follow(plan, corpus, replace_invalid=replace_invalid, threads=threads, progress=progress)


def extend(
    tokenizer: Tokenizer,
    corpus: Corpus | Counts,
    vocab_size: int,
    *,
    tie_break: TieBreak = "lexicographic_low",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    max_piece_length: int | None = None,
    min_count: int = 1,
    replace_invalid: bool = False,
    threads: int = 0,
    progress: Report | None = None,
) -> Tokenizer:
    """Learn more merges for a tokenizer: every id keeps its token, new ones follow the highest.

    The corpus is cut as the tokenizer cuts, and its own merges are made first. The longer tokenizer is of the same
    class, as ``Tokenizer.with_parts`` says.

    Raises:
        InvalidOption: with the field.
        Unsupported: the vocabulary has entries that are not bytes, or an added token has ``single_word``, ``lstrip`` or
            ``rstrip``, or beside a normalizer ``normalized``: merges would be learned from what encoding takes away.
    """
    check_kind(tokenizer, Tokenizer, "tokenizer")
    plan = LongerVocabulary.of(
        tokenizer,
        vocab_size,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        max_piece_length=max_piece_length,
        min_count=min_count,
    )
    return _follow(plan, corpus, replace_invalid=replace_invalid, threads=threads, progress=progress)[0]


def counted(
    corpus: Corpus | Counts,
    settings: AnySettings,
    *,
    replace_invalid: bool = False,
    threads: int = 0,
    progress: Report | None = None,
) -> Counts:
    """Count a corpus by the settings' rules, for one or several runs; ``Counts.save`` keeps the counts.

    Raises:
        InvalidOption: the corpus is counts that were made by other rules.
    """
    check_kind(settings, AnySettings, "settings")
    plan = new_plan(settings, (settings.vocab_size,))
    return _counted(plan, corpus, replace_invalid=replace_invalid, threads=threads, progress=progress)


def _follow(
    plan: Plan, corpus: Corpus | Counts, *, replace_invalid: bool, threads: int, progress: Report | None
) -> list[Tokenizer]:
    counts = _counted(plan, corpus, replace_invalid=replace_invalid, threads=threads, progress=progress)
    learned = plan.follow(counts, Reporter(progress, learns=plan.learns), threads)
    return plan.tokenizers(learned, counts.summary())


def _counted(
    plan: Plan, corpus: Corpus | Counts, *, replace_invalid: bool, threads: int, progress: Report | None
) -> Counts:
    check_flag(replace_invalid, "replace_invalid")
    check_call(progress, "progress")
    rules = plan.rules(replace_invalid=replace_invalid, threads=threads)
    if not isinstance(corpus, Counts):
        counts = count(corpus, rules, max_piece_length=plan.settings.max_piece_length, progress=progress)
        if plan.settings.min_count > 1:
            counts = sorted_counts.bounded(counts, plan.settings.min_count)
            require_pieces(counts)
        warn_of_huge_pieces(counts)
        warn_of_rare_pieces(counts)
        warn_of_skipped(counts)
        return counts
    for field, given, wanted in (
        ("pattern", corpus.config, rules.config),
        ("special_tokens", corpus.special_tokens, rules.special_tokens),
        ("max_piece_length", corpus.max_piece_length, plan.settings.max_piece_length),
        ("min_count", corpus.min_count, plan.settings.min_count),
        ("parity", corpus.has_languages, plan.settings.parity),
    ):
        if given != wanted:
            raise InvalidOption(f"the counts were made with another {field}; count again, or ask for that", field=field)
    return corpus
