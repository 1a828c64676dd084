"""Neither caches nor threads ever change an id."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.support import tiny, vocabularies
from tests.support.data import needs_data
from tests.support.texts import ALPHABET
from tokenizer_core import CacheStatistics, Tokenizer

NAMES = ["tiny", *(pytest.param(name, marks=needs_data) for name in vocabularies.REAL)]
every_tokenizer = pytest.mark.parametrize("name", NAMES)


@cache
def long_text() -> str:
    """Half a dozen shares of hostile mixtures; about every tenth line begins with a letter behind something visible."""
    rows = np.random.default_rng(3).choice(np.array([*ALPHABET, "\n", "\n", "a", "z.", " the"]), (40_000, 24))
    return "".join("".join(row) + ("x\ny" if at % 10 == 0 else "") for at, row in enumerate(rows))


def again(tokenizer: Tokenizer, cache_bytes: int) -> Tokenizer:
    """The same tokenizer with caches of its own."""
    return Tokenizer(tokenizer.parts, cache_bytes=cache_bytes)


@every_tokenizer
def test_threads_never_change_an_id(name: str) -> None:
    tokenizer = vocabularies.tokenizer(name)
    serial = tokenizer.encode(long_text(), special_tokens="parse")
    for threads in (0, 2, 3):
        assert np.array_equal(tokenizer.encode(long_text(), special_tokens="parse", threads=threads), serial)


@every_tokenizer
def test_threads_never_change_a_batch(name: str) -> None:
    tokenizer = vocabularies.tokenizer(name)
    texts = [long_text()[start : start + 3_001] for start in range(0, len(long_text()), 3_001)]
    rows = [tokenizer.encode(text, special_tokens="parse").tolist() for text in texts]
    for threads in (0, 1, 2, 3):
        batch = tokenizer.encode_batch(texts, special_tokens="parse", threads=threads)
        assert [row.tolist() for row in batch] == rows


@every_tokenizer
def test_a_text_without_a_place_to_cut_is_encoded_all_the_same(name: str) -> None:
    tokenizer = vocabularies.tokenizer(name)
    text = "a \n" * 250_000
    assert np.array_equal(tokenizer.encode(text, threads=2), tokenizer.encode(text))


@every_tokenizer
def test_cached_equals_uncached(name: str) -> None:
    tokenizer = vocabularies.tokenizer(name)
    text = long_text()[:300_000] + "word" * 90 + tiny.TEXT
    without, small = again(tokenizer, 0), again(tokenizer, 4096)
    expected = without.encode(text, special_tokens="text")
    for cached in (small, again(tokenizer, 8 << 20)):
        assert np.array_equal(cached.encode(text, special_tokens="text"), expected)
        assert np.array_equal(cached.encode(text, special_tokens="text"), expected)
        assert cached.count(text, special_tokens="text") == len(expected)
        assert np.array_equal(cached.offsets(text, "byte", special_tokens="text").ids, expected)


def test_a_cache_counts_what_it_does(tiny: Tokenizer) -> None:
    fresh = again(tiny, 8 << 20)
    assert fresh.cache_statistics == CacheStatistics(0, 0, 0, 0)
    fresh.encode("aaa bbb ccc")
    size = fresh.cache_statistics.bytes
    assert 0 < size <= 8 << 20
    assert fresh.cache_statistics == CacheStatistics(size, 3, 3, 0)
    fresh.encode("aaa bbb ccc")
    assert fresh.cache_statistics == CacheStatistics(size, 6, 3, 0)


def test_a_small_cache_stays_small_and_forgets(tiny: Tokenizer) -> None:
    small = again(tiny, 4096)
    small.encode(" ".join(map(str, range(20_000))))
    statistics = small.cache_statistics
    assert statistics.bytes <= 2 * 4096
    assert 0 < statistics.evictions < statistics.misses <= statistics.pieces


def test_the_facade_tells_what_its_caches_did() -> None:
    fresh = vocabularies.tiny_tokenizer.__wrapped__()
    fresh.encode("a b")
    assert fresh.cache_statistics.pieces == 2
