"""Comparing tokenizers: every number against its definition, taken the slow way."""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Peer
from tokenizers.models import Unigram, WordPiece
from tokenizers.pre_tokenizers import Whitespace

from tests.support import families
from tests.support.texts import texts as some_text
from tests.support.vocabularies import tiny_tokenizer
from tokenizer_core import ARTICLE_1, MAX_COMPARED, InvalidOption, Tokenizer, compare, fertility, train
from tokenizer_core._kernel import BYTE_ORDER, Vocabulary
from tokenizer_core.comparing import comparison
from tokenizer_core.comparing.measures import RENYI_ORDER, entries, renyi_efficiency
from tokenizer_core.config import PipelineConfig, TokenizerParts
from tokenizer_core.token_counts import word_spans

WORD_PIECES = {"[UNK]": 0, "to": 1, "##ken": 2, "##s": 3, "token": 4, "a": 5, "日": 6}
UNIGRAM = [("<unk>", 0.0), ("a", -2.0), ("b", -2.5), ("▁a", -3.0), ("<0x41>", -9.0), ("ab", -3.5)]


@pytest.fixture(scope="module")
def word_piece(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    peer = Peer(WordPiece(WORD_PIECES, unk_token="[UNK]"))
    peer.pre_tokenizer = Whitespace()
    return families.opened(peer, tmp_path_factory.mktemp("word_piece"))


def whole_words_slowly(tokenizer: Tokenizer, text: str) -> int:
    """Count the words of which all characters belong to one token, which is known, and to no other."""
    found = tokenizer.offsets(text, special_tokens="text")
    unknown = getattr(tokenizer.config.model, "unk", None)
    whole = 0
    for start, end in word_spans(text):
        touching = [
            (int(id), first, last)
            for id, (first, last) in zip(found.ids, found.spans.tolist(), strict=True)
            if first < end and last > start
        ]
        whole += len(touching) == 1 and touching[0][0] != unknown and touching[0][1] <= start and touching[0][2] >= end
    return whole


def test_a_tokenizer_that_is_named_twice_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tiny_tokenizer(), train(iter(["low lower lowest"]), 260)
    read: list[str] = []

    def counted(tokenizer: Tokenizer) -> dict[int, bytes]:
        read.append(tokenizer.hash)
        return entries(tokenizer)

    monkeypatch.setattr(comparison, "entries", counted)
    found = compare([first, second, first, first], {"a": ["low"]})
    assert read == [first.hash, second.hash]
    rows = [[each.hash, each.name, each.tokens, *each.shared] for each in found.tokenizers]
    assert rows[0] == rows[2] == rows[3]
    for place in (0, 2, 3):
        shared = len({*entries(first).values()} & {*entries(second).values()})
        assert found.tokenizers[1].shared[place] == round(shared / len({*entries(second).values()}), 4)
        assert found.costs["a"][place] == found.costs["a"][0]


@given(some_text, some_text)
def test_costs_are_those_of_their_definitions(one: str, other: str) -> None:
    first = tiny_tokenizer()
    found = compare([first], {"text": [one, other]})
    (cost,), size, truth = found.costs["text"], found.sizes["text"], fertility(first, [one, other])
    assert cost is not None
    assert (cost.tokens, size.bytes, size.characters, size.words) == (
        truth.tokens, truth.bytes, truth.characters, truth.words,
    )  # fmt: skip
    assert cost.per_word == round(truth.per_word, 4)
    assert cost.per_byte == round(truth.per_byte, 4)
    slowly = whole_words_slowly(first, one) + whole_words_slowly(first, other)
    assert cost.whole_words == round(slowly / max(1, truth.words), 4)


def test_a_word_of_several_tokens_or_of_the_unknown_one_is_not_whole(word_piece: Tokenizer) -> None:
    for text, share in (("token", 1.0), ("tokens", 0.0), ("xyz", 0.0), ("token xyz a 日", 0.75)):
        (cost,) = compare([word_piece], {"text": [text]}).costs["text"]
        assert cost is not None
        assert cost.whole_words == share, text
    (cost,) = compare([word_piece], {"text": ["token xyz a 日"]}).costs["text"]
    assert cost is not None
    assert cost.unknown == round(3 / 13, 4)
    (cost,) = compare([tiny_tokenizer()], {"text": ["鱼"]}).costs["text"]
    assert cost is not None
    assert (cost.tokens, cost.whole_words, cost.unknown) == (3, 0.0, 0.0)


def test_costs_are_in_proportion_to_the_first(word_piece: Tokenizer) -> None:
    text = "tokens token a"
    found = compare([tiny_tokenizer(), word_piece], {"text": [text]}, context=1000)
    first, second = found.costs["text"]
    assert first is not None
    assert second is not None
    times = second.tokens / first.tokens
    assert (first.times_first, first.context_needed, first.attention) == (1.0, 1000, 1.0)
    assert second.times_first == round(times, 4)
    assert second.context_needed == round(times * 1000)
    assert second.attention == round(times * times, 4)


def test_unused_entries_are_those_of_no_text() -> None:
    tokenizer = tiny_tokenizer()
    texts = {"one": ["the tokens"], "two": ["They're", "aaaa"]}
    used = {int(id) for given in texts.values() for text in given for id in tokenizer.encode(text)}
    (summary,) = compare([tokenizer], texts).tokenizers
    known = entries(tokenizer)
    assert summary.unused == len(known.keys() - used)
    unused = sorted(known.keys() - used, key=lambda id: (-len(known[id]), id))
    assert summary.longest_unused == tuple(known[id].decode(errors="replace") for id in unused[:10])
    assert max(map(len, known.values())) == len(known[sorted(known, key=lambda id: (-len(known[id]), id))[0]])


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30))
def test_the_efficiency_is_renyis_entropy_over_that_of_equal_shares(counts: list[int]) -> None:
    total = sum(counts)
    found = renyi_efficiency(np.array(counts, np.int64), 40)
    if not total:
        assert found is None
        return
    entropy = math.log(sum((count / total) ** RENYI_ORDER for count in counts if count)) / (1 - RENYI_ORDER)
    assert found == pytest.approx(max(0.0, entropy) / math.log(40))
    assert 0 <= found <= 1


