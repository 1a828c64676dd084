"""All rungs of the ladder make the same merges, and the kernel makes them too."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from service.cli import bench_ladder
from tests.support.corpora import TIE_BREAKS, random_words
from tokenizer_core._kernel import Counter, learn_merges
from tokenizer_core.reference.trainers import order
from tokenizer_core.reference.trainers.incremental_counts import incremental_counts
from tokenizer_core.reference.trainers.inverted_index import inverted_index
from tokenizer_core.reference.trainers.lazy_heap import lazy_heap
from tokenizer_core.reference.trainers.linked_positions import linked_positions
from tokenizer_core.reference.trainers.multiset_heap import multiset_heap
from tokenizer_core.reference.trainers.naive_recount import naive_recount
from tokenizer_core.reference.trainers.order import Order, Pair, Trainer, learn
from tokenizer_core.reference.trainers.parallel_pretokenization import (
    count_words,
    count_words_in_parallel,
    parallel_pretokenization,
)
from tokenizer_core.reference.trainers.whole_text import whole_text

pytestmark = [pytest.mark.nightly, pytest.mark.slow]

RUNGS: tuple[Trainer, ...] = (
    incremental_counts,
    inverted_index,
    lazy_heap,
    linked_positions,
    multiset_heap,
    whole_text,
)
SEED = 20_26


def kernel(words: Mapping[bytes, int], vocab_size: int, tie_break: str, least: int) -> list[Pair]:
    """Learn the merges of weighted words with the kernel."""
    counter = Counter("{}")
    lines = b"".join(b'%d\t"%s"\n' % (times, word) for word, times in words.items())
    counter.add_counts(lines, 1)
    tokens, _, merges = learn_merges(counter.finish(), vocab_size, tie_break=tie_break, min_frequency=least)
    return [(tokens[left], tokens[right]) for left, right, _, _ in merges]


@pytest.mark.parametrize("rung", bench_ladder.RUNGS[:-1])
def test_a_rung_is_short_and_says_what_it_costs_and_where_it_is_from(rung: str) -> None:
    source = (Path(inspect.getfile(order)).parent / f"{rung}.py").read_text(encoding="utf-8")
    assert source.count("\n") <= 80
    assert "O(" in source[: source.index("from __future__")]
    assert re.search(r"\((19|20)\d\d\)|, 20\d\d\)", source[: source.index("from __future__")])


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_every_rung_and_the_kernel_make_the_merges_of_the_definition(tie_break: str) -> None:
    rng = random.Random(SEED)
    for case in range(150):
        words, vocab_size, least = random_words(rng), rng.choice((258, 265, 290, 400)), rng.choice((1, 2, 3))
        truth = learn(naive_recount, words, vocab_size, tie_break, least)
        for rung in RUNGS:
            assert learn(rung, words, vocab_size, tie_break, least) == truth, (SEED, case, rung, words)
        assert kernel(words, vocab_size, tie_break, least) == truth, (SEED, case, words)


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_the_kernel_makes_the_merges_of_the_definition(tie_break: str) -> None:
    rng = random.Random(SEED + 1)
    for case in range(1000):
        words, vocab_size, least = random_words(rng, "abcdefgh"), rng.choice((258, 265, 290)), rng.choice((0, 1, 2, 3))
        assert kernel(words, vocab_size, tie_break, least) == learn(
            naive_recount, words, vocab_size, tie_break, least
        ), (SEED, case, words)


def test_a_text_as_one_word_is_learned_alike_by_all_rungs() -> None:
    rng = random.Random(SEED)
    text = "".join(rng.choices("abc d", k=2000)).encode() + b"a" * 501
    truth = learn(naive_recount, {text: 1}, 320)
    for rung in RUNGS:
        assert learn(rung, {text: 1}, 320) == truth, rung
    assert kernel({text: 1}, 320, "lexicographic_low", 1) == truth


def test_processes_never_change_a_count_or_a_merge() -> None:
    rng = random.Random(SEED)
    documents = ["".join(rng.choices("low er<|end|>né\n", k=60)) for _ in range(600)]
    serial = count_words(documents, "gpt2", ["<|end|>"])
    assert count_words_in_parallel(documents, "gpt2", ["<|end|>"], processes=2) == serial
    merges = [pair for pair, _ in zip(parallel_pretokenization(documents, "gpt2", Order()), range(30), strict=False)]
    truth = learn(naive_recount, count_words(documents, "gpt2"), 256 + 30)
    assert [pair for pair, _ in merges] == truth
