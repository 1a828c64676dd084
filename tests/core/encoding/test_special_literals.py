"""A special token's literal in a text: never silently a control token."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.vocabularies import build
from tokenizer_core import AddedToken, Tokenizer
from tokenizer_core.errors import ReservedLiteral
from tokenizer_core.reference.tokenizer import ReferenceTokenizer
from tokenizer_core.stages import Normalizer

BYTES = {byte: bytes([byte]) for byte in range(256)}
PARTS = {256: b"<s", 257: b"<s>", 258: b"<s>x"}
MERGES = [(0x3C, 0x73, 256), (256, 0x3E, 257), (257, 0x78, 258)]


def reachable(*, ignore_merges: bool) -> Tokenizer:
    """Build a tokenizer whose merges lead to the literal of its special token, and on from it."""
    special = AddedToken(id=257, content="<s>", special=True)
    return build(BYTES | PARTS, MERGES, added_tokens=(special,), ignore_merges=ignore_merges)


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_merges_that_lead_to_a_special_token_are_not_taken(ignore_merges: bool) -> None:
    tokenizer = reachable(ignore_merges=ignore_merges)
    for policy in ("text", "ordinary"):
        assert tokenizer.encode("a<s>b", special_tokens=policy).tolist() == [97, 256, 0x3E, 98]
        assert 257 not in tokenizer.encode("<s>", special_tokens=policy)
    assert tokenizer.encode("a<s>b", special_tokens="parse").tolist() == [97, 257, 98]
    with pytest.raises(ReservedLiteral):
        tokenizer.encode("a<s>b")


@given(text=st.lists(st.sampled_from(["<", "s", ">", "x", "<s>", "<s>x"]), max_size=8).map("".join))
def test_near_literals_are_as_in_the_reference(text: str) -> None:
    tokenizer = reachable(ignore_merges=False)
    slow = ReferenceTokenizer.of(tokenizer)
    for policy in ("text", "parse", "ordinary"):
        assert tokenizer.encode(text, special_tokens=policy).tolist() == slow.encode(text, special_tokens=policy)


CASE = AddedToken(id=256, content="<|End|>", special=True, normalized=True)


def test_a_normalizer_does_not_smuggle_a_literal_in() -> None:
    tokenizer = build(added_tokens=(CASE,), normalizer=(Normalizer("lowercase"),))
    smuggled = "x<|END|>y"
    assert 256 in tokenizer.encode(smuggled, special_tokens="parse")
    for policy in ("text", "ordinary"):
        assert 256 not in tokenizer.encode(smuggled, special_tokens=policy)
    with pytest.raises(ReservedLiteral) as caught:
        tokenizer.encode(smuggled)
    assert tuple(caught.value.place["span"]) == (1, 8)
