"""Lists of words, their ids and labels, and the words of whole texts, are those of ``tokenizers``."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from tokenizers import Tokenizer as HuggingFace

from tests.core.encoding.test_windows import FAMILIES as COVERED
from tests.support import families
from tests.support.data import needs_data
from tests.support.texts import ALPHABET
from tokenizer_core import InvalidOption, ReservedLiteral, Tokenizer

FAMILIES = (*COVERED, "hf-bytelevel-roberta-no-alphabet")
CASES = 250
"""Of each of eight families."""

PARTS = [
    "hello",
    "the",
    "don't",
    " ",
    "  ",
    "é",
    "Ünï",
    "日本",
    "🙂",
    "x",
    "\n",
    "12",
    "1234",
    ".",
    "▁",
    "[SEP]",
    "<s>",
]


def own_peer(name: str) -> HuggingFace:
    """Return a peer that may be given a truncation: the one of ``families`` is that of other tests too."""
    return HuggingFace.from_str(families.peer(name).to_str())


@cache
def parts_of(name: str) -> list[str]:
    """Return the parts of words that the tokenizer takes: one has no token for some bytes, which its peer drops."""
    parts = [*PARTS, *ALPHABET]
    if "no-alphabet" not in name:
        return parts
    missing = {*families.ours(name).parts.vocabulary.missing_bytes}
    return [part for part in parts if not missing & {*part.encode()}]


def random_words(name: str, rng: random.Random, most: int) -> list[str]:
    return ["".join(rng.choices(parts_of(name), k=rng.randint(1, 4))) for _ in range(rng.randrange(most))]


def nulls(values: np.ndarray) -> list[int | None]:
    return [None if value < 0 else value for value in values.tolist()]


@needs_data
@pytest.mark.parametrize("name", FAMILIES)
def test_words_are_those_of_hugging_face(name: str) -> None:
    tokenizer, peer, rng = families.ours(name), own_peer(name), random.Random(name)
    cases = several = 0
    while cases < CASES:
        words, second = random_words(name, rng, 12), rng.choice([None, random_words(name, rng, 12)])
        strategy = rng.choice(["longest_first", "only_first"] if second is None else ["only_first", "only_second"])
        side, stride, length = rng.choice(["left", "right"]), rng.choice([None, 0, 2]), rng.choice([None, 12, 25])
        options = {"max_length": length, "truncation": strategy, "truncation_side": side, "special_tokens": "parse"}
        peer.no_truncation()
        if length is None:
            stride = None
        else:
            peer.enable_truncation(length, stride=stride or 0, strategy=strategy, direction=side)
        seconds = None if second is None else [second]
        try:
            rows = tokenizer.encode_pair_batch([words], seconds, stride=stride, unit="char", **options)
        except InvalidOption:
            # No room beside the text that stays, or for a new id beside those of the stride.
            continue
        cases += 1
        found = peer.encode(words, second, is_pretokenized=True)
        expected = [found, *(found.overflowing if stride is not None else [])]
        assert len(rows) == len(expected)
        for row, theirs in zip(rows, expected, strict=True):
            assert (row.ids.tolist(), nulls(row.word_ids)) == (theirs.ids, theirs.word_ids)
            # Of pairs without special tokens the peer numbers the sequences of the first window alone.
            assert nulls(row.sequence_ids) == theirs.sequence_ids or "deepseek" in name
            if (
                all(map(str.isascii, [*words, *(second or [])]))
                and not tokenizer.config.normalizer
                and "roberta" not in name
            ):
                assert [tuple(span) for span in row.spans.tolist()] == theirs.offsets
        several += len(rows) > 1
    assert several > 20


@needs_data
@pytest.mark.parametrize("name", FAMILIES)
def test_words_of_whole_texts_are_those_of_hugging_face(name: str) -> None:
    tokenizer, peer, rng = families.ours(name), families.peer(name), random.Random(name)
    for _ in range(CASES):
        text, second = " ".join(random_words(name, rng, 30)), " ".join(random_words(name, rng, 9))
        row = tokenizer.encode_pair(text, second, special_tokens="parse", word_ids=True)
        found = peer.encode(text, second)
        assert (row.ids.tolist(), nulls(row.word_ids)) == (found.ids, found.word_ids)
        assert (
            tokenizer.encode_pair(text, second, special_tokens="parse", word_ids=True, unit="char").word_ids is not None
        )


@needs_data
@pytest.mark.parametrize("name", FAMILIES)
def test_the_first_id_of_a_word_has_its_label(name: str) -> None:
    tokenizer, rng = families.ours(name), random.Random(name)
    words = random_words(name, rng, 40)
    (whole,) = tokenizer.encode_pair_batch([words], None, word_labels=[range(len(words))], special_tokens="parse")
    before = None
    for word, label in zip(whole.word_ids.tolist(), whole.labels.tolist(), strict=True):
        assert label == (word if word not in (before, -1) else -100)
        before = word
    windows = tokenizer.encode_pair_batch(
        [words], None, word_labels=[range(len(words))], special_tokens="parse", max_length=12, stride=0
    )
    own = [label for row in windows for label in row.labels[row.sequence_ids == 0].tolist()]
    assert own == whole.labels[whole.sequence_ids == 0].tolist()
    (pair,) = tokenizer.encode_pair_batch([words], ["x"], word_labels=[range(len(words))], special_tokens="parse")
    assert {*pair.labels[pair.sequence_ids == 1].tolist()} == {-100}


@pytest.mark.parametrize(
    ("texts", "labels", "place"),
    [
        ([["a"], ["b", ""]], None, {"row": 1, "index": 1}),
        ([["a"], ["b", 3]], None, {"row": 1, "index": 1}),
        ([["a"], "b"], None, {"field": "texts[1]"}),
        ([["a", "b"]], [[1]], {"field": "word_labels", "row": 0}),
        ([["a", "b"]], [[1, "x"]], {"field": "word_labels[0][1]"}),
        ([["a", "b"]], [[1, 1 << 63]], {"field": "word_labels", "row": 0}),
        ([["a"], ["b"]], [[1]], {"field": "word_labels"}),
        (["a"], [[1]], {"field": "word_labels"}),
    ],
)
def test_bad_words_and_labels_are_refused_with_their_place(texts: list, labels: list | None, place: dict) -> None:
    with pytest.raises(InvalidOption) as refused:
        Tokenizer.open("artifacts/base").encode_pair_batch(texts, None, word_labels=labels)
    assert refused.value.place == place


def test_a_literal_is_refused_at_its_word() -> None:
    base = Tokenizer.open("artifacts/base")
    with pytest.raises(ReservedLiteral) as refused:
        base.encode_pair_batch([["a"], ["b", "c<|im_end|>"]], None)
    assert (refused.value.place["row"], refused.value.place["index"], refused.value.place["span"]) == (1, 1, [1, 11])
    with pytest.raises(ReservedLiteral) as refused:
        base.encode_pair(["a"], ["b<|im_end|>"])
    assert (refused.value.place["field"], refused.value.place["index"]) == ("text_pair", 0)
    assert "row" not in refused.value.place


@needs_data
def test_a_model_without_pieces_numbers_no_words_of_its_own() -> None:
    tokenizer = families.ours("spm-unigram-nmt_nfkc")
    with pytest.raises(InvalidOption) as refused:
        tokenizer.encode_pair("hello the", None, word_ids=True)
    assert refused.value.place["field"] == "word_ids"
    assert tokenizer.encode_pair(["hello", "the"], None, word_ids=True).word_ids is not None


def test_texts_without_words_have_rows_too() -> None:
    base = Tokenizer.open("artifacts/base")
    rows = base.encode_pair_batch([[], ["a", "b"], []], None, unit="char", word_labels=[[], [5, 6], []])
    assert [row.ids.tolist() for row in rows] == [[], [64, 65], []]
    assert [row.labels.tolist() for row in rows] == [[], [5, 6], []]
    assert base.encode_pair_batch([], None) == []


def test_one_text_stands_beside_many() -> None:
    base = Tokenizer.open("artifacts/base")
    passages = ["one two", "", "the quick brown fox " * 9]
    options = {"max_length": 16, "truncation": "only_second", "unit": "char"}
    shared = base.encode_pair_batch("what is it?", passages, **options)
    single = [base.encode_pair("what is it?", passage, **options) for passage in passages]
    assert [(row.ids.tolist(), row.spans.tolist()) for row in shared] == [
        (row.ids.tolist(), row.spans.tolist()) for row in single
    ]
    assert [row.overflow_of for row in shared] == [0, 1, 2]
    assert base.encode_pair_batch("what is it?", []) == []
    with pytest.raises(InvalidOption) as refused:
        base.encode_pair_batch("a " * 100, ["b"] * 100, most_ids=9_999)
    assert refused.value.place == {"field": "text_pair"}
    base.encode_pair_batch("a " * 100, ["b"] * 100, most_ids=2_000, max_length=20)
    with pytest.raises(InvalidOption):
        base.encode_pair_batch("a", None)