def test_equal_shares_are_efficient_and_one_token_is_not() -> None:
    assert renyi_efficiency(np.full(16, 3, np.int64), 16) == pytest.approx(1)
    assert renyi_efficiency(np.array([9, 0], np.int64), 2) == 0


def test_the_efficiency_is_that_of_all_texts_together() -> None:
    tokenizer, texts = tiny_tokenizer(), {"one": ["the tokens"], "two": ["the the"]}
    counts = Counter(int(id) for given in texts.values() for text in given for id in tokenizer.encode(text))
    (summary,) = compare([tokenizer], texts).tokenizers
    expected = renyi_efficiency(np.array(list(counts.values()), np.int64), len(entries(tokenizer)))
    assert expected is not None
    assert summary.renyi_efficiency == round(expected, 4)


def test_entries_of_all_families_are_what_they_stand_for(word_piece: Tokenizer, tmp_path: Path) -> None:
    assert entries(word_piece)[2] == b"ken"
    assert entries(word_piece)[4] == b" token"
    unigram = families.opened(Peer(Unigram(UNIGRAM, 0)), tmp_path)
    assert [entries(unigram)[id] for id in (1, 3, 4)] == [b"a", b" a", b"A"]
    assert set(entries(tiny_tokenizer()).values()) >= {bytes([byte]) for byte in range(256)}
    assert tiny_tokenizer().special_tokens["<|end|>"] not in entries(tiny_tokenizer())


def test_shares_of_vocabularies_are_those_of_sets(word_piece: Tokenizer) -> None:
    both = [tiny_tokenizer(), word_piece]
    first, second = (set(entries(each).values()) for each in both)
    one, other = compare(both).tokenizers
    assert one.shared == (1.0, round(len(first & second) / len(first), 4))
    assert other.shared == (round(len(first & second) / len(second), 4), 1.0)


def test_text_that_a_tokenizer_does_not_have_costs_nothing_that_could_be_told(tmp_path: Path) -> None:
    bare = families.opened(Peer(Unigram([("a", -1.0), ("b", -2.0)], None)), tmp_path)
    found = compare([bare, tiny_tokenizer()], {"letters": ["abab"], "other": ["xyz"]})
    assert found.costs["other"][0] is None
    other = found.costs["other"][1]
    assert other is not None
    assert other.times_first is None
    assert found.costs["letters"][0] is not None
    assert found.to_dict()["texts"]["other"]["costs"][0] is None


def test_without_texts_it_is_twenty_languages() -> None:
    assert set(compare([tiny_tokenizer()]).costs) == set(ARTICLE_1)


def test_nothing_costs_nothing() -> None:
    found = compare([tiny_tokenizer()], {"empty": [""], "none": []})
    for name in ("empty", "none"):
        (cost,) = found.costs[name]
        assert cost is not None
        assert (cost.tokens, cost.per_word, cost.whole_words, cost.times_first) == (0, 0, 0, None)
    assert found.tokenizers[0].renyi_efficiency is None


def test_each_step_may_end_the_comparison() -> None:
    def stop() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        compare([tiny_tokenizer()], on_step=stop)


@pytest.mark.parametrize(
    ("tokenizers", "options", "field"),
    [
        ([], {}, "tokenizers"),
        ("base", {}, "tokenizers"),
        (["base"], {}, "tokenizers[0]"),
        (None, {"texts": {}}, "texts"),
        (None, {"texts": ["a"]}, "texts"),
        (None, {"texts": {"a": "b"}}, "texts.a"),
        (None, {"texts": {"a": [1]}}, "texts.a[0]"),
        (None, {"texts": {"a": ["\ud800"]}}, "texts.a[0]"),
        (None, {"context": 0}, "context"),
        (None, {"context": 1.5}, "context"),
        (None, {"on_step": 1}, "on_step"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(tokenizers: Any, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        compare([tiny_tokenizer()] if tokenizers is None else tokenizers, **options)
    assert caught.value.place["field"] == field


def test_too_many_are_refused() -> None:
    with pytest.raises(InvalidOption):
        compare([tiny_tokenizer()] * (MAX_COMPARED + 1))


def test_a_short_text_does_not_take_a_pass_over_the_vocabulary() -> None:
    tokens = [*enumerate(BYTE_ORDER), *((id, id.to_bytes(8)) for id in range(256, 1 << 19))]
    large = Tokenizer(TokenizerParts(Vocabulary.from_tokens(tokens, []), PipelineConfig()))
    before = time.process_time()
    (cost,) = compare([large], {"many": ["a"] * 50_000}).costs["many"]
    assert cost is not None
    assert cost.tokens == 50_000
    assert time.process_time() - before < 10
