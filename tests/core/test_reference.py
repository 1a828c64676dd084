"""The reference against what it can be checked with by hand, by Python itself, and by each other."""

from __future__ import annotations

import random

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.support import tiny, vocabularies
from tests.support.texts import texts
from tokenizer_core import patterns
from tokenizer_core._kernel import UNICODE_VERSION
from tokenizer_core.reference import rank_file, unicode_classes, utf8
from tokenizer_core.reference.added_tokens import Literal, ReservedLiteralError, split
from tokenizer_core.reference.byte_alphabet import byte_to_character, from_entry, to_entry
from tokenizer_core.reference.byte_bpe import merge_heap, merge_scan
from tokenizer_core.reference.normalize import clean_cuts
from tokenizer_core.reference.offsets import byte_spans, in_unit
from tokenizer_core.reference.patterns import PATTERNS
from tokenizer_core.reference.pretokenize import pretokenize, stretches
from tokenizer_core.reference.utf8 import stream

RANKS = {pair: rank for rank, pair in enumerate(tiny.merges())}


def test_the_byte_alphabet_is_256_printable_characters() -> None:
    characters = byte_to_character()
    assert len(set(characters.values())) == 256
    assert "".join(characters.values()).isprintable()
    assert to_entry(b" the\n") == "ĠtheĊ"
    assert from_entry("ĠtheĊ") == b" the\n"


def test_merges_by_hand() -> None:
    # rank 0: a a   rank 1: aa b   rank 2: b c   rank 3: aab aab
    ranks = {(b"a", b"a"): 0, (b"aa", b"b"): 1, (b"b", b"c"): 2, (b"aab", b"aab"): 3}
    assert merge_scan(b"aaa", ranks) == [b"aa", b"a"]
    assert merge_scan(b"aabc", ranks) == [b"aab", b"c"]
    assert merge_scan(b"abcaab", ranks) == [b"a", b"bc", b"aab"]
    assert merge_scan(b"aabaab", ranks) == [b"aabaab"]
    assert merge_scan(b"", ranks) == []


@given(st.text("ab", max_size=60), st.data())
def test_heap_equals_scan(text: str, data: st.DataObject) -> None:
    parts = [b"a", b"b"]
    ranks: dict[tuple[bytes, bytes], int] = {}
    for _ in range(data.draw(st.integers(0, 25))):
        left, right = data.draw(st.sampled_from(parts)), data.draw(st.sampled_from(parts))
        ranks.setdefault((left, right), len(ranks))
        parts.append(left + right)
    assert merge_heap(text.encode(), ranks) == merge_scan(text.encode(), ranks)


@given(texts)
def test_heap_equals_scan_on_trained_merges(text: str) -> None:
    assert merge_heap(text.encode(), RANKS) == merge_scan(text.encode(), RANKS)


@given(texts)
def test_ranks_of_trained_merges_give_the_same_tokens(text: str) -> None:
    ranks = tiny.ranks()
    by_merges = [ranks[part] for part in merge_scan(text.encode(), RANKS)]
    assert rank_file.encode_piece(text.encode(), ranks) == by_merges


@given(st.lists(st.sampled_from([0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, *range(0xC0, 0x100)]), max_size=12))
def test_maximal_subparts_are_pythons(found: list[int]) -> None:
    assert utf8.decode(bytes(found)) == bytes(found).decode("utf-8", "replace")


def test_a_stream_holds_back_only_what_may_still_become_a_character() -> None:
    thumb = "👍".encode()
    assert stream([b"a", thumb[:2], thumb[2:], b"b"]) == (["a", "", "👍", "b"], "")
    assert stream([thumb[:3], b"x"]) == (["", "\ufffdx"], "")
    assert stream(["\ufffd".encode(), thumb[:1]]) == (["\ufffd", ""], "\ufffd")


def test_offsets_by_hand() -> None:
    text = "é👍x"
    tokens = [b"\xc3", b"\xa9", b"\xf0\x9f", b"\x91\x8dx"]
    spans = byte_spans(tokens)
    assert spans == [(0, 1), (1, 2), (2, 4), (4, 7)]
    assert in_unit(text, spans, "char") == [(0, 1), (0, 1), (1, 2), (1, 3)]
    assert in_unit(text, spans, "utf16") == [(0, 1), (0, 1), (1, 3), (1, 4)]


def test_literals_are_found_leftmost_longest() -> None:
    literals = [Literal("<a>", 1), Literal("<a><b>", 2), Literal("b", 3)]
    assert split("x<a><b>b", literals) == [(0, 1, None), (1, 7, 2), (7, 8, 3)]
    assert split("<a><c>", literals) == [(0, 3, 1), (3, 6, None)]


