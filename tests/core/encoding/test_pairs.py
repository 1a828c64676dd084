"""Pairs of texts give what ``tokenizers`` gives: ids, type ids, sequence ids, spans and what truncation leaves."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer as HuggingFace

from tests.core.formats.small import BYTE_LEVEL, added, document, template, write
from tests.support.data import DATA
from tests.support.texts import ALPHABET
from tokenizer_core import InvalidOption, ReservedLiteral, Tokenizer, UncoveredText, shape_rows
from tokenizer_core.pairs import lengths_kept

STRATEGIES = ("longest_first", "only_first", "only_second")
CLS, SEP = 264, 265
SPECIALS = [added(CLS, "<cls>"), added(SEP, "<sep>")]
ENDS = {"sep": ["<sep>", SEP], "cls": ["<cls>", CLS]}
UNTRIMMED = {**BYTE_LEVEL, "trim_offsets": False}
PROCESSORS = {
    "none": None,
    "byte level": UNTRIMMED,
    "roberta": {"type": "RobertaProcessing", **ENDS, "trim_offsets": False, "add_prefix_space": False},
    "bert": {"type": "BertProcessing", **ENDS},
    "template of bert": template(["c", "A", "s"], ["c", "A", "s", ("B", 1), ("s", 1)], c=[CLS], s=[SEP]),
    "type ids alone": template([("A", 3), "s", ("c", 2)], ["A", "s", ("B", 1), ("s", 1), ("c", 2)], c=[CLS], s=[SEP]),
    "bare types": template([("A", 1)], [("A", 2), ("B", 7)]),
    "second first": template(["A", "s"], [("B", 4), "s", "A"], s=[SEP, CLS]),
    "framed alone": template(["c", "A", "s"], ["c", "A", "s", ("c", 1), ("B", 1), ("s", 1)], c=[CLS], s=[SEP]),
    "sequence": {"type": "Sequence", "processors": [UNTRIMMED, {"type": "BertProcessing", **ENDS}]},
}


def random_texts(seed: int, count: int) -> list[str]:
    made = random.Random(seed)
    words = [" ", "hello", "the", "lo", "<sep>", "é", "日本", "🙂", "x", "\n", *ALPHABET]
    return ["".join(made.choices(words, k=made.randrange(9))) for _ in range(count)]


def both(directory: Path, processor: object) -> tuple[Tokenizer, HuggingFace]:
    """Return a tokenizer that was read, written and read again, and its peer."""
    source = write(directory / "source", document(post_processor=processor, added_tokens=SPECIALS))
    read = Tokenizer.from_hf(source)
    read.save(directory / "saved")
    saved = Tokenizer.open(directory / "saved")
    assert saved.hash == read.hash
    again = HuggingFace.from_file(str(directory / "saved" / "tokenizer.json"))
    peer = HuggingFace.from_file(str(source / "tokenizer.json"))
    for pair in (("hello the", "the"), ("", ""), ("lo",)):
        assert peer.encode(*pair).ids == again.encode(*pair).ids
        assert peer.encode(*pair).type_ids == again.encode(*pair).type_ids
    return saved, peer


def as_lists(pair):
    sequences = [None if value < 0 else value for value in pair.sequence_ids.tolist()]
    spans = [tuple(span) for span in pair.spans.tolist()]
    return pair.ids.tolist(), pair.type_ids.tolist(), sequences, spans, pair.special_tokens_mask().tolist()


def placed(found, *texts):
    """Return the peer's spans, with special tokens round a text at its end instead of at 0."""
    spans, end = [], 0
    for sequence, span in zip(found.sequence_ids, found.offsets, strict=True):
        end = end if sequence is None else len(texts[sequence])
        spans.append((end, end) if sequence is None else span)
    return spans


