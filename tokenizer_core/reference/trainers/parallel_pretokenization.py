"""Rung 3: convert documents to weighted words on all cores.

O(bytes / cores), and memory for the distinct words only. A document is cut by one process, since a pattern looks across
any other border; the sum of the counters is the same however the documents fell to the processes. As in CS336
(Stanford, 2024), assignment 1, which cuts at ``<|endoftext|>`` for the same reason.
"""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import regex

from tokenizer_core.reference.pretokenize import pretokenize
from tokenizer_core.reference.trainers.incremental_counts import incremental_counts
from tokenizer_core.reference.trainers.order import Order, Pair

SHARE = 256
"""Documents that a process takes at a time."""


def count_words(documents: Iterable[str], pattern: str, special_tokens: Sequence[str] = ()) -> Counter[bytes]:
    """Count the words of documents; special tokens separate documents and are not words."""
    words: Counter[bytes] = Counter()
    # The longest first: of two that begin alike the regular expression takes the one that is named first.
    literals = sorted(special_tokens, key=len, reverse=True)
    border = regex.compile("|".join(map(regex.escape, literals)) or r"(?!)")
    for document in documents:
        for stretch in border.split(document):
            stages = [{"type": "split", "pattern": {"name": pattern}, "behavior": "isolated"}]
            words.update(piece.encode() for piece in pretokenize(stages, stretch))
    return words


def count_words_in_parallel(
    documents: Sequence[str], pattern: str, special_tokens: Sequence[str] = (), processes: int | None = None
) -> Counter[bytes]:
    """Count the same words over several processes."""
    shares = [documents[start : start + SHARE] for start in range(0, len(documents), SHARE)]
    count = partial(count_words, pattern=pattern, special_tokens=special_tokens)
    words: Counter[bytes] = Counter()
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for counted in pool.map(count, shares):
            words.update(counted)
    return words


def parallel_pretokenization(documents: Sequence[str], pattern: str, order: Order) -> Iterator[tuple[Pair, int]]:
    """Yield every merge of documents with its count."""
    yield from incremental_counts(count_words_in_parallel(documents, pattern), order)
