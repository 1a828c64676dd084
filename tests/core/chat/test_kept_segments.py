"""A chat has the same ids, spans and refused literals whatever is kept of other chats, in any thread."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.core.chat.conversations import TEMPLATES, TOOLS, call, literals, tokenizer
from tokenizer_core import SegmentCache, Tokenizer
from tokenizer_core.errors import TokdError

pytestmark = pytest.mark.skipif(not TEMPLATES, reason="needs the data of the repository's tests")

ROUNDS = 150
WORDS = (
    "the ",
    "quick\n",
    "  brown",
    "ÄÖü ",
    "e\u0301",
    "漢字かな",
    "👩‍👩‍👧",
    "ＡＢＣ",
    "\r\n\t",
    "<|",
    "|>",
    "İß",
    "\u200b",
)
KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"normalizer": ("nfc",)},
    {"normalizer": ("nfkc", "lowercase")},
    {"normalized": True},
)
"""Tokenizers whose text is kept as it is, is rewritten, and whose segments are not kept."""


def caches() -> list[SegmentCache]:
    """Return a cache with room for all, one that is always full, and one that keeps next to nothing."""
    return [SegmentCache(size, shortest=least) for size, least in ((64 << 20, 1), (1 << 16, 1), (2_000, 20))]


def random_chat(rng: random.Random, template: str) -> list[dict[str, Any]]:
    """Make a chat of few texts, so that many of them come again, now and then in another place."""
    pieces = (*WORDS, *literals(template))
    texts = [
        "".join(random.Random(number).choices(pieces, k=number * 7 % 90)) for number in rng.choices(range(40), k=6)
    ]
    chat: list[dict[str, Any]] = []
    for at in range(rng.randrange(1, 9)):
        text = rng.choice(texts)
        if at % 2 == 0:
            chat.append({"role": "user", "content": text})
        elif rng.random() < 0.3:
            chat.append({"role": "assistant", "content": "", "tool_calls": call({"city": text})})
            chat.append({"role": "tool", "tool_call_id": "abcdefghi", "content": rng.choice(texts)})
        else:
            chat.append({"role": "assistant", "content": text})
    return chat


def encoded(own: Tokenizer, chat: list[dict[str, Any]], segments: SegmentCache | None, **options: Any) -> Any:
    """Return all that a chat is encoded to, or why it is not."""
    try:
        found = own.encode_chat(chat, segments=segments, **options)
    except TokdError as error:
        return error.code, error.message
    return found.ids.tolist(), found.spans.tolist(), found.reserved_literals


def compare(seed: int, kept: list[SegmentCache]) -> int:
    """Encode a random chat with no cache and with each, twice; return the number of its ids."""
    rng = random.Random(seed)
    template, kind = rng.choice(TEMPLATES), rng.choice(KINDS)
    chat, options = random_chat(rng, template), {"tools": rng.choice((None, TOOLS)), "add_generation_prompt": True}
    own = tokenizer(template, **kind)
    truth = encoded(own, chat, None, **options)
    for segments in kept:
        for _ in range(2):
            assert encoded(own, chat, segments, **options) == truth, (seed, template, kind)
    return len(truth[0])


def test_a_chat_is_encoded_as_without_a_cache() -> None:
    kept = caches()
    sizes = [compare(seed, kept) for seed in range(ROUNDS)]
    _, found, missed = kept[0].statistics
    assert max(sizes) > 1_000
    assert found > missed > ROUNDS


def test_threads_share_a_cache() -> None:
    kept = caches()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda seed: compare(seed % (ROUNDS // 3), kept), range(ROUNDS)))
    assert kept[0].statistics[1] > kept[0].statistics[2]


def test_segments_of_tokens_in_normalized_text_are_not_kept() -> None:
    segments = SegmentCache(1 << 20, shortest=1)
    chat = [{"role": "user", "content": "a text of the caller's " * 20}]
    for kind, is_kept in zip(KINDS, (True, True, True, False), strict=True):
        before = segments.statistics[2]
        tokenizer(TEMPLATES[0], **kind).encode_chat(chat, segments=segments)
        assert (segments.statistics[2] > before) is is_kept