def peer_lists(found):
    return found.ids, found.type_ids, found.sequence_ids, found.offsets, found.special_tokens_mask


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("framed", [True, False])
def test_pairs_are_those_of_hugging_face(name, framed, tmp_path):
    tokenizer, peer = both(tmp_path, PROCESSORS[name])
    texts = random_texts(1, 120)
    seconds = random_texts(2, 120)
    for second in (seconds, None):
        pairs = tokenizer.encode_pair_batch(
            texts, second, special_tokens="parse", add_special_tokens=framed, unit="char"
        )
        for index, pair in enumerate(pairs):
            found = peer.encode(texts[index], second and second[index], add_special_tokens=framed)
            # Spans of characters in several tokens differ by definition; ids tell whether the row is the same.
            assert as_lists(pair)[:3] == peer_lists(found)[:3]
            assert as_lists(pair)[4] == found.special_tokens_mask
            own = [texts[index]] if second is None else [texts[index], second[index]]
            # A text without tokens does not tell where it stood.
            if all(map(str.isascii, own)) and {*range(len(own))} <= {*found.sequence_ids}:
                assert as_lists(pair)[3] == placed(found, *own)


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_truncation_leaves_what_hugging_face_leaves(name, side, tmp_path):
    tokenizer, peer = both(tmp_path, PROCESSORS[name])
    texts, seconds = random_texts(3, 40), random_texts(4, 40)
    frames = {True: tokenizer.count_pair("", ""), False: len(tokenizer.encode_pair("", None).ids)}
    refused = 0
    for strategy, length in product(STRATEGIES, (0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 17, 40)):
        peer.enable_truncation(length + 4, strategy=strategy, direction=side)
        for index, text in enumerate(texts):
            second = seconds[index] if index % 4 else None
            if second is None and strategy == "only_second":
                continue
            cut = {"max_length": length + 4, "truncation": strategy, "truncation_side": side}
            assert frames[second is not None] <= length + 4
            try:
                found = peer.encode(text, second)
            except Exception:
                refused += 1
                with pytest.raises(InvalidOption, match=f'truncation "{strategy}"'):
                    tokenizer.encode_pair(text, second, special_tokens="parse", **cut)
                continue
            pair = tokenizer.encode_pair(text, second, special_tokens="parse", unit="char", **cut)
            assert as_lists(pair)[:3] == peer_lists(found)[:3]
            whole = tokenizer.encode_pair(text, second, special_tokens="parse")
            assert len(whole.ids) - len(pair.ids) == sum(pair.removed)
            assert [span is not None for span in pair.removed_spans] == [count > 0 for count in pair.removed]
    assert refused


def token_by_token(first: int, second: int, room: int) -> list[int]:
    """Take one id after the other from the longer text, of equally long ones from the first."""
    while first + second > room:
        if first >= second:
            first -= 1
        else:
            second -= 1
    return [first, second]


def test_longest_first_is_token_by_token_but_for_who_keeps_the_odd_one():
    for first, second, room in product(range(12), range(12), range(26)):
        kept = lengths_kept([first, second], room, "longest_first")
        slow = token_by_token(first, second, room)
        assert sorted(kept) == sorted(slow)
        assert kept == slow or (first > second and abs(slow[0] - slow[1]) == 1)


def test_a_pair_without_room_for_its_frame_is_refused(tmp_path):
    tokenizer, _ = both(tmp_path, PROCESSORS["roberta"])
    with pytest.raises(InvalidOption, match="no room for the 4 special tokens") as refused:
        tokenizer.encode_pair("a", "b", max_length=3)
    assert refused.value.place["field"] == "max_length"
    assert tokenizer.encode_pair("hello", "the", max_length=4).ids.tolist() == [CLS, SEP, SEP, SEP]
    assert tokenizer.encode_pair("hello", None, max_length=2).ids.tolist() == [CLS, SEP]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"truncation": "longest"}, "truncation"),
        ({"truncation": "only_second", "text_pair": None}, "truncation"),
        ({"truncation_side": "top"}, "truncation_side"),
        ({"max_length": -1}, "max_length"),
        ({"max_length": True}, "max_length"),
        ({"add_special_tokens": 1}, "add_special_tokens"),
    ],
)
def test_wrong_options_are_refused_by_name(options, field, tmp_path):
    tokenizer, _ = both(tmp_path, None)
    with pytest.raises(InvalidOption) as refused:
        tokenizer.encode_pair(**{"text": "a", "text_pair": "b", **options})
    assert refused.value.place["field"] == field


def test_an_option_that_one_row_cannot_follow_names_the_row(tmp_path):
    tokenizer, _ = both(tmp_path, None)
    options = {"max_length": 6, "truncation": "only_second"}
    with pytest.raises(InvalidOption, match="one id must remain") as refused:
        tokenizer.encode_pair_batch(["lo", "lo lo lo lo"], ["the", "the"], **options)
    assert refused.value.place == {"field": "truncation", "row": 1}
    with pytest.raises(InvalidOption, match="one id must remain") as refused:
        tokenizer.encode_pair("lo lo lo lo", "the", **options)
    assert refused.value.place == {"field": "truncation"}
    with pytest.raises(InvalidOption, match="room for 0 ids") as refused:
        tokenizer.encode_pair_batch(["lo", "lo lo lo lo"], ["the"] * 2, **options, stride=0)
    assert refused.value.place == {"field": "stride", "row": 1}


def test_a_mistyped_choice_is_answered_with_the_one_that_was_meant(tmp_path):
    tokenizer, _ = both(tmp_path, None)
    with pytest.raises(InvalidOption, match=r"; did you mean 'only_second'\?$"):
        tokenizer.encode_pair("a", "b", truncation="only_secnd")


