"""Exports: what comes back is the same tokenizer, and what a format cannot carry is refused by name."""

import base64
import dataclasses
import json

import pytest

from tests.support.data import needs_data, shared
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import AddedToken, PipelineConfig, TokenizerParts
from tokenizer_core.errors import Unsupported
from tokenizer_core.export import to_tiktoken, to_vocab_merges
from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer

GPT2 = PipelineConfig(pretokenizer=(Pretokenizer("split", pattern=Pattern("name", "gpt2")),))
BYTES = [(id, bytes([id])) for id in range(256)]
SPECIAL = AddedToken(id=900, content="<|end|>", special=True)


def parts(*merges: tuple[bytes, bytes], config: PipelineConfig = GPT2, whole: tuple[bytes, ...] = ()) -> TokenizerParts:
    """256 bytes, then the products of the merges in the order given, then tokens that no merge makes."""
    ids = {token: id for id, token in BYTES}
    rows = []
    for left, right in merges:
        product = ids.setdefault(left + right, len(ids))
        rows.append((ids[left], ids[right], product))
    for token in whole:
        ids[token] = len(ids)
    return TokenizerParts(Vocabulary.from_tokens([(id, token) for token, id in ids.items()], rows), config)


HELLO = parts((b"h", b"e"), (b"l", b"l"), (b"he", b"ll"), (b"hell", b"o"))


def test_ranks_are_every_token_with_its_id():
    data, beside = to_tiktoken(HELLO)
    lines = [line.split() for line in data.splitlines()]
    assert [(base64.b64decode(token), int(id)) for token, id in lines] == [
        *((bytes([id]), id) for id in range(256)),
        (b"he", 256),
        (b"ll", 257),
        (b"hell", 258),
        (b"hello", 259),
    ]
    assert (beside.pattern, dict(beside.special_tokens)) == ("gpt2", {})


def test_vocab_and_merges_are_those_of_the_source():
    files, _ = to_vocab_merges(HELLO)
    vocab, merges = files["vocab.json"], files["merges.txt"]
    assert merges == b"#version: 0.2\nh e\nl l\nhe ll\nhell o\n"
    assert json.loads(vocab)["hello"] == 259
    assert Vocabulary.from_vocab_merges(vocab, merges).digest == HELLO.vocabulary.digest


def test_special_tokens_and_pattern_travel_beside_the_files():
    config = dataclasses.replace(
        GPT2, pretokenizer=(Pretokenizer("split", pattern=Pattern("regex", r"\p{L}+|\P{L}")),), added_tokens=(SPECIAL,)
    )
    for beside in (to_tiktoken(parts(config=config))[1], to_vocab_merges(parts(config=config))[1]):
        assert (beside.pattern, beside.regex) == (r"\p{L}+|\P{L}", r"\p{L}+|\P{L}")
        assert dict(beside.special_tokens) == {"<|end|>": 900}


@pytest.mark.parametrize("export", [to_tiktoken, to_vocab_merges])
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"normalizer": (Normalizer("nfc"),)}, "normalizer"),
        ({"prefix_space": True}, "pre_tokenizer.add_prefix_space"),
        ({"prefix_ids": (1,)}, "post_processor"),
        ({"suffix_ids": (1,)}, "post_processor"),
        ({"pretokenizer": ()}, "pre_tokenizer"),
        ({"pretokenizer": (Pretokenizer("digits", individual=True),)}, "pre_tokenizer"),
        ({"pretokenizer": (*GPT2.pretokenizer, Pretokenizer("digits", individual=True))}, "pre_tokenizer"),
        (
            {"pretokenizer": (Pretokenizer("split", pattern=Pattern("regex", "x"), behavior="merged_with_next"),)},
            "pre_tokenizer",
        ),
        (
            {"pretokenizer": (Pretokenizer("split", pattern=Pattern("regex", "x"), behavior="isolated", invert=True),)},
            "pre_tokenizer",
        ),
        ({"pretokenizer": (Pretokenizer("split", pattern=Pattern("string", "x")),)}, "pre_tokenizer"),
        # What lies between the matches is a piece here, and lost to tiktoken.
        ({"pretokenizer": (Pretokenizer("split", pattern=Pattern("regex", r"\d{1,3}")),)}, "pre_tokenizer"),
        *(
            ({"added_tokens": (dataclasses.replace(SPECIAL, **flag),)}, "added_tokens['<|end|>']")
            for flag in (
                {"special": False},
                {"lstrip": True},
                {"rstrip": True},
                {"single_word": True},
                {"normalized": True},
            )
        ),
    ],
)
def test_what_a_format_cannot_carry_is_refused_by_name(export, change, field):
    with pytest.raises(Unsupported) as caught:
        export(parts(config=dataclasses.replace(GPT2, **change)))
    assert caught.value.place == {"field": field}


