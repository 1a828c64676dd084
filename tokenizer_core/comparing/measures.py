"""One tokenizer: what texts cost with it, the share of its vocabulary that they use, and the entries of that."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest

import numpy as np
import numpy.typing as npt

from tokenizer_core.errors import UncoveredText
from tokenizer_core.token_counts import word_spans
from tokenizer_core.tokenizer import Tokenizer

RENYI_ORDER = 2.5
"""The order at which the efficiency predicts the quality of a translation best (Zouhar et al., 2023)."""

LISTED = 10
"""The most tokens of a list."""

_BYTE = re.compile(rb"<0x([0-9A-F]{2})>")
_SPACE = "▁".encode()

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A text, and where its words stand, in characters."""

    text: str
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, text: str) -> Words:
        """Find the words."""
        spans = np.array(list(word_spans(text)), np.int64).reshape(-1, 2)
        return cls(text, spans[:, 0], spans[:, 1])


@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """The tokens of some texts.

    Attributes:
        whole_words: words that lie within one token, which is not the unknown one.
        unknown: characters that unknown tokens stand for: these cost little and say nothing.
        counts: int64, shape (vocab_size,): how often each id occurs.
    """

    tokens: int
    whole_words: int
    unknown: int
    counts: Counts


def cost(tokenizer: Tokenizer, texts: Sequence[Words], on_step: Callable[[], None]) -> Cost | None:
    """Encode texts, in which literals of special tokens are text; ``None`` if one of them has no tokens."""
    unknown = getattr(tokenizer.config.model, "unk", None)
    tokens = whole = lost = 0
    counts: Counts = np.zeros(tokenizer.vocab_size, np.int64)
    for words in texts:
        on_step()
        try:
            found = tokenizer.offsets(words.text, special_tokens="text")
        except UncoveredText:
            return None
        tokens += len(found.ids)
        # Not ``bincount``, which takes as long as the vocabulary is large, also for a text of one word.
        np.add.at(counts, found.ids, 1)
        whole += _whole(words, found.ids, found.spans, unknown)
        if unknown is not None:
            lost += int(np.ptp(found.spans[found.ids == unknown], axis=1).sum())
    return Cost(tokens, whole, lost, counts)


def _whole(words: Words, ids: npt.NDArray[np.uint32], spans: npt.NDArray[np.uint32], unknown: int | None) -> int:
    """Count the words that one token covers and no other touches: parts of a character have the span of it all."""
    starts, ends = spans[:, 0].astype(np.int64), np.maximum.accumulate(spans[:, 1].astype(np.int64))
    first = np.searchsorted(ends, words.starts, side="right")
    is_alone = np.searchsorted(starts, words.ends, side="left") - first == 1
    known = ids[first[is_alone]]
    return int(is_alone.sum() if unknown is None else (known != unknown).sum())


def renyi_efficiency(counts: Counts, vocab_size: int) -> float | None:
    """Return how evenly a vocabulary is used: Rényi's entropy of its tokens over that of equal shares; 1 at most."""
    total = int(counts.sum())
    if not total or vocab_size < 2:
        return None
    shares = counts[counts > 0] / total
    entropy = math.log(float((shares**RENYI_ORDER).sum())) / (1 - RENYI_ORDER)
    return max(0.0, entropy) / math.log(vocab_size)


def entries(tokenizer: Tokenizer) -> dict[int, bytes]:
    """Return the bytes of text that each id stands for, added tokens aside, so that families can be compared.

    The mark of SentencePiece is a space, ``<0x41>`` is one byte, and an entry of WordPiece that begins a word has a
    space before it in place of the prefix of all others.
    """
    vocabulary, model = tokenizer.parts.vocabulary, tokenizer.config.model
    prefix = model.prefix.encode() if model.type == "word_piece" else None
    of_text = (lambda entry: entry) if not vocabulary.is_text else partial(_text_of, prefix)
    added = {token.id for token in tokenizer.added_tokens}
    read = ((id, vocabulary.token_bytes(id)) for id in range(vocabulary.id_limit) if id not in added)
    return {id: of_text(entry) for id, entry in read if entry is not None}


def _text_of(prefix: bytes | None, entry: bytes) -> bytes:
    """Return what an entry that is text stands for; ``prefix`` is that of WordPiece."""
    byte = _BYTE.fullmatch(entry)
    entry = bytes([int(byte[1], 16)]) if byte else entry.replace(_SPACE, b" ")
    if prefix is None:
        return entry
    return entry.removeprefix(prefix) if prefix and entry.startswith(prefix) else b" " + entry


def longest(ids: Iterable[int], entries: Mapping[int, bytes]) -> tuple[str, ...]:
    """Return the longest entries of some ids by bytes, the lower id first among equals, U+FFFD for what is no text."""
    ordered = nsmallest(LISTED, ids, key=lambda id: (-len(entries[id]), id))
    return tuple(entries[id].decode(errors="replace") for id in ordered)
