"""Truncation and padding against Hugging Face tokenizers and against plain lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tokenizer_core.errors import InvalidOption
from tokenizer_core.padding import MAX_PADDED_IDS, padded_width, plan_cut, shape_rows

PAD, BOS, EOS = 0, 1, 2
SIDES = st.sampled_from(["left", "right"])
TEXT_ROWS = st.lists(st.lists(st.integers(3, 9), max_size=12), min_size=1, max_size=6)


def hugging_face(prefix: int, suffix: int) -> Tokenizer:
    """A tokenizer whose words are ids, with ``prefix`` times [BOS] before and ``suffix`` times [EOS] after."""
    vocabulary = {"[PAD]": PAD, "[BOS]": BOS, "[EOS]": EOS, "[UNK]": 10, **{str(n): n for n in range(3, 10)}}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if prefix + suffix:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=["[BOS]"] * prefix + ["$A"] + ["[EOS]"] * suffix, special_tokens=[("[BOS]", BOS), ("[EOS]", EOS)]
        )
    return tokenizer


def with_specials(row: list[int], prefix: int, suffix: int) -> np.ndarray:
    return np.array([BOS] * prefix + row + [EOS] * suffix, np.uint32)


@settings(max_examples=300, deadline=None)
@given(
    rows=TEXT_ROWS,
    prefix=st.integers(0, 2),
    suffix=st.integers(0, 2),
    room=st.none() | st.integers(0, 14),
    truncation_side=SIDES,
    padding=st.sampled_from(["none", "longest", "max_length"]),
    padding_side=SIDES,
    multiple=st.none() | st.integers(1, 5),
)
def test_shaping_equals_hugging_face(rows, prefix, suffix, room, truncation_side, padding, padding_side, multiple):
    max_length = None if room is None else prefix + suffix + room
    if padding == "none":
        multiple = None
    if padding == "max_length" and max_length is None:
        max_length = prefix + suffix + 8
    if max_length is not None and multiple is not None:
        max_length = -(-max_length // multiple) * multiple
    peer = hugging_face(prefix, suffix)
    if max_length is not None and room is not None:
        peer.enable_truncation(max_length, direction=truncation_side)
    elif max_length is not None:
        rows = [row[: max_length - prefix - suffix] for row in rows]
    if padding != "none":
        length = max_length if padding == "max_length" else None
        peer.enable_padding(
            direction=padding_side, pad_id=PAD, pad_token="[PAD]", length=length, pad_to_multiple_of=multiple
        )
    expected = peer.encode_batch([" ".join(map(str, row)) for row in rows])
    shaped = shape_rows(
        [with_specials(row, prefix, suffix) for row in rows],
        max_length=max_length,
        truncation_side=truncation_side,
        padding=padding,
        padding_side=padding_side,
        pad_to_multiple_of=multiple,
        pad_id=PAD,
        prefix=prefix,
        suffix=suffix,
    )
    for ours, theirs in zip(shaped, expected, strict=True):
        assert ours.ids.tolist() == theirs.ids
        assert ours.ids.dtype == np.uint32
        assert ours.attention_mask().tolist() == theirs.attention_mask
        assert ours.special_tokens_mask().tolist() == theirs.special_tokens_mask


@settings(max_examples=300, deadline=None)
@given(
    rows=TEXT_ROWS,
    prefix=st.integers(0, 2),
    suffix=st.integers(0, 2),
    room=st.integers(0, 14),
    truncation_side=SIDES,
    padding_side=SIDES,
)
def test_shaping_equals_slow_lists(rows, prefix, suffix, room, truncation_side, padding_side):
    max_length = prefix + suffix + room
    shaped = shape_rows(
        [with_specials(row, prefix, suffix) for row in rows],
        max_length=max_length,
        truncation_side=truncation_side,
        padding="max_length",
        padding_side=padding_side,
        pad_id=PAD,
        prefix=prefix,
        suffix=suffix,
    )
    for row, ours in zip(rows, shaped, strict=True):
        text = list(row)
        while len(text) > room:
            text.pop(0 if truncation_side == "left" else -1)
        ids = [BOS] * prefix + text + [EOS] * suffix
        flags = [1] * prefix + [0] * len(text) + [1] * suffix
        mask, positions = [1] * len(ids), list(range(len(ids)))
        while len(ids) < max_length:
            at = 0 if padding_side == "left" else len(ids)
            for values, pad in ((ids, PAD), (flags, 1), (mask, 0), (positions, 0)):
                values.insert(at, pad)
        assert ours.ids.tolist() == ids
        assert ours.special_tokens_mask().tolist() == flags
        assert ours.attention_mask().tolist() == mask
        assert ours.position_ids().tolist() == positions
        assert ours.count == sum(mask)
        assert ours.cut.removed == len(row) - len(text)
        assert ours.cut.side == truncation_side


@settings(max_examples=200, deadline=None)
@given(row=st.lists(st.integers(3, 9), max_size=12), room=st.integers(0, 14), truncation_side=SIDES, padding_side=SIDES)
def test_carried_values_stay_with_their_ids(row, room, truncation_side, padding_side):
    ids = with_specials(row, 1, 1)
    (shaped,) = shape_rows(
        [ids],
        max_length=room + 2,
        truncation_side=truncation_side,
        padding="max_length",
        padding_side=padding_side,
        pad_id=PAD,
        prefix=1,
        suffix=1,
    )
    spans = np.stack((ids + 100, ids + 101), axis=1)
    carried = shaped.carry(spans)
    assert carried.shape == (len(shaped.ids), 2)
    assert carried.dtype == spans.dtype
    for id, span, real in zip(shaped.ids.tolist(), carried.tolist(), shaped.attention_mask().tolist(), strict=True):
        assert span == ([id + 100, id + 101] if real else [0, 0])


def test_no_options_change_nothing():
    row = np.arange(5, dtype=np.uint32)
    (shaped,) = shape_rows([row])
    assert shaped.ids is row
    assert shaped.cut.removed == 0


def test_no_rows_give_no_rows():
    assert shape_rows([], padding="longest", pad_id=PAD, max_length=4) == ()


def test_cut_names_the_removed_ids():
    cut = plan_cut(10, 6, side="left", prefix=1, suffix=1)
    assert (cut.side, cut.start, cut.removed) == ("left", 1, 4)
    cut = plan_cut(10, 6, side="right", prefix=1, suffix=1)
    assert (cut.side, cut.start, cut.removed) == ("right", 5, 4)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"max_length": 1, "prefix": 1, "suffix": 1}, "max_length"),
        ({"max_length": -1}, "max_length"),
        ({"max_length": 2.0}, "max_length"),
        ({"max_length": True}, "max_length"),
        ({"padding": "longest", "pad_id": 0, "pad_to_multiple_of": 1.5}, "pad_to_multiple_of"),
        ({"padding": "longest", "pad_id": 1.5}, "pad_id"),
        ({"padding": "longest", "pad_id": True}, "pad_id"),
        ({"padding": "longest", "pad_id": -1}, "pad_id"),
        ({"padding": "longest", "pad_id": 1 << 32}, "pad_id"),
        ({"max_length": 4, "truncation_side": "middle"}, "truncation_side"),
        ({"truncation_side": "middle"}, "truncation_side"),
        ({"padding": "longest", "padding_side": "both", "pad_id": 0}, "padding_side"),
        ({"padding": "all", "pad_id": 0}, "padding"),
        ({"padding": "longest"}, "padding"),
        ({"padding": "max_length", "pad_id": 0}, "max_length"),
        ({"padding": "longest", "pad_to_multiple_of": 0, "pad_id": 0}, "pad_to_multiple_of"),
        ({"padding": "longest", "pad_to_multiple_of": -8, "pad_id": 0}, "pad_to_multiple_of"),
        ({"pad_to_multiple_of": 8}, "pad_to_multiple_of"),
        ({"padding": "longest", "pad_to_multiple_of": 8, "max_length": 12, "pad_id": 0}, "pad_to_multiple_of"),
        ({"padding": "max_length", "max_length": MAX_PADDED_IDS + 1, "pad_id": 0}, "max_length"),
        ({"padding": "longest", "pad_to_multiple_of": 1 << 62, "pad_id": 0}, "pad_to_multiple_of"),
        ({"prefix": 3, "suffix": 2}, "rows[0]"),
    ],
)
def test_a_bad_option_is_named(options, field):
    with pytest.raises(InvalidOption) as caught:
        shape_rows([np.arange(4, dtype=np.uint32)], **options)
    assert caught.value.code == "invalid_option"
    assert caught.value.place == {"field": field}
    assert not caught.value.message.endswith(".")


def test_rows_that_need_no_padding_may_be_longer_than_padding_makes_them():
    assert padded_width([MAX_PADDED_IDS + 1], padding="longest") == MAX_PADDED_IDS + 1
    with pytest.raises(InvalidOption, match=f"2 rows padded to {MAX_PADDED_IDS} ids") as caught:
        padded_width([MAX_PADDED_IDS, 1], padding="longest")
    assert caught.value.place == {"field": "padding"}


def test_a_bad_max_length_is_named_even_without_rows():
    with pytest.raises(InvalidOption):
        shape_rows([], max_length=1, prefix=1, suffix=1)