def test_ranks_refuse_merges_out_of_the_order_of_ids():
    swapped = [(104, 101, 257), (108, 108, 256)]
    vocabulary = Vocabulary.from_tokens([*BYTES, (256, b"ll"), (257, b"he")], swapped)
    with pytest.raises(Unsupported, match="order of their ids") as caught:
        to_tiktoken(TokenizerParts(vocabulary, GPT2))
    assert caught.value.place == {"field": "merges"}
    to_vocab_merges(TokenizerParts(vocabulary, GPT2))


def test_ranks_refuse_a_merge_that_tiktoken_makes_of_other_parts():
    # tiktoken joins "ab" first, so it makes "abc" of "ab" and "c"; here it is made of "a" and "bc".
    other = parts((b"a", b"b"), (b"b", b"c"), (b"a", b"bc"))
    with pytest.raises(Unsupported, match="order of their ids"):
        to_tiktoken(other)


def test_a_token_that_no_merge_makes_needs_ignore_merges():
    whole = dataclasses.replace(GPT2, ignore_merges=True)
    with pytest.raises(Unsupported, match="whole pieces"):
        to_tiktoken(parts((b"h", b"e"), whole=(b"xyz",)))
    to_tiktoken(parts((b"h", b"e"), whole=(b"xyz",), config=whole))
    to_vocab_merges(parts((b"h", b"e"), whole=(b"xyz",)))
    with pytest.raises(Unsupported, match="whole pieces") as caught:
        to_vocab_merges(parts((b"h", b"e"), whole=(b"xyz",), config=whole))
    assert caught.value.place == {"field": "ignore_merges"}


def test_merges_that_never_fire_do_not_stand_in_the_way():
    # "ab" + "c" always fires before "a" + "bc" could, because "ab" is made first.
    more = parts((b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc"))
    data, _ = to_tiktoken(more)
    assert len(data.splitlines()) == 259


@needs_data
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_real_ranks_come_out_as_they_came_in(name):
    source = shared(f"vocabs/{name}.tiktoken").read_bytes()
    config = PipelineConfig(pretokenizer=(Pretokenizer("split", pattern=Pattern("name", name)),), ignore_merges=True)
    data, beside = to_tiktoken(TokenizerParts(Vocabulary.from_tiktoken(source), config))
    assert data.splitlines() == source.splitlines()
    assert beside.pattern == name


@needs_data
def test_real_gpt2_goes_through_ranks_and_back():
    vocab, merges = (shared(f"vocabs/gpt2_{name}").read_bytes() for name in ("vocab.json", "merges.txt"))
    vocabulary = Vocabulary.from_vocab_merges(vocab, merges).reserve([(50256, "<|endoftext|>")])
    special = AddedToken(id=50256, content="<|endoftext|>", special=True)
    gpt2 = TokenizerParts(vocabulary, dataclasses.replace(GPT2, added_tokens=(special,)))
    ranks, beside = to_tiktoken(gpt2)
    assert sorted(Vocabulary.from_tiktoken(ranks).merge_ids()) == sorted(vocabulary.merge_ids())
    assert dict(beside.special_tokens) == {"<|endoftext|>": 50256}
    again, _ = to_vocab_merges(gpt2)
    assert json.loads(again["vocab.json"]) == json.loads(vocab)
    assert again["merges.txt"].split(b"\n")[1:] == merges.removeprefix(b"#version: 0.2\n").split(b"\n")
