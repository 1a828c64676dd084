"""Ids that are lent to the kernel, and rows so long that they are decoded in portions."""

from __future__ import annotations

import threading
from contextlib import suppress

import numpy as np
import pytest

from tests.support.tiny import TEXT, merges
from tokenizer_core import Tokenizer
from tokenizer_core.errors import InvalidOption, UnknownTokenId

LENGTHS = [0, 1, 7, 511, 2047, 2048, 2049, 6151, 140_000]


def rows(tokenizer: Tokenizer, length: int) -> list[list[int]]:
    """Return rows of text in many scripts, of ids by chance, and of both."""
    chance = np.random.default_rng(length).integers(0, 256 + len(merges()), length).tolist()
    text = tokenizer.encode(TEXT * 20).tolist()[:length]
    return [text, chance, (text[: length // 2] + chance)[:length], [72] * length]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_text_is_the_bytes_of_its_tokens_however_long_it_is(tiny: Tokenizer, length: int) -> None:
    for row in rows(tiny, length):
        expected = b"".join(tiny.token_bytes(id) for id in row)
        for ids in (row, np.asarray(row, np.uint32)):
            assert tiny.decode_bytes(ids) == expected
            assert tiny.decode(ids) == expected.decode("utf-8", "replace")


def test_an_array_may_lie_in_memory_as_it_likes(tiny: Tokenizer) -> None:
    ids = tiny.encode("日本語、tokens 👍")
    odd = np.frombuffer(b"\0" + ids.tobytes(), np.uint8)[1:].view(np.uint32)
    frozen = ids.copy()
    frozen.flags.writeable = False
    column = np.stack([ids, ids], axis=1)[:, 0]
    for other in (odd, frozen, column, ids.astype(">u4"), ids.astype(np.int64)):
        assert tiny.decode(other) == "日本語、tokens 👍"
        assert tiny.decode_bytes(other) == "日本語、tokens 👍".encode()


def test_ids_that_another_thread_writes_into_are_decoded_or_refused(tiny: Tokenizer) -> None:
    longest = max(range(256 + 100), key=lambda id: len(tiny.token_bytes(id)))
    ids = np.zeros(20_000, np.uint32)
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            for id in (longest, 0, 200, 4_000_000_000):
                ids[:] = id

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            with suppress(UnknownTokenId, InvalidOption):
                assert len(tiny.decode_bytes(ids)) <= len(ids) * len(tiny.token_bytes(longest))
            with suppress(UnknownTokenId, InvalidOption):
                assert isinstance(tiny.decode(ids), str)
    finally:
        done.set()
        writer.join()
