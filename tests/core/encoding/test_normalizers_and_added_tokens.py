"""Normalizers and added tokens give the ids of Hugging Face ``tokenizers``, and spans that are true to the text.

Spans are compared with Hugging Face where it keeps them: between added tokens. Through a normalizer it does not (a
composed character gets the span of its first source character only, an inserted space that of its neighbour), so
there they are held against what they must be.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import unicodedata2
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.core.formats.small import model
from tests.support.data import PRESENT, expand, needs_data, shared, vectors
from tokenizer_core import Tokenizer
from tokenizer_core.errors import ArtifactError, InvalidArtifact, ReservedLiteral

pytestmark = pytest.mark.slow

Json = dict[str, Any]

MERGES = ["Ġ t", "h e", "Ġt he", "Ã ©", "Ġ Ġ", "< m", "<m >", "i n", "Ì ģ", "e Ìģ", "s s"]
ALPHABET = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokenizers")


def tiny(normalizer: Json | None = None, added: list[Json] | None = None, prefix_space: bool = False) -> Json:
    """Return a ``tokenizer.json``: 256 bytes, a few merges, no regular expression."""
    entries = ALPHABET + [merge.replace(" ", "") for merge in MERGES]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    tokens = [flags | {"id": len(entries) + i} | token for i, token in enumerate(added or [])]
    byte_level = {"type": "ByteLevel", "add_prefix_space": prefix_space, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": tokens,
        "normalizer": normalizer,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": model({entry: i for i, entry in enumerate(entries)}, merges=[merge.split(" ") for merge in MERGES]),
    }


def sequence(*stages: Json) -> Json:
    return {"type": "Sequence", "normalizers": list(stages)}


def load(document: Json, folder: Path) -> Tokenizer:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(document), "utf-8")
    return Tokenizer.from_hf(path)


def peer(document: Json) -> tokenizers.Tokenizer:
    with no_panic():
        return tokenizers.Tokenizer.from_str(json.dumps(document))


@contextlib.contextmanager
def no_panic() -> Iterator[None]:
    """Pass over what Hugging Face 0.23 panics on: strips that fight over white space, empty matches, empty results."""
    try:
        yield
    except BaseException as error:
        assume(type(error).__name__ != "PanicException")
        raise


def encode_with(peer: tokenizers.Tokenizer, text: str) -> tokenizers.Encoding:
    with no_panic():
        return peer.encode(text, add_special_tokens=False)


def spans_of(tokenizer: Tokenizer, text: str) -> list[tuple[int, int]]:
    spans = tokenizer.offsets(text, unit="char", special_tokens="parse").spans
    return [(int(start), int(end)) for start, end in spans]


TRICKY = (
    "aeoE sSß<>mMthin\n\t\r\x00\u00a0\u3000"
    + "éÉﬁ한가\u1100\u1161\u11a8\u0301\u0323\u0334\u0345İıΣς①½㍿ｶﾞが\u3099\u200d👩🏽中_1Ⅷ"
)
characters = st.one_of(st.sampled_from(TRICKY), st.sampled_from(TRICKY), st.characters(exclude_categories=["Cs"]))
texts = st.text(characters, max_size=30)

STAGES: list[Json] = [
    *({"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")),
    *(
        {"type": "Strip", "strip_left": left, "strip_right": right}
        for left, right in [(True, True), (True, False), (False, True)]
    ),
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    {"type": "Replace", "pattern": {"String": "ss"}, "content": ""},
    *(
        {"type": "Replace", "pattern": {"Regex": regex}, "content": content}
        for regex, content in [
            (r"\s+$", ""),
            (r"^\s*", "> "),
            (r" {2,}", " "),
            (r"[aeo]|\d+", "_"),
            (r"(?m)e.", "x"),
        ]
    ),
]
stages = st.lists(st.sampled_from(STAGES), min_size=1, max_size=4).map(lambda stages: sequence(*stages))


@settings(deadline=None, max_examples=150)
@given(stages, st.lists(texts, min_size=1, max_size=5), st.booleans())
def test_normalizers_give_the_ids_of_hugging_face(
    folder: Path, normalizer: Json, lines: list[str], prefix_space: bool
) -> None:
    document = tiny(normalizer, prefix_space=prefix_space)
    ours, theirs = load(document, folder), peer(document)
    for text in lines:
        assert ours.encode(text, special_tokens="parse").tolist() == encode_with(theirs, text).ids, (normalizer, text)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), texts)
def test_spans_through_a_form_are_monotone_and_leave_nothing_out(folder: Path, form: str, text: str) -> None:
    spans = spans_of(load(tiny({"type": form}), folder), text)
    assert all(start < end for start, end in spans)
    assert all(before[0] <= after[0] <= before[1] <= after[1] for before, after in itertools.pairwise(spans)), spans
    assert not spans or (spans[0][0], spans[-1][1]) == (0, len(text))


CONTENTS = [
    "<m>",
    "<m",
    "m>",
    "  ",
    " ",
    "the",
    "e",
    "Σ",
    "σ",
    "\n",
    "\x00",
    "<M>",
    "ﬁ",
    " <m> ",
    "中",
    "ss",
    "\u0301",
    "n<",
]
flags = st.fixed_dictionaries(
    {name: st.booleans() for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
)
added_tokens = st.lists(
    st.tuples(st.sampled_from(CONTENTS), flags), min_size=1, max_size=6, unique_by=lambda token: token[0]
).map(lambda tokens: [{"content": content} | chosen for content, chosen in tokens])
marked = st.lists(st.one_of(st.sampled_from(CONTENTS), st.sampled_from(TRICKY)), max_size=12).map("".join)


def with_ids_of_the_vocabulary(document: Json) -> Json:
    """Give added tokens that are entries of the vocabulary the entry's id, as Hugging Face does.

    None that merges make is special: there text merges into a control token, and here it never does.
    """
    vocabulary = document["model"]["vocab"]
    merged = {merge.replace(" ", "") for merge in MERGES}
    for token in document["added_tokens"]:
        token["id"] = vocabulary.get(token["content"], token["id"])
        token["special"] = token.get("special", False) and token["content"] not in merged
    free = itertools.count(len(vocabulary))
    for token in document["added_tokens"]:
        if token["id"] >= len(vocabulary):
            token["id"] = next(free)
    document["added_tokens"].sort(key=lambda token: token["id"])
    return document


@settings(deadline=None, max_examples=150)
@given(added_tokens, st.lists(marked, min_size=1, max_size=5), st.booleans())
def test_added_tokens_give_the_ids_and_spans_of_hugging_face(
    folder: Path, added: list[Json], lines: list[str], prefix_space: bool
) -> None:
    document = with_ids_of_the_vocabulary(tiny(None, added, prefix_space))
    ours, theirs = load(document, folder), peer(document)
    for text in lines:
        theirs.encode_special_tokens = False
        parsed = encode_with(theirs, text)
        assert ours.encode(text, special_tokens="parse").tolist() == parsed.ids, (added, text)
        # White space that two strips claim stands in both spans there, and in one here.
        tiles = all(left[1] <= right[0] or left == right for left, right in itertools.pairwise(parsed.offsets))
        if not prefix_space and tiles:
            assert spans_of(ours, text) == parsed.offsets, (added, text)
        theirs.encode_special_tokens = True
        assert ours.encode(text, special_tokens="text").tolist() == encode_with(theirs, text).ids, (added, text)


@settings(deadline=None, max_examples=150)
@given(stages, added_tokens, st.lists(marked, min_size=1, max_size=5))
def test_added_tokens_behind_normalizers_give_the_ids_of_hugging_face(
    folder: Path, normalizer: Json, added: list[Json], lines: list[str]
) -> None:
    document = with_ids_of_the_vocabulary(tiny(normalizer, added))
    try:
        ours = load(document, folder)
    except ArtifactError as error:
        # Of two literals that a normalizer makes one, Hugging Face takes either, by the order of a hash table; one that
        # is made empty cuts the text between all characters there.
        assume(error.code not in ("duplicate_token", "unsupported"))
        raise
    theirs = peer(document)
    for text in lines:
        theirs.encode_special_tokens = False
        assert ours.encode(text, special_tokens="parse").tolist() == encode_with(theirs, text).ids, (added, text)
        theirs.encode_special_tokens = True
        assert ours.encode(text, special_tokens="text").tolist() == encode_with(theirs, text).ids, (added, text)


@settings(deadline=None, max_examples=100)
@given(added_tokens, marked)
def test_policies_agree(folder: Path, added: list[Json], text: str) -> None:
    ours = load(with_ids_of_the_vocabulary(tiny(None, added)), folder)
    parsed = ours.encode(text, special_tokens="parse").tolist()
    plain = load(tiny(), folder)
    assert ours.encode(text, special_tokens="ordinary").tolist() == plain.encode(text).tolist()
    try:
        assert ours.encode(text, special_tokens="reject").tolist() == parsed
    except ReservedLiteral as error:
        start, end = error.place["span"]
        assert ours.special_tokens[text[start:end]] in parsed


def test_a_composed_character_covers_all_its_source_characters(folder: Path) -> None:
    # Hugging Face 0.23.3 gives (0, 1) for every byte of the syllable.
    jamo = "\u1112\u1161\u11ab"
    assert spans_of(load(tiny({"type": "NFC"}), folder), f"a{jamo}b") == [(0, 1), (1, 4), (1, 4), (1, 4), (4, 5)]
    assert spans_of(load(tiny({"type": "NFC"}), folder), "e\u0301x") == [(0, 2), (2, 3)]
    assert spans_of(load(tiny({"type": "NFKC"}), folder), "ﬁx") == [(0, 1), (0, 1), (1, 2)]


def test_inserted_text_covers_nothing(folder: Path) -> None:
    # Hugging Face 0.23.3 gives the inserted text the span of the first character.
    assert spans_of(load(tiny(prefix_space=True), folder), "中") == [(0, 0), (0, 1), (0, 1), (0, 1)]
    assert spans_of(load(tiny({"type": "Prepend", "prepend": "x"}), folder), "ab") == [(0, 0), (0, 1), (1, 2)]
    # A token that holds inserted and real bytes covers the real ones.
    assert spans_of(load(tiny(prefix_space=True), folder), "the") == [(0, 3)]


def test_a_special_literal_made_by_a_normalizer_is_found_at_its_source(folder: Path) -> None:
    token = {"content": "<|im_end|>", "special": True, "normalized": True}
    ours = load(tiny(sequence({"type": "NFKC"}, {"type": "Lowercase"}), [token]), folder)
    with pytest.raises(ReservedLiteral) as refusal:
        ours.encode("ﬁ＜｜IM_end｜＞")
    assert refusal.value.place["span"] == [1, 11] or refusal.value.place["span"] == (1, 11)
    reserved = ours.special_tokens["<|im_end|>"]
    assert ours.encode("＜｜IM_end｜＞", special_tokens="parse").tolist() == [reserved]
    assert reserved not in ours.encode("＜｜IM_end｜＞", special_tokens="text")
    assert reserved not in ours.encode("＜｜IM_end｜＞", special_tokens="ordinary")


def test_normalizers_know_no_character_that_hugging_face_does_not_know(folder: Path) -> None:
    # U+32FF is of Unicode 12: Hugging Face 0.23.3, whose tables are of Unicode 9, leaves it as it is.
    ours = load(tiny({"type": "NFKC"}), folder)
    assert ours.decode(ours.encode("\u32ff")) == "\u32ff"


@pytest.mark.parametrize("form", ["NFC", "NFKD"])
def test_a_form_is_that_of_hugging_face_for_every_character_alone_and_between_others(folder: Path, form: Any) -> None:
    ours, theirs = load(tiny({"type": form}), folder), peer(tiny({"type": form})).normalizer
    for character in map(chr, (*range(0xD800), *range(0xE000, 0x110000))):
        parts = unicodedata2.normalize("NFKD", character)
        if unicodedata2.combining(character) or parts != character:
            texts = parts, character, f"a\u0301{character}b", f"a{character}\u0323\u0301b"
            found = [ours.decode(ours.encode(text, special_tokens="parse")) for text in texts]
            assert found == [theirs.normalize_str(text) for text in texts]


def bad(tokens: list[Json], normalizer: Json | None = None) -> Json:
    document = tiny(normalizer)
    base = len(document["model"]["vocab"])
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    document["added_tokens"] = [flags | {"id": base + i} | token for i, token in enumerate(tokens)]
    return document


@pytest.mark.parametrize(
    ("tokens", "normalizer", "code", "field"),
    [
        ([{"content": "<a>"}, {"content": ""}], None, "invalid_file", "added_tokens[1].content"),
        (
            [{"content": "<a>"}, {"content": "<a>", "normalized": True}],
            None,
            "duplicate_token",
            "added_tokens[1].content",
        ),
        ([{"content": "<a>"}, {"content": "<b>", "id": 267}], None, "duplicate_id", "added_tokens[1].id"),
        (
            [{"content": "<a>", "normalized": True}, {"content": "<A>", "normalized": True}],
            {"type": "Lowercase"},
            "duplicate_token",
            "added_tokens[1].content",
        ),
        (
            [{"content": "\u0301", "normalized": True}],
            {"type": "StripAccents"},
            "unsupported",
            "added_tokens[0].content",
        ),
    ],
)
def test_bad_added_tokens_are_refused_by_place(
    folder: Path, tokens: list[Json], normalizer: Json | None, code: str, field: str
) -> None:
    with pytest.raises(ArtifactError) as refusal:
        load(bad(tokens, normalizer), folder)
    assert (refusal.value.code, refusal.value.place["field"]) == (code, field)


AREAS = ("added_tokens", "special_injection", "offsets", "dos")


def described_by_gpt2(case: Json) -> bool:
    """Tell vectors that describe a variant of GPT-2's tokenizer and say something about these two stages."""
    vocab = case["vocab"]
    base = vocab.get("base", "") if isinstance(vocab, dict) else vocab
    about = case["area"] != "dos" or (isinstance(vocab, dict) and "normalizer" in vocab)
    is_text = not isinstance(case["input"], dict) or "template" not in case["input"]
    return case["area"] in AREAS and base in ("gpt2", "gpt2+chatml") and about and is_text