def test_errors_name_the_text_and_its_row(tmp_path):
    tokenizer, _ = both(tmp_path, None)
    for unit in (None, "byte"):
        with pytest.raises(ReservedLiteral) as refused:
            tokenizer.encode_pair("a", "b<sep>", unit=unit)
        assert refused.value.place["field"] == "text_pair"
        assert "row" not in refused.value.place
        with pytest.raises(ReservedLiteral) as refused:
            tokenizer.encode_pair_batch(["a", "<sep>"], ["a", "b"], unit=unit)
        assert "field" not in refused.value.place
        assert refused.value.place["row"] == 1
        with pytest.raises(ReservedLiteral) as refused:
            tokenizer.encode_pair_batch(["a", "b"], ["a", "<sep>"], unit=unit)
        assert (refused.value.place["field"], refused.value.place["row"]) == ("text_pair", 1)
    with pytest.raises(InvalidOption, match="2 texts and 1 second"):
        tokenizer.encode_pair_batch(["a", "b"], ["a"])
    with pytest.raises(ReservedLiteral) as refused:
        tokenizer.count_pair("a", "<sep>")
    assert refused.value.place["field"] == "text_pair"


def test_counts_are_the_lengths(tmp_path):
    for name, processor in PROCESSORS.items():
        tokenizer, _ = both(tmp_path / name, processor)
        for text, second in zip(random_texts(5, 20), random_texts(6, 20), strict=True):
            for framed in (True, False):
                options = {"special_tokens": "text", "add_special_tokens": framed}
                count = tokenizer.count_pair(text, second, **options)
                assert count == len(tokenizer.encode_pair(text, second, **options).ids)


def test_rows_of_pairs_are_padded_as_hugging_face_pads_them(tmp_path):
    tokenizer, peer = both(tmp_path, PROCESSORS["bert"])
    pairs = [("hello", "the"), ("", "lo lo lo"), ("hello hello", "")]
    encoded = tokenizer.encode_pair_batch(*map(list, zip(*pairs, strict=True)))
    for side in ("left", "right"):
        peer.enable_padding(direction=side, pad_id=SEP)
        rows = shape_rows([pair.ids for pair in encoded], padding="longest", padding_side=side, pad_id=SEP)
        for row, pair, found in zip(rows, encoded, peer.encode_batch(pairs), strict=True):
            assert row.ids.tolist() == found.ids
            assert row.attention_mask().tolist() == found.attention_mask
            assert row.carry(pair.type_ids).tolist() == found.type_ids
            assert row.carry(pair.special_tokens_mask(), 1).tolist() == found.special_tokens_mask


def test_what_frames_a_pair_is_part_of_the_hash(tmp_path):
    hashes = [both(tmp_path / name, PROCESSORS[name])[0].hash for name in PROCESSORS if name != "byte level"]
    assert len(set(hashes)) == len(hashes) - 2
    assert both(tmp_path / "a", PROCESSORS["bert"])[0].hash == both(tmp_path / "b", PROCESSORS["sequence"])[0].hash


def test_a_frame_that_leaves_the_second_text_out_takes_no_pair(tmp_path):
    tokenizer = Tokenizer.from_hf(
        write(tmp_path, document(post_processor=template(["A"], ["A", ("A", 1)]), added_tokens=SPECIALS))
    )
    with pytest.raises(InvalidOption, match="no place for a second text"):
        tokenizer.encode_pair("a", "b")
    assert tokenizer.encode_pair("a", None).type_ids.tolist() == [0]


def test_arrays_have_their_types(tmp_path):
    tokenizer, _ = both(tmp_path, PROCESSORS["bert"])
    pair = tokenizer.encode_pair("", "", unit="byte")
    dtypes = [pair.ids.dtype, pair.type_ids.dtype, pair.sequence_ids.dtype, pair.spans.dtype]
    assert dtypes == [np.uint32, np.uint32, np.int8, np.uint32]
    assert tokenizer.encode_pair("a", "b").spans is None


@pytest.mark.real_data
@pytest.mark.parametrize("family", sorted(path.name for path in (DATA / "families").glob("hf-*")))
def test_pairs_of_real_families_are_the_goldens(family):
    directory = DATA / "families" / family
    tokenizer = Tokenizer.load(directory)
    with (directory / "cases.jsonl").open(encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            if "pair" not in case:
                continue
            try:
                pair = tokenizer.encode_pair(*case["pair"], special_tokens="parse", unit="char")
            except UncoveredText:
                # A byte that the vocabulary lacks, which the peer drops in silence.
                assert "no-alphabet" in family
                continue
            assert as_lists(pair)[:3] == (case["ids_with_special"], case["type_ids"], case["sequence_ids"])
