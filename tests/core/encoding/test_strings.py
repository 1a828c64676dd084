"""Python's strings as UTF-8: whatever they hold and however long they are, first and again, alone and many at once."""

from __future__ import annotations

import itertools
import sys

import pytest

from tokenizer_core import Tokenizer
from tokenizer_core.errors import InvalidUnicode

UNITS = ("é", "ÿ plain words ", "Ж", "日本語 ", "a👍", "\u07ff\u0800\uffff\U00010000\U0010ffff", "\0é")
LENGTHS = (127, 128, 129, 200, 511, 512, 513, 575, 4095, 4096, 4097, 8191, 8192, 8193, 12_345, 20_345)
"""Around what is worth it, what one vector holds and what is taken out of a string at once."""

TEXTS = [(unit * length)[:length] for unit, length in itertools.product(UNITS, LENGTHS)]
MIXED = [
    "x" * 5000 + "é",
    "é" + "x" * 5000,
    "x" * 4096 + "é" * 4096 + "y" * 4096 + "👍",
    "plain " * 90 + "日" + " plain" * 2000 + "👍",
    "".join(map(chr, range(0xD800))),
    "".join(map(chr, range(0xE000, 0x12000))),
]


def bytes_of(tokenizer: Tokenizer, text: str) -> bytes:
    return tokenizer.decode_bytes(tokenizer.encode(text, special_tokens="ordinary"))


def test_a_text_keeps_its_bytes_the_first_time_and_again(tiny: Tokenizer) -> None:
    for text in [*TEXTS, *MIXED]:
        for _ in range(3):
            assert bytes_of(tiny, text) == text.encode()


def test_texts_of_other_kinds_between_do_not_mix_up(tiny: Tokenizer) -> None:
    for first, second in itertools.pairwise([*TEXTS, *MIXED]):
        for text in (first, second, first):
            assert bytes_of(tiny, text) == text.encode()


def test_many_texts_are_what_each_is(tiny: Tokenizer) -> None:
    texts = ["", "short é", *TEXTS, "plain " * 200, *MIXED, "é" * 600]
    expected = [bytes_of(tiny, text) for text in texts]
    for _ in range(3):
        batch = tiny.encode_batch(texts, special_tokens="ordinary")
        assert [tiny.decode_bytes(batch[row]) for row in range(len(texts))] == expected


def test_another_text_in_the_same_memory_is_another_text(tiny: Tokenizer) -> None:
    for half, number in itertools.product((100, 1000), range(200)):
        # The string before is gone, so this one mostly lies where one lay.
        text = "é" * half + chr(0x100 + number) + "é" * (half - 1)
        assert bytes_of(tiny, text) == text.encode()


def test_offsets_counts_and_pieces_see_the_same_text(tiny: Tokenizer) -> None:
    for text in MIXED:
        ids = tiny.encode(text, special_tokens="ordinary")
        assert tiny.count(text, special_tokens="ordinary") == len(ids)
        offsets = tiny.offsets(text, unit="byte", special_tokens="ordinary")
        assert offsets.ids.tolist() == ids.tolist()
        assert offsets.spans.max(initial=0) == len(text.encode())
        assert "".join(tiny.pieces(text)) == text


class Named(str):
    """A string of another class."""

    __slots__ = ("name",)

    def isascii(self) -> bool:
        raise AssertionError

    def __len__(self) -> int:
        return 3


@pytest.mark.parametrize("text", [Named("plain" * 300), Named("é" * 1000), Named("日本" * 5000)])
def test_a_string_of_another_class_is_its_characters(tiny: Tokenizer, text: Named) -> None:
    assert bytes_of(tiny, text) == str.encode(text)


@pytest.mark.parametrize("at", [0, 1, 511, 512, 4095, 4096, 5000, 8191, 8192, 8999])
def test_a_lone_surrogate_in_a_long_text_is_named_with_its_place(tiny: Tokenizer, at: int) -> None:
    for unit in ("x", "é", "日", "👍"):
        text = unit * at + "\udc80" + unit * (8999 - at)
        for _ in range(2):
            with pytest.raises(InvalidUnicode) as caught:
                tiny.encode(text)
            assert caught.value.place["span"] == [at, at + 1]
        with pytest.raises(InvalidUnicode) as caught:
            tiny.encode_batch(["é" * 600, text, text])
        assert (caught.value.place["row"], caught.value.place["span"]) == (1, [at, at + 1])


def test_python_keeps_utf8_only_of_a_string_that_comes_again(tiny: Tokenizer) -> None:
    text = "".join(["é", "x" * 1000])
    alone = sys.getsizeof(text)
    tiny.encode(text)
    once = sys.getsizeof(text)
    tiny.encode(text)
    assert alone == once
    assert sys.getsizeof(text) == alone + len(text.encode()) + 1
