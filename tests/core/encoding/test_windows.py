"""Windows over long texts and pairs are those of ``tokenizers``, which transformers returns as overflowing tokens."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tokenizers import Tokenizer as HuggingFace

from tests.core.encoding.test_pairs import PROCESSORS, as_lists, both, placed, random_texts
from tests.support import families
from tests.support.data import needs_data
from tokenizer_core import InvalidOption, Tokenizer

FAMILIES = (
    *("hf-bpe-clip", "hf-bpe-gemma", "hf-bpe-llama2", "hf-bytelevel-deepseek", "hf-unigram-metaspace"),
    *("hf-wordpiece-cased", "hf-wordpiece-uncased"),
)


def compare(tokenizer: Tokenizer, peer: HuggingFace, rng: random.Random, texts: list[str], cases: int) -> int:
    """Compare random windows with those of the peer; return how many rows there were beyond one a text."""
    more = 0
    for _ in range(cases):
        text, second = rng.choice(texts), rng.choice([None, rng.choice(texts)])
        strategy = rng.choice(("only_first", "only_second") if second is not None else ("longest_first", "only_first"))
        side, length = rng.choice(("left", "right")), rng.randint(5, 60)
        options = {"max_length": length, "truncation": strategy, "truncation_side": side, "special_tokens": "parse"}
        other = text if strategy == "only_second" else second
        room = length - len(tokenizer.encode_pair(text, second, special_tokens="parse").ids)
        cut = second if strategy == "only_second" else text
        room += len(tokenizer.encode(cut or "", special_tokens="parse"))
        stride = rng.randint(0, 40)
        pairs = None if second is None else [text, second]
        rows = [text] if pairs is None else [text, text]
        if room <= stride:
            if len(tokenizer.encode_pair(text, second, special_tokens="parse").ids) > length:
                with pytest.raises(InvalidOption, match=r"stride|max_length"):
                    tokenizer.encode_pair_batch(rows, pairs, stride=stride, **options)
            continue
        peer.enable_truncation(length, stride=stride, strategy=strategy, direction=side)
        made = tokenizer.encode_pair_batch(rows, pairs and [second, second], stride=stride, unit="char", **options)
        found = peer.encode(text, second)
        expected = [found, *found.overflowing]
        assert [row.overflow_of for row in made] == [0] * len(expected) + [1] * (len(rows) - 1) * len(expected)
        for at, (row, theirs) in enumerate(zip(made, expected, strict=False)):
            assert (as_lists(row)[0], as_lists(row)[2]) == (theirs.ids, theirs.sequence_ids)
            # Of a frame whose first text is not of type 0 the peer gives only the first row its types.
            assert row.type_ids.tolist() == theirs.type_ids or (
                at and made[0].type_ids[made[0].sequence_ids == 0].any()
            )
            assert as_lists(row)[4] == theirs.special_tokens_mask
            assert sum(row.removed) == 0
            own = [text] if second is None else [text, second]
            if all(map(str.isascii, own)) and {*range(len(own))} <= {*theirs.sequence_ids} and other is not None:
                assert [
                    span for span, of in zip(as_lists(row)[3], theirs.sequence_ids, strict=True) if of is not None
                ] == [
                    span for span, of in zip(placed(theirs, *own), theirs.sequence_ids, strict=True) if of is not None
                ]
        more += len(expected) - 1
    return more


@pytest.mark.parametrize("name", PROCESSORS)
def test_windows_are_those_of_hugging_face(name: str, tmp_path: Path) -> None:
    tokenizer, peer = both(tmp_path, PROCESSORS[name])
    texts = [" ".join(random_texts(seed, 12)) for seed in range(30)]
    assert compare(tokenizer, peer, random.Random(name), texts, 150) > 100


@needs_data
@pytest.mark.parametrize("name", FAMILIES)
def test_windows_of_every_family_are_those_of_hugging_face(name: str) -> None:
    # One of its own: other tests share the peer, which would truncate for them too.
    tokenizer, peer = families.ours(name), HuggingFace.from_str(families.peer(name).to_str())
    texts = [" ".join(random_texts(seed, 12)) for seed in range(30)]
    assert compare(tokenizer, peer, random.Random(name), texts, 120) > 50


def test_spans_of_windows_cover_the_whole_text() -> None:
    tokenizer = Tokenizer.open("artifacts/base")
    text = "The quick brown fox jumps over the lazy dog. " * 40
    rows = tokenizer.encode_pair_batch([text, "short"], None, max_length=32, stride=8, unit="char")
    of_text = [row for row in rows if row.overflow_of == 0]
    assert [row.overflow_of for row in rows] == [0] * len(of_text) + [1]
    assert max(len(row.ids) for row in rows) == 32
    covered = {at for row in of_text if row.spans is not None for start, end in row.spans for at in range(start, end)}
    assert covered == set(range(len(text)))
    joined = [*of_text[0].ids, *(id for row in of_text[1:] for id in row.ids[8:])]
    assert joined == tokenizer.encode(text).tolist()


@pytest.mark.parametrize(
    ("options", "second", "field"),
    [
        ({"stride": 3}, None, "stride"),
        ({"stride": -1, "max_length": 9}, None, "stride"),
        ({"stride": 9, "max_length": 9}, None, "stride"),
        ({"stride": 1, "max_length": 9}, ["b" * 90], "truncation"),
        ({"stride": 1, "max_length": 9, "truncation": "only_first"}, ["b c " * 9], "stride"),
    ],
)
def test_windows_that_cannot_be_are_refused_by_name(options: dict, second: list[str] | None, field: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        Tokenizer.open("artifacts/base").encode_pair_batch(["a b c d " * 9], second, **options)
    assert refused.value.place["field"] == field
