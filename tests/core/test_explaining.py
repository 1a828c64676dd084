"""The steps of an explanation lead from the piece to the tokenizer's own ids, whatever the family."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from tests.support import vocabularies
from tests.support.data import needs_data, shared
from tests.support.texts import texts
from tokenizer_core import MAX_EXPLAINED, Explainer, InvalidOption, Tokenizer

FAMILIES = (
    "hf-bpe-clip",
    "hf-bpe-gemma",
    "hf-bpe-llama2",
    "hf-bytelevel-deepseek",
    "hf-unigram-metaspace",
    "hf-wordpiece-cased",
    "hf-wordpiece-uncased",
    "mistral-spm-v1",
    "spm-bpe-llama2",
    "spm-unigram-nmt_nfkc",
    "spm-unigram-nodummy",
)
SHOWN = ("lower", "I work", "hug pug pun bun hugs", "def f(x):\n    return x", "")


def replayed(piece: dict[str, Any]) -> list[int]:
    """Take the steps that are told, and no others."""
    if piece["kind"] == "merges":
        if "whole" in piece:
            return [piece["whole"]["id"]]
        symbols = [symbol["id"] for symbol in piece["start"]]
        for merge in piece["merges"]:
            symbols[merge["at"] : merge["at"] + 2] = [merge["token"]["id"]]
        return symbols
    if piece["kind"] == "matches":
        return piece["ids"] if piece["unknown"] else [match["token"]["id"] for match in piece["matches"]]
    chosen = [piece["edges"][index] for index in piece["path"]]
    assert all(left["end"] == right["start"] for left, right in pairwise(chosen))
    assert sum(edge["score"] for edge in chosen) == pytest.approx(piece["best"][-1], rel=1e-6)
    return [edge["token"]["id"] for edge in chosen] if all(edge["token"] for edge in chosen) else piece["ids"]


def assert_explained(tokenizer: Tokenizer, text: str) -> None:
    """Require that the told steps give the ids of the engine."""
    told = Explainer(tokenizer).explain(text)
    assert [piece["text"] for piece in told] == tokenizer.pieces(text)
    ids = tokenizer.encode(text, special_tokens="ordinary").tolist()
    assert [id for piece in told for id in replayed(piece)] == ids


@needs_data
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("text", SHOWN)
def test_the_told_steps_give_the_ids_of_every_family(name: str, text: str) -> None:
    assert_explained(Tokenizer.load(shared(f"families/{name}")), text)


@given(text=texts.filter(lambda text: len(text) <= MAX_EXPLAINED))
def test_the_told_steps_give_the_ids_of_any_text(text: str) -> None:
    assert_explained(vocabularies.tokenizer("tiny"), text)


def test_merges_are_told_in_the_order_that_they_are_done_lowest_rank_first() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"lo", 257: b"low", 258: b"er", 259: b"lower"}
    merges = [(108, 111, 256), (256, 119, 257), (101, 114, 258), (257, 258, 259)]
    (piece,) = Explainer(vocabularies.build(tokens, merges)).explain("lower")
    assert [symbol["text"] for symbol in piece["start"]] == list("lower")
    assert [(merge["rank"], merge["at"], merge["token"]["text"]) for merge in piece["merges"]] == [
        (0, 0, "lo"),
        (1, 0, "low"),
        (2, 1, "er"),
        (3, 0, "lower"),
    ]


def test_half_a_character_is_told_by_its_bytes(tiny: Tokenizer) -> None:
    (piece,) = Explainer(tiny).explain("🙂")
    assert "".join(symbol["bytes"] for symbol in piece["start"]) == "🙂".encode().hex()


def test_a_long_text_is_refused_before_any_step(tiny: Tokenizer) -> None:
    with pytest.raises(InvalidOption, match="513 characters") as refused:
        Explainer(tiny).explain("a" * (MAX_EXPLAINED + 1))
    assert refused.value.place == {"field": "text"}
    assert_explained(tiny, "a" * MAX_EXPLAINED)


@needs_data
def test_a_family_without_steps_is_refused_by_name() -> None:
    with pytest.raises(InvalidOption, match="Symbols"):
        Explainer(Tokenizer.load(shared("families/spm-word")))
