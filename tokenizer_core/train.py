"""Train byte-level BPE: documents and settings in, a tokenizer out, the same bytes whatever the machine.

>>> from tokenizer_core import train
>>> tokenizer = train(iter(["low lower lowest", "new newer newest"]), vocab_size=260)
>>> [left + right for left, right in tokenizer.merges]
[b'ow', b'we', b'low', b'ne']
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokenizer_core._kernel import BYTE_ORDER, VERSION, Vocabulary, learn_merges
from tokenizer_core.config import AddedToken, TokenizerParts
from tokenizer_core.corpus import Corpus
from tokenizer_core.counting import Counts, Progress, Report, count
from tokenizer_core.errors import InvalidOption, Unsupported
from tokenizer_core.tokenizer import Tokenizer
from tokenizer_core.train_settings import BYTES, IdLayout, Normalization, TieBreak, TrainSettings

HUGE_PIECE = 100_000
"""Bytes; a longer piece is no word, and is warned of."""


class TrainingWarning(UserWarning):
    """A training run goes on, but its result may not be what was wanted."""


def train(
    corpus: Corpus | Counts,
    vocab_size: int = 32_000,
    *,
    pattern: str | None = "cl100k_base",
    normalizer: Sequence[Normalization] = (),
    special_tokens: Sequence[str] = (),
    tie_break: TieBreak = "lexicographic_low",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    max_piece_length: int | None = None,
    id_layout: IdLayout = "specials_last",
    initial_merges: Sequence[tuple[bytes, bytes]] = (),
    sixteen_bit: bool = False,
    replace_invalid: bool = False,
    threads: int = 0,
    progress: Report | None = None,
) -> Tokenizer:
    """Train a tokenizer; when no pair is left before ``vocab_size``, it is smaller and its provenance says so.

    Args:
        corpus: a path, glob pattern or URL; ``Files``; paths as ``Path`` objects; strings; or ``Counts``.
        replace_invalid: U+FFFD stands for bytes that are not UTF-8, rather than an error.
        threads: for counting; 0 means one a core. It changes no merge.
        progress: called about ten times a second; what it raises, such as ``Cancelled``, ends the run.

    The other arguments are those of ``TrainSettings``.

    Raises:
        InvalidOption: with the field, before any work.
        CorpusError: with the file and the byte, line or row.
    """
    settings = TrainSettings(
        vocab_size=vocab_size,
        pattern=pattern,
        normalizer=normalizer,
        special_tokens=special_tokens,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        max_piece_length=max_piece_length,
        id_layout=id_layout,
        initial_merges=initial_merges,
        sixteen_bit=sixteen_bit,
    )
    return train_sizes(
        corpus, (vocab_size,), settings, replace_invalid=replace_invalid, threads=threads, progress=progress
    )[0]


def train_sizes(
    corpus: Corpus | Counts,
    sizes: Sequence[int],
    settings: TrainSettings,
    *,
    replace_invalid: bool = False,
    threads: int = 0,
    progress: Report | None = None,
) -> list[Tokenizer]:
    """Train several sizes in one run: the merges of a smaller one are the first of a larger one.

    Args:
        sizes: in the place of the settings' ``vocab_size``, in any order.
    """
    if not sizes:
        raise InvalidOption("sizes names no size at all", field="sizes")
    each = [replace(settings, vocab_size=size) for size in sizes]
    counts = counted(corpus, settings, replace_invalid=replace_invalid, threads=threads, progress=progress)
    largest = max(each, key=lambda one: one.vocab_size)
    learned = _learn(counts, largest, progress)
    return [_tokenizer(learned, one, counts) for one in each]


def counted(
    corpus: Corpus | Counts,
    settings: TrainSettings,
    *,
    replace_invalid: bool = False,
    threads: int = 0,
    progress: Report | None = None,
) -> Counts:
    """Count a corpus by the settings' rules, for one or several runs; ``Counts.save`` keeps the counts.

    Raises:
        InvalidOption: the corpus is counts that were made by other rules.
    """
    config, special_tokens = settings.pipeline(), settings.special_tokens
    if not isinstance(corpus, Counts):
        counts = count(
            corpus,
            config,
            special_tokens,
            replace_invalid=replace_invalid,
            max_piece_length=settings.max_piece_length,
            threads=threads,
            progress=progress,
        )
        _warn_of_huge_pieces(counts)
        return counts
    for field, given, wanted in (
        ("pattern", corpus.config, config.to_json()),
        ("special_tokens", corpus.special_tokens, special_tokens),
        ("max_piece_length", corpus.max_piece_length, settings.max_piece_length),
    ):
        if given != wanted:
            raise InvalidOption(f"the counts were made with another {field}; count again, or ask for that", field=field)
    return corpus


def extend(
    tokenizer: Tokenizer,
    corpus: Corpus,
    vocab_size: int,
    *,
    tie_break: TieBreak = "lexicographic_low",
    min_frequency: int = 1,
    max_token_length: int | None = None,
    replace_invalid: bool = False,
    threads: int = 0,
    progress: Report | None = None,
) -> Tokenizer:
    """Learn more merges for a tokenizer: every id keeps its token, new ones follow the highest.

    The corpus is cut as the tokenizer cuts, and its own merges are made first.

    Raises:
        InvalidOption: with the field.
        Unsupported: the vocabulary has entries that are not bytes.
    """
    settings = TrainSettings(
        vocab_size=max(vocab_size, BYTES),
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        pattern=None,
    )
    if settings.vocab_size < tokenizer.vocab_size:
        message = f"vocab_size is more than the {tokenizer.vocab_size} that the tokenizer has, not {vocab_size}"
        raise InvalidOption(message, field="vocab_size")
    parts = tokenizer.parts
    special = tuple(token.content for token in parts.config.added_tokens)
    ids = [id for id, _ in _tokens(parts.vocabulary)]
    counts = count(corpus, parts.config, special, replace_invalid=replace_invalid, threads=threads, progress=progress)
    _warn_of_huge_pieces(counts)
    tokens, alphabet, merges = learn_merges(
        counts.pieces,
        len(ids) + settings.vocab_size - tokenizer.vocab_size,
        min_frequency=settings.min_frequency,
        max_token_length=settings.max_token_length,
        tie_break=settings.tie_break,
        forbidden=special,
        vocabulary=parts.vocabulary,
        ignore_merges=parts.config.ignore_merges,
        progress=_merging(progress, counts),
    )
    ids += range(tokenizer.vocab_size, tokenizer.vocab_size + len(tokens) - alphabet)
    vocabulary = Vocabulary.from_tokens(
        list(zip(ids, tokens, strict=True)),
        parts.vocabulary.merge_ids() + [(ids[left], ids[right], ids[product]) for left, right, product, _ in merges],
    )
    kept = {"tie_break", "min_frequency", "max_token_length"}
    chosen = {"vocab_size": vocab_size} | {key: value for key, value in settings.to_dict().items() if key in kept}
    provenance = _provenance(counts, chosen, tokens=len(tokens) - alphabet, merges=len(merges))
    return Tokenizer(replace(parts, vocabulary=vocabulary, provenance=provenance | {"extends": tokenizer.hash}))


@dataclass(frozen=True, slots=True)
class _Learned:
    """What one run of the kernel brought: the alphabet and then the new tokens, and merges by their indices."""

    tokens: list[bytes]
    alphabet: int
    initial: list[tuple[int, int, int]]
    merges: list[tuple[int, int, int, int]]

    def first(self, tokens: int) -> list[tuple[int, int, int]]:
        """Return the merges that make the first ``tokens`` tokens."""
        known, taken = self.alphabet, 0
        while known < tokens and taken < len(self.merges):
            # A merge can also make a token that another one has made before.
            known += self.merges[taken][2] == known
            taken += 1
        return self.initial + [(left, right, product) for left, right, product, _ in self.merges[:taken]]


def _learn(counts: Counts, settings: TrainSettings, progress: Report | None) -> _Learned:
    initial = None if not settings.initial_merges else _initial(settings.initial_merges)
    tokens, alphabet, merges = learn_merges(
        counts.pieces,
        settings.vocab_size - len(settings.special_tokens),
        min_frequency=settings.min_frequency,
        max_token_length=settings.max_token_length,
        tie_break=settings.tie_break,
        forbidden=settings.special_tokens,
        vocabulary=initial,
        progress=_merging(progress, counts),
    )
    return _Learned(tokens, alphabet, [] if initial is None else initial.merge_ids(), merges)


def _merging(progress: Report | None, counts: Counts) -> Callable[[int, int], object] | None:
    """Report merges as the kernel tells of them."""
    if progress is None:
        return None
    return lambda done, total: progress(Progress("merging", done, total, counts.pieces.bytes))


def _initial(merges: Sequence[tuple[bytes, bytes]]) -> Vocabulary:
    """Build a vocabulary of the bytes, in the order of the kernel's alphabet, and the products of merges."""
    ids = {token: index for index, token in enumerate(BYTE_ORDER)}
    triples = []
    for left, right in merges:
        product = ids.setdefault(left + right, len(ids))
        triples.append((ids[left], ids[right], product))
    return Vocabulary.from_tokens([(id, token) for token, id in ids.items()], triples)