def variant(vocab: Json | str) -> Json:
    """Build the ``tokenizer.json`` that a vector describes."""
    document: Json = json.loads(shared("vocabs/gpt2_tokenizer.json").read_bytes())
    if isinstance(vocab, str):
        return document
    document["added_tokens"] += vocab.get("added_tokens", [])
    normalizer = vocab.get("normalizer")
    document["normalizer"] = {"type": normalizer} if isinstance(normalizer, str) else normalizer
    document["pre_tokenizer"]["add_prefix_space"] = vocab.get("add_prefix_space", False)
    if vocab["base"] == "gpt2+chatml":
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "special": True}
        document["added_tokens"] += [
            flags | {"id": 50257 + i, "content": content, "normalized": vocab.get("added_normalized", False)}
            for i, content in enumerate(["<|im_start|>", "<|im_end|>", "<tool_call>"])
        ]
    return document


@needs_data
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["id"]) for case in (vectors() if PRESENT else ()) if described_by_gpt2(case)]
)
def test_vectors(folder: Path, case: Json) -> None:
    expected, text = dict(case["expected"]), expand(case["input"])
    if "load" in expected:
        with pytest.raises(InvalidArtifact) as refusal:
            load(variant(case["vocab"]), folder)
        code = expected["load"].removeprefix("reject").split(";")[0].strip()
        assert code in ("", refusal.value.code)
        return
    ours = load(variant(case["vocab"]), folder)
    start = time.process_time()
    found = ours.offsets(text, unit="char", special_tokens="parse")
    assert time.process_time() - start < expected.pop("max_seconds", 60)
    if "ids" in expected:
        assert found.ids.tolist() == expected["ids"]
    for unit, key in (("byte", "byte"), ("char", "codepoint"), ("utf16", "utf16"), ("char", "untrimmed")):
        if key in expected:
            assert ours.offsets(text, unit=unit, special_tokens="parse").spans.tolist() == expected[key]
    if "codepoint_of_inserted_space" in expected:
        assert found.spans[0].tolist() == expected["codepoint_of_inserted_space"]
        assert found.spans[1:].tolist() == ours.offsets(text).spans[1:].tolist()
        assert (found.spans[1, 0], found.spans[-1, 1]) == (0, len(text))
    for forbidden in (*expected.get("must_not_contain", ()), *expected.get("untrusted_must_not_contain", ())):
        assert forbidden not in ours.encode(text, special_tokens="text")
    if case["id"] == "inj-encode-default":
        assert ours.encode(text, special_tokens="text").tolist() == [27, 91, 437, 1659, 5239, 91, 29]
        assert found.ids.tolist() == expected["allow=[<|endoftext|>]"]
        with pytest.raises(ReservedLiteral) as reserved:
            ours.encode(text)
        assert list(reserved.value.place["span"]) == [0, len(text)]
