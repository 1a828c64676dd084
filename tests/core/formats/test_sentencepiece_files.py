"""SentencePiece models by hand: rules that no trainer sets, ties of sums, and files that are refused."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.data import needs_data
from tests.support.sentencepiece_models import (
    BPE,
    BYTE,
    BYTES,
    CHAR,
    CONTROL,
    META,
    NORMAL,
    UNIGRAM,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    WORD,
    charsmap,
    field,
    library,
    model,
    varint,
    write,
)
from tokenizer_core import InvalidArtifact, TokdError, Tokenizer, Unsupported
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.reference.unigram import best_way, fuse_unknown

LETTERS = [("▁", -2.5, NORMAL), ("a", -3.0, NORMAL), ("b", -3.5, NORMAL)]


def load(tmp_path, data: bytes) -> Tokenizer:
    return Tokenizer.load(write(tmp_path / "made.model", data))


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, special_tokens="text").tolist()


@st.composite
def entries(draw):
    # Scores in eighths tie often.
    score = st.one_of(st.integers(-80, 8).map(lambda eighths: eighths / 8), st.floats(-20, 1, width=32))
    texts = draw(st.sets(st.text("ab▁é漢", min_size=1, max_size=4), max_size=20))
    kinds = st.sampled_from([NORMAL] * 6 + [UNUSED, USER_DEFINED])
    return [*META, ("c", -9.0, NORMAL), *((text, draw(score), draw(kinds)) for text in sorted(texts))]


@settings(max_examples=400)
@given(
    entries(),
    st.lists(st.text("ab ▁é漢xc", max_size=30), min_size=1, max_size=4),
    st.fixed_dictionaries(
        {key: st.booleans() for key in ("byte_fallback", "suffix", "dummy_prefix", "fold", "escape")}
    ),
    st.sampled_from([UNIGRAM, CHAR, WORD]),
)
@example([*META, ("a", -1.0, NORMAL), ("aa", -2.0, NORMAL)], ["a" * 30], {}, UNIGRAM)
def test_any_model_has_the_library_s_ids(tmp_path_factory, pieces, texts, rules, kind):
    if rules.get("byte_fallback"):
        pieces = [*pieces, *BYTES]
    data = model(pieces, kind=kind, **rules)
    truth, tokenizer = library(data), load(tmp_path_factory.mktemp("model"), data)
    for text in texts:
        ids = truth.encode(text)
        assert encode(tokenizer, text) == ids, text
        assert tokenizer.decode(ids) == truth.decode(ids)


@settings(max_examples=300)
@given(
    st.sets(st.text("ab▁é", min_size=2, max_size=4), max_size=14),
    st.sets(st.text("ab▁漢", min_size=1, max_size=3), max_size=3),
    st.data(),
    st.lists(st.text("ab ▁éx漢", max_size=60), min_size=1, max_size=4),
    st.booleans(),
)
def test_any_bpe_has_the_library_s_ids(tmp_path_factory, merged, symbols, data, texts, byte_fallback):
    scores = st.integers(-6, 0).map(float)
    normal = [text for text in [*"ab▁é", *sorted(merged)] if text not in symbols]
    pieces = [*META, *((text, data.draw(scores), NORMAL) for text in normal)]
    pieces += [(text, 0.0, USER_DEFINED) for text in sorted(symbols)]
    pieces += BYTES if byte_fallback else []
    written = model(pieces, kind=BPE, byte_fallback=byte_fallback, fold=data.draw(st.booleans()))
    truth = library(written)
    try:
        tokenizer = load(tmp_path_factory.mktemp("model"), written)
    except Unsupported:
        return
    for text in [*texts, texts[0] * 20]:
        ids = truth.encode(text)
        assert encode(tokenizer, text) == ids, text
        assert tokenizer.decode(ids) == truth.decode(ids)


@settings(max_examples=100)
@given(
    st.dictionaries(st.text("ab▁é漢", min_size=1, max_size=3), st.floats(-20, 0, width=32), min_size=1),
    st.text("ab▁é漢x", max_size=30),
)
def test_the_twin_has_the_same_tokens(tmp_path_factory, scores, text):
    pieces = [("<unk>", 0.0, UNKNOWN), *((entry, score, NORMAL) for entry, score in scores.items())]
    data = model(pieces, dummy_prefix=False, fold=False)
    tokenizer = load(tmp_path_factory.mktemp("model"), data)
    ids = {entry: id for id, (entry, _, _) in enumerate(pieces)}
    expected = [ids[entry] if known else 0 for entry, known in fuse_unknown(best_way(text, scores, floats=True))]
    assert encode(tokenizer, text) == expected == library(data).encode(text)


def test_sums_beyond_their_limit_are_taken_back_as_in_the_library(tmp_path):
    pieces = [
        *META,
        ("a", -400.3, NORMAL),
        ("aa", -800.7, NORMAL),
        ("aaa", -1200.9, NORMAL),
        ("b", -99.9, NORMAL),
        ("▁b", -7.1, NORMAL),
    ]
    data = model(pieces)
    tokenizer, truth = load(tmp_path, data), library(data)
    for text in ("a" * 5000, "b a" * 3000, "ab " * 4000, "bx" * 4000, "x" * 4000):
        assert encode(tokenizer, text) == truth.encode(text)


@needs_data
def test_a_charsmap_with_symbols_and_any_flags_normalizes_as_the_library(tmp_path):
    pieces = [
        *META,
        *LETTERS,
        ("①", 0.0, USER_DEFINED),
        ("ﬁx", 0.0, USER_DEFINED),
        ("▁the", 0.0, USER_DEFINED),
        ("x y", 0.0, USER_DEFINED),
    ]
    for flags in range(16):
        rules = {key: bool(flags >> bit & 1) for bit, key in enumerate(("suffix", "dummy_prefix", "fold", "escape"))}
        data = model(pieces, charsmap=charsmap(), kind=CHAR, **rules)
        tokenizer, truth = load(tmp_path, data), library(data)
        for text in (
            "①②ﬁxﬁ",
            "  a\u3000\u3000b  ",
            "x y  x y ",
            " ▁the the▁",
            "▁▁",
            "a¨ b\u00a0",
            "e\u0301e\u0301\u0301",
            "\u200b",
            "ｱﾞ ",
            "",
        ):
            assert encode(tokenizer, text) == truth.encode(text), (rules, text)


@pytest.mark.parametrize(
    ("data", "code", "field_of"),
    [
        (model([*META, *LETTERS, ("a", -1.0, NORMAL)]), "duplicate_token", "pieces[6]"),
        (model([*META, ("a", float("nan"), NORMAL)]), "invalid_file", "pieces[3].score"),
        (model([*META, ("a", float("inf"), NORMAL)]), "invalid_file", "pieces[3].score"),
        (model([*META, ("", 0.0, NORMAL)]), "invalid_file", "pieces[3]"),
        (model([*META, ("a\0", 0.0, NORMAL)]), "invalid_file", "pieces[3]"),
        (model([*META, ("a" * 8000, 0.0, NORMAL)]), "invalid_file", "pieces[3]"),
        (model([*META, ("a", 0.0, 9)]), "invalid_file", "pieces[3].type"),
        (model([*META, ("unk", 0.0, UNKNOWN)]), "invalid_file", "pieces[3]"),
        (model([("a", 0.0, NORMAL)]), "invalid_file", "pieces"),
        (model([]), "invalid_file", "pieces"),
        (model([*META, ("<0x41>", 0.0, BYTE)]), "invalid_file", "pieces[3]"),
        (model([*META, *BYTES[:-1]], byte_fallback=True), "missing_byte", "pieces"),
        (model([*META, *LETTERS], kind=9), "invalid_file", "trainer_spec.model_type"),
        (model([*META, *LETTERS], charsmap=b"abc"), "invalid_file", "normalizer[0].charsmap"),
        (model([*META, *LETTERS], charsmap=struct.pack("<I", 2**31) + b"x"), "invalid_file", "normalizer[0].charsmap"),
        (model([*META, *LETTERS]) + varint(1 << 3 | 2) + varint(2**63), "invalid_file", None),
        (model([*META, *LETTERS]) + field(1, 7), "invalid_file", "pieces[6]"),
        (model([*META, *LETTERS])[:-1], "invalid_file", None),
    ],
)
def test_a_bad_file_is_refused_with_code_and_place(tmp_path, data, code, field_of):
    with pytest.raises(TokdError) as caught:
        Tokenizer.load(write(tmp_path / "bad.model", data), format="sentencepiece")
    assert caught.value.code == code
    assert field_of is None or caught.value.place["field"] == field_of


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_model_is_read_or_refused_and_nothing_else(data):
    good = model([*META, *LETTERS], byte_fallback=False)
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    with suppress(InvalidArtifact):
        Vocabulary.from_sentencepiece(bytes(bad[: data.draw(st.integers(0, len(bad)))]))


def test_control_pieces_are_special_tokens_and_no_text_becomes_one(tmp_path):
    data = model(
        [*META, *LETTERS, ("<", -4.0, NORMAL), ("s", -4.0, NORMAL), (">", -4.0, NORMAL), ("<cls>", 0.0, CONTROL)]
    )
    tokenizer = load(tmp_path, data)
    assert tokenizer.special_tokens == {"<unk>": 0, "<s>": 1, "</s>": 2, "<cls>": 9}
    assert encode(tokenizer, "<s>") == library(data).encode("<s>") == [3, 6, 7, 8]
    assert tokenizer.encode("<s>", special_tokens="parse").tolist() == [1]
    assert tokenizer.decode([1, 3, 4, 9]) == "a"
