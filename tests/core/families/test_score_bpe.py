"""BPE by scores with pieces of every kind: unused ones that merges make, and characters that are no pieces."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sentencepiece_models import (
    BPE,
    BYTES,
    META,
    NORMAL,
    UNUSED,
    USER_DEFINED,
    Piece,
    library,
    model,
    write,
)
from tokenizer_core import Tokenizer
from tokenizer_core.reference.score_bpe import score_bpe
from tokenizer_core.reference.tokenizer import ReferenceTokenizer

LETTERS: list[Piece] = [(letter, -50.0, NORMAL) for letter in "abc▁"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models") / "made.model"


def check(place: Path, pieces: list[Piece], texts: list[str], *, byte_fallback: bool = False) -> None:
    data = model([*META, *(BYTES if byte_fallback else []), *pieces], kind=BPE, byte_fallback=byte_fallback)
    truth, tokenizer = library(data), Tokenizer.load(write(place, data))
    twin = ReferenceTokenizer.of(tokenizer)
    for text in texts:
        ids = truth.encode(text)
        assert tokenizer.encode(text, special_tokens="text").tolist() == ids
        assert tokenizer.offsets(text, special_tokens="text").ids.tolist() == ids
        assert tokenizer.count(text, special_tokens="text") == len(ids)
        assert twin.encode(text, special_tokens="text") == ids
        assert tokenizer.encode(text, special_tokens="text", dropout=0.0, seed=0).tolist() == ids


@settings(max_examples=150)
@given(
    scores=st.dictionaries(st.text("ab▁é漢", min_size=1, max_size=5), st.integers(-6, 0), min_size=1, max_size=25),
    kinds=st.lists(st.sampled_from([NORMAL] * 3 + [UNUSED] * 2 + [USER_DEFINED]), min_size=25, max_size=25),
    are_known=st.booleans(),
    byte_fallback=st.booleans(),
    texts=st.lists(st.text("ab ▁éx漢", max_size=40), min_size=1, max_size=4),
)
def test_any_model_has_the_ids_of_the_library_and_of_its_twin(
    place: Path, scores: dict[str, int], kinds: list[int], are_known: bool, byte_fallback: bool, texts: list[str]
) -> None:
    if are_known:
        scores |= {letter: -9 for letter in "ab▁é漢" if letter not in scores}
    pieces = [(text, float(score), kind) for (text, score), kind in zip(scores.items(), kinds * 2, strict=False)]
    check(place, pieces, texts, byte_fallback=byte_fallback)


def test_an_unused_piece_becomes_the_pair_that_came_into_sight_last_in_the_whole_text(place: Path) -> None:
    # "abc" can be "ab" + "c" or "a" + "bc"; the later words decide what the first becomes.
    pieces = [*LETTERS, ("ab", -3.0, NORMAL), ("bc", -4.0, NORMAL), ("abc", -1.0, UNUSED), ("▁bc", -2.0, NORMAL)]
    check(place, pieces, ["abc", "abc abc", "abc bc", "abc abb", "bc abc", "abcabc ab bc"])
    pieces = [*LETTERS, ("ab", -4.0, NORMAL), ("bc", -3.0, NORMAL), ("abc", -1.0, UNUSED), ("aabc", -0.5, UNUSED)]
    check(place, pieces, ["abc", "aabc abc", "aaabcab abc aabc", "abc a bc"])


def test_the_first_texts_of_the_twin_can_be_followed_by_hand() -> None:
    scores = {"ab": -1.0, "abc": -2.0, "bc": -3.0}
    assert score_bpe("abc", scores, (), ()) == ["abc"]
    assert score_bpe("abc", scores, (), ("abc",)) == ["ab", "c"]
    assert score_bpe("abc", scores, (), ("abc", "ab")) == ["a", "b", "c"]
    assert score_bpe(["ab", "c"], scores, ("ab",), ()) == ["ab", "c"]


def test_pieces_are_made_of_characters_that_are_none(place: Path) -> None:
    pieces = [*LETTERS, ("xy", -1.0, NORMAL), ("xyz", -2.0, NORMAL), ("a漢", -3.0, UNUSED), ("éé", -3.0, NORMAL)]
    texts = ["xy xyz x yz zzz", "a漢 漢漢 a", "é éé ééé q", "xq yx q漢"]
    check(place, pieces, texts)
    check(place, pieces, texts, byte_fallback=True)


def test_spans_are_those_of_the_parts(place: Path) -> None:
    data = model([*META, *LETTERS, ("ab", -1.0, UNUSED), ("bé", -2.0, NORMAL)], kind=BPE)
    tokenizer = Tokenizer.load(write(place, data))
    found = tokenizer.offsets("ab bé éxa", special_tokens="text")
    assert [tokenizer.token_bytes(id).decode() for id in found.ids.tolist()] == [
        "▁",
        "a",
        "b",
        "▁",
        "bé",
        "▁",
        "<unk>",
        "a",
    ]
    assert found.spans.tolist() == [[0, 0], [0, 1], [1, 2], [2, 3], [3, 5], [5, 6], [6, 8], [8, 9]]


def test_what_is_drawn_holds_no_unused_piece(place: Path) -> None:
    data = model([*META, *LETTERS, ("ab", -1.0, UNUSED), ("abc", -2.0, NORMAL)], kind=BPE)
    tokenizer = Tokenizer.load(write(place, data))
    drawn = {tuple(tokenizer.encode("abc ab", dropout=0.5, seed=seed).tolist()) for seed in range(30)}
    assert {tokenizer.decode(ids) for ids in drawn} == {"abc ab"}
    assert len(drawn) == 2
    assert not any(len(META) + len(LETTERS) in ids for ids in drawn)


@pytest.mark.parametrize("unit", ["a", "ab", "abc ", "x漢", "\u0301"])
def test_a_million_of_anything(place: Path, unit: str) -> None:
    pieces = [*LETTERS, ("aa", -1.0, UNUSED), ("aaaa", -2.0, UNUSED), ("ab", -3.0, NORMAL), ("abc", -2.5, UNUSED)]
    data = model([*META, *pieces, ("x漢", -1.0, NORMAL)], kind=BPE)
    text = unit * (1_000_000 // len(unit))
    tokenizer = Tokenizer.load(write(place, data))
    assert tokenizer.encode(text, special_tokens="text").tolist() == library(data).encode(text)


def test_an_artifact_keeps_what_is_unused(place: Path, tmp_path: Path) -> None:
    data = model([*META, *LETTERS, ("ab", -1.0, UNUSED), ("abc", -2.0, NORMAL)], kind=BPE)
    tokenizer = Tokenizer.load(write(place, data))
    tokenizer.save(tmp_path / "artifact")
    again = Tokenizer.open(tmp_path / "artifact")
    assert again.hash == tokenizer.hash
    assert again.encode("ab abc b").tolist() == library(data).encode("ab abc b")