def test_stripping_literals_take_white_space_once() -> None:
    literals = [Literal("<l>", 1, lstrip=True), Literal("<r>", 2, rstrip=True)]
    assert split("<r> \t <l>", literals) == [(0, 6, 2), (6, 9, 1)]
    assert split("a \u3000<l> b", literals) == [(0, 1, None), (1, 6, 1), (6, 8, None)]


@pytest.mark.parametrize(("text", "found"), [("tok", 1), ("a tok.", 1), ("toks", 0), ("_tok", 0), ("的tok", 0)])
def test_a_single_word_has_no_word_characters_beside_it(text: str, found: int) -> None:
    segments = split(text, [Literal("tok", 7, single_word=True)])
    assert [id for _, _, id in segments].count(7) == found


def test_a_forbidden_literal_is_named_with_its_place() -> None:
    with pytest.raises(ReservedLiteralError) as caught:
        split("a <s>", [Literal("<s>", 1, special=True, lstrip=True)], forbid_special=True)
    assert caught.value.span == (2, 5)


def test_a_cut_inside_a_composition_is_not_clean() -> None:
    nfc = [{"type": "nfc"}]
    assert clean_cuts(nfc, "ae\u0301b") == [(0, 0), (1, 1), (3, 2), (4, 3)]
    assert clean_cuts(nfc, "\u1112\u1161\u11ab") == [(0, 0), (3, 1)]


@given(texts, st.sampled_from(["isolated", "contiguous", "merged_with_previous", "merged_with_next"]), st.booleans())
def test_no_behaviour_loses_text(text: str, behavior: str, invert: bool) -> None:
    stage = {"type": "split", "pattern": {"regex": r"\s|\p{Lu}"}, "behavior": behavior, "invert": invert}
    assert "".join(pretokenize([stage], text)) == text


def test_behaviours_by_hand() -> None:
    def cut(behavior: str) -> list[str]:
        return pretokenize([{"type": "split", "pattern": {"string": "-"}, "behavior": behavior}], "a--b-")

    assert cut("isolated") == ["a", "-", "-", "b", "-"]
    assert cut("contiguous") == ["a", "--", "b", "-"]
    assert cut("merged_with_previous") == ["a-", "-", "b-"]
    assert cut("merged_with_next") == ["a", "-", "-b", "-"]
    with pytest.raises(ValueError, match="outside every piece"):
        pretokenize([{"type": "split", "pattern": {"string": "-"}, "behavior": "removed", "invert": True}], "a--b-")


def test_classes_follow_the_kernels_unicode() -> None:
    assert unicode_classes.UNICODE_VERSION == UNICODE_VERSION


@pytest.mark.parametrize(("name", "property"), [("White_Space", r"\s"), ("Joined_Word", r"\w"), ("L", r"\p{L}")])
def test_classes_are_those_of_the_regex_module_on_characters_that_are_old_and_stable(name: str, property: str) -> None:
    ours = unicode_classes.members(name)
    theirs = regex.compile(property)
    table = unicode_classes.categories()
    different = [
        hex(code_point)
        for code_point in range(0x110000)
        if table[code_point] not in {"Cn", "Cs"} and (code_point in ours) != bool(theirs.match(chr(code_point)))
    ]
    assert different == []


def test_expanding_keeps_everything_but_classes() -> None:
    digit, not_digit = unicode_classes.ranges("Nd"), unicode_classes.ranges("Nd", complement=True)
    assert unicode_classes.expand(r"(?i:a)\d[^\d\]x]\P{Nd}\\p") == rf"(?i:a)[{digit}][^{digit}\]x][{not_digit}]\\p"
    assert unicode_classes.expand(r"\pN[\D]") == f"[{unicode_classes.ranges('N')}][{not_digit}]"
    with pytest.raises(ValueError, match="Han"):
        unicode_classes.expand(r"\p{Han}")


@pytest.mark.parametrize("name", PATTERNS)
@given(text=texts)
def test_named_patterns_cover_every_text(name: str, text: str) -> None:
    assert all(is_match for _, is_match in stretches({"name": name}, text))


@pytest.mark.parametrize("spelling", patterns.SPELLINGS)
@given(text=texts)
def test_every_spelling_of_a_pattern_cuts_as_the_name_does(spelling: str, text: str) -> None:
    assert stretches({"regex": spelling}, text) == stretches({"name": patterns.SPELLINGS[spelling]}, text)


@pytest.mark.parametrize("name", ["tiny", "cl100k_base"])
def test_a_rank_file_is_read(name: str) -> None:
    ranks = vocabularies.ranks(name)
    random.seed(0)
    for token, rank in random.sample(sorted(ranks.items()), 100):
        assert rank_file.encode_piece(token, ranks) == [rank]