def _tokenizer(learned: _Learned, settings: TrainSettings, counts: Counts) -> Tokenizer:
    literals = settings.special_tokens
    tokens = learned.tokens[: settings.vocab_size - len(literals)]
    shift, first = (len(literals), 0) if settings.id_layout == "specials_first" else (0, len(tokens))
    merges = learned.first(len(tokens))
    vocabulary = Vocabulary.from_tokens(
        [(id, token) for id, token in enumerate(tokens, shift)],
        [(left + shift, right + shift, product + shift) for left, right, product in merges],
    )
    added = tuple(AddedToken(id=id, content=literal, special=True) for id, literal in enumerate(literals, first))
    config = replace(settings.pipeline(), added_tokens=added)
    new = len(tokens) - learned.alphabet
    provenance = _provenance(counts, settings.to_dict(), tokens=new, merges=len(merges) - len(learned.initial))
    vocabulary = vocabulary.reserve([(token.id, token.content) for token in added])
    return Tokenizer(TokenizerParts(vocabulary, config, name="trained", provenance=provenance))


def _provenance(counts: Counts, settings: dict[str, Any], *, tokens: int, merges: int) -> dict[str, Any]:
    """Say what was trained from what, with nothing in it that differs between two runs."""
    pieces = counts.pieces
    return {
        "trained_by": f"tokd {VERSION}",
        "settings": settings,
        "corpus": {
            "hash": counts.hash,
            "documents": pieces.documents,
            "bytes": pieces.bytes,
            "pieces": pieces.total,
            "distinct_pieces": len(pieces),
            "left_out": pieces.left_out,
        },
        "learned": {"tokens": tokens, "merges": merges},
    }


def _tokens(vocabulary: Vocabulary) -> list[tuple[int, bytes]]:
    """List the tokens by id.

    Raises:
        Unsupported: an entry is not in the byte alphabet, so that its bytes mean nothing.
    """
    tokens = []
    for id in range(vocabulary.id_limit):
        token = vocabulary.token_bytes(id)
        if token is None:
            continue
        if vocabulary.is_opaque(id):
            raise Unsupported(f"the entry with the id {id} is no string of bytes; it cannot be extended", index=id)
        tokens.append((id, token))
    return tokens


def _warn_of_huge_pieces(counts: Counts) -> None:
    longest = counts.pieces.longest
    if len(longest) > HUGE_PIECE and json.loads(counts.config)["pretokenizer"]:
        start = longest[:40].decode(errors="replace")
        warnings.warn(
            f"the pretokenizer leaves a piece of {len(longest)} bytes, {start!r} and so on; set max_piece_length to "
            "leave such pieces out",
            TrainingWarning,
            stacklevel=3,
        )
