"""Bad text and bad ids: an error with its place, and a tokenizer that goes on."""

from __future__ import annotations

import itertools
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.data import needs_data
from tests.support.vocabularies import build, split
from tokenizer_core import MAX_CACHE_BYTES, Tokenizer, train
from tokenizer_core.errors import (
    InputError,
    InvalidOption,
    InvalidUnicode,
    ReservedLiteral,
    UncoveredText,
    UnknownTokenId,
)

READERS: dict[str, Callable[[Tokenizer, str], object]] = {
    "encode": lambda tokenizer, text: tokenizer.encode(text),
    "encode_batch": lambda tokenizer, text: tokenizer.encode_batch(["fine", text]),
    "count": lambda tokenizer, text: tokenizer.count(text),
    "offsets": lambda tokenizer, text: tokenizer.offsets(text),
    "pieces": lambda tokenizer, text: tokenizer.pieces(text),
}
every_reader = pytest.mark.parametrize("reader", READERS)


@every_reader
@pytest.mark.parametrize(("text", "at"), [("a\ud800b", 1), ("\udc00", 0), ("日本👍\udfff", 3), ("\ud83d\udc4d", 0)])
def test_a_lone_surrogate_is_named_with_its_place(tiny: Tokenizer, reader: str, text: str, at: int) -> None:
    with pytest.raises(InvalidUnicode) as caught:
        READERS[reader](tiny, text)
    assert caught.value.code == "invalid_unicode"
    assert caught.value.place["span"] == [at, at + 1]
    assert caught.value.place["unit"] == "char"
    if reader == "encode_batch":
        assert caught.value.place["row"] == 1
    caught.value.message.encode("utf-8")


BAD_IDS = [
    (True, InvalidOption),
    (1.0, InvalidOption),
    (1.5, InvalidOption),
    ("7", InvalidOption),
    (None, InvalidOption),
    (b"7", InvalidOption),
    ([7], InvalidOption),
    (-1, InputError),
    (2**32, InputError),
    (2**64, InputError),
    (10**400, InputError),
    (100_000, UnknownTokenId),
    (2**31, UnknownTokenId),
    (2**32 - 1, UnknownTokenId),
]


@pytest.mark.parametrize(("bad", "error"), BAD_IDS, ids=lambda value: str(value)[:12])
@pytest.mark.parametrize("at", [0, 3])
def test_what_is_no_id_is_named_with_its_index(tiny: Tokenizer, bad: Any, error: type[InputError], at: int) -> None:
    ids = [72, 73, 74, 75]
    ids[at] = bad
    for decode in (tiny.decode, tiny.decode_bytes, tiny.stream_decoder().push):
        with pytest.raises(error) as caught:
            decode(ids)
        assert caught.value.place["index"] == at
    assert tiny.decode([72]) == tiny.token_bytes(72).decode()


@pytest.mark.parametrize("dtype", [np.float64, np.bool_, np.complex128, object])
def test_arrays_of_other_types_are_refused(tiny: Tokenizer, dtype: Any) -> None:
    with pytest.raises(InputError):
        tiny.decode(np.asarray([1.0, True], dtype))


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint16, np.uint64])
def test_arrays_of_integers_are_ids(tiny: Tokenizer, dtype: Any) -> None:
    assert tiny.decode(np.asarray([72, 73], dtype)) == tiny.decode([72, 73])


RELEASED = memoryview(np.zeros(2, np.uint32))
RELEASED.release()


@pytest.mark.parametrize(
    "ids", [memoryview(b"ab"), memoryview(np.zeros((2, 2), np.uint32)), RELEASED], ids=["bytes", "rows", "released"]
)
def test_a_view_of_bytes_or_of_rows_is_no_list_of_ids(tiny: Tokenizer, ids: Any) -> None:
    for read in (tiny.decode, tiny.decode_bytes, tiny.stream_decoder().push):
        with pytest.raises(InvalidOption, match="ids are a sequence of integers, not memoryview") as caught:
            read(ids)
        assert caught.value.place == {"field": "ids"}
    words: Any = memoryview(np.array([97, 98], np.uint32))
    assert tiny.decode(words) == tiny.decode([97, 98])


@pytest.mark.parametrize(("dtype", "id"), [(np.int64, -1), (np.int8, -1), (np.int64, 2**32 + 1), (np.uint64, 2**63)])
def test_ids_in_an_array_that_are_none_are_named(tiny: Tokenizer, dtype: Any, id: int) -> None:
    with pytest.raises(UnknownTokenId, match=f"no token has the id {id};") as caught:
        tiny.decode(np.asarray([1, id], dtype))
    assert caught.value.place["index"] == 1


def test_ids_behind_a_mask_are_not_read(tiny: Tokenizer) -> None:
    with pytest.raises(InvalidOption, match="an id is an integer, not MaskedConstant") as caught:
        tiny.decode(np.ma.array([72, 73], mask=[False, True]))  # type: ignore[no-untyped-call]
    assert caught.value.place["index"] == 1


class Backwards(list[int]):
    """A list whose items come from the last to the first."""

    def __iter__(self) -> Iterator[int]:
        return reversed(self)


def test_ids_are_what_their_row_gives_whatever_it_is(tiny: Tokenizer) -> None:
    ids = list(range(60, 80))
    for kind in (tuple, iter, deque, np.array, lambda ids: [np.int64(id) for id in ids]):
        assert tiny.decode(kind(ids)) == tiny.decode(ids)
    assert tiny.decode(Backwards(ids)) == tiny.decode(ids[::-1])


def test_a_strided_array_is_read_in_its_order(tiny: Tokenizer) -> None:
    ids = np.arange(60, 80, dtype=np.uint32)
    assert tiny.decode(ids[::-3]) == tiny.decode(ids[::-3].tolist())


def test_a_failed_push_leaves_the_stream_as_it_was(tiny: Tokenizer) -> None:
    thumb = [id for id in range(256) for byte in "👍".encode() if tiny.token_bytes(id) == bytes([byte])]
    ordered = sorted(thumb, key=lambda id: "👍".encode().index(tiny.token_bytes(id)))
    decoder = tiny.stream_decoder()
    assert decoder.push(ordered[:2]) == ""
    with pytest.raises(UnknownTokenId):
        decoder.push([ordered[2], 100_000])
    assert decoder.push(ordered[2:]) == "👍"


@every_reader
@pytest.mark.parametrize("bad", [None, 7, b"text", ["text"], True])
def test_what_is_no_text_is_refused(tiny: Tokenizer, reader: str, bad: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        READERS[reader](tiny, bad)
    assert caught.value.place == {"field": "texts" if reader == "encode_batch" else "text"}


OPTIONS: dict[str, dict[str, Callable[[Tokenizer, Any], object]]] = {
    "special_tokens": {
        "encode": lambda tokenizer, value: tokenizer.encode("text", special_tokens=value),
        "encode_batch": lambda tokenizer, value: tokenizer.encode_batch(["text"], special_tokens=value),
        "count": lambda tokenizer, value: tokenizer.count("text", special_tokens=value),
        "offsets": lambda tokenizer, value: tokenizer.offsets("text", special_tokens=value),
    },
    "unit": {"offsets": lambda tokenizer, value: tokenizer.offsets("text", value)},
    "add_special_tokens": {
        "encode": lambda tokenizer, value: tokenizer.encode("text", add_special_tokens=value),
        "encode_batch": lambda tokenizer, value: tokenizer.encode_batch(["text"], add_special_tokens=value),
        "count": lambda tokenizer, value: tokenizer.count("text", add_special_tokens=value),
        "offsets": lambda tokenizer, value: tokenizer.offsets("text", add_special_tokens=value),
    },
    "skip_special_tokens": {
        "decode": lambda tokenizer, value: tokenizer.decode([72], skip_special_tokens=value),
        "decode_bytes": lambda tokenizer, value: tokenizer.decode_bytes([72], skip_special_tokens=value),
        "stream_decoder": lambda tokenizer, value: tokenizer.stream_decoder(skip_special_tokens=value),
    },
    "threads": {
        "encode": lambda tokenizer, value: tokenizer.encode("text", threads=value),
        "encode_batch": lambda tokenizer, value: tokenizer.encode_batch(["text"], threads=value),
    },
    "cache_bytes": {"init": lambda tokenizer, value: Tokenizer(tokenizer.parts, cache_bytes=value)},
}
WORDS = ("special_tokens", "unit")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *((word, value) for word in WORDS for value in (None, 7, True, b"text", ["text"], "\ud800", "all" * 1000)),
        *((option, value) for option in OPTIONS if option not in WORDS for value in (None, "true", b"1", [], 1.0)),
        *((flag, value) for flag in ("add_special_tokens", "skip_special_tokens") for value in (0, 1)),
        *((size, True) for size in ("threads", "cache_bytes")),
    ],
)
def test_an_option_of_another_type_is_refused_by_its_name(tiny: Tokenizer, option: str, value: Any) -> None:
    for ask in OPTIONS[option].values():
        with pytest.raises(InvalidOption, match=f"^{option} ") as caught:
            ask(tiny, value)
        assert caught.value.place == {"field": option}
        assert len(caught.value.message.encode()) < 400


@pytest.mark.parametrize(
    ("option", "value"), [("special_tokens", "all"), ("special_tokens", "None"), ("unit", "codepoint")]
)
def test_an_unknown_option_is_named(tiny: Tokenizer, option: str, value: Any) -> None:
    with pytest.raises(InvalidOption, match=value) as caught:
        tiny.offsets("text", **{option: value})
    assert caught.value.code == "invalid_option"


@pytest.mark.parametrize("number", [-1, 2**64, 10**30])
def test_a_size_that_cannot_be_is_named(tiny: Tokenizer, number: int) -> None:
    asked: dict[str, Callable[[], object]] = {
        "threads": lambda: tiny.encode("text", threads=number),
        "threads of a batch": lambda: tiny.encode_batch(["text"], threads=number),
        "threads of a run": lambda: train(iter(["text"]), vocab_size=257, threads=number),
        "cache_bytes": lambda: Tokenizer(tiny.parts, cache_bytes=number),
    }
    for name, ask in asked.items():
        with pytest.raises(InvalidOption, match=str(number)) as caught:
            ask()
        assert caught.value.place["field"] == name.split()[0]


@pytest.mark.parametrize("number", [MAX_CACHE_BYTES + 1, 1 << 34, 1 << 62])
def test_a_cache_that_no_memory_may_have_is_refused_and_the_largest_is_not(tiny: Tokenizer, number: int) -> None:
    with pytest.raises(InvalidOption, match=f"at most {MAX_CACHE_BYTES}, not {number}") as caught:
        Tokenizer(tiny.parts, cache_bytes=number)
    assert caught.value.place == {"field": "cache_bytes"}
    largest = Tokenizer(tiny.parts, cache_bytes=MAX_CACHE_BYTES)
    assert largest.encode("text").tolist() == tiny.encode("text").tolist()


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (1, 0, 2)])
def test_an_array_of_arrays_is_no_list_of_ids(tiny: Tokenizer, shape: tuple[int, ...]) -> None:
    for ids in (np.ones(shape, np.uint32), np.ones(shape, np.int64)):
        with pytest.raises(InvalidOption, match="ndarray"):
            tiny.decode(ids)


@pytest.mark.parametrize("ids", [{72, 73}, frozenset({72}), {72: 1}])
def test_what_has_no_order_is_no_list_of_ids(tiny: Tokenizer, ids: Any) -> None:
    with pytest.raises(InvalidOption, match=f"not {type(ids).__name__}"):
        tiny.decode(ids)


@pytest.mark.parametrize(
    "ids",
    [itertools.count(), range(10**8), iter(range(10**12)), range(10**30)],
    ids=["without an end", "a range", "an iterator", "a range without a length"],
)
def test_ids_beyond_the_vocabulary_are_told_before_the_rest_is_read(tiny: Tokenizer, ids: Iterable[int]) -> None:
    with pytest.raises(UnknownTokenId) as caught:
        tiny.decode(ids)
    assert caught.value.place == {"index": tiny.vocab_size}


def test_more_ids_than_fit_are_refused_before_any_is_read(tiny: Tokenizer) -> None:
    for ids in (range(10**12), np.broadcast_to(np.int64(72), (2**28 + 1,)), np.broadcast_to(np.uint32(72), (2**40,))):
        for decode in (tiny.decode, tiny.decode_bytes, tiny.stream_decoder().push):
            with pytest.raises(InvalidOption, match="in parts"):
                decode(ids)


def test_ids_without_an_end_can_be_interrupted(tiny: Tokenizer) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            tiny.decode(itertools.repeat(72))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "texts", [range(10**12), memoryview(b"text"), [*"text", None]], ids=lambda texts: str(texts)[:6]
)
def test_the_first_text_of_a_batch_that_is_none_is_named(tiny: Tokenizer, texts: Any) -> None:
    with pytest.raises(InvalidOption, match=r"^texts\[[04]\] is not a string$"):
        tiny.encode_batch(texts)


def test_a_reserved_literal_is_named_with_its_span_and_the_other_choices(tiny: Tokenizer) -> None:
    with pytest.raises(ReservedLiteral) as caught:
        tiny.encode("日本 <|end|>!")
    assert caught.value.place["span"] == [3, 10]
    assert caught.value.place["unit"] == "char"
    for word in ("<|end|>", "text", "parse"):
        assert word in caught.value.message


@needs_data
def test_a_hole_in_the_vocabulary_is_no_id(cl100k: Tokenizer) -> None:
    with pytest.raises(UnknownTokenId) as caught:
        cl100k.decode([100_255, 100_256])
    assert caught.value.place["index"] == 1


def test_text_outside_every_piece_is_an_error_and_never_dropped() -> None:
    lossy = build(pretokenizer=(split(r"\p{L}+", "removed", invert=True),))
    with pytest.raises(UncoveredText) as caught:
        lossy.encode("a1 b!c")
    assert caught.value.place["span"][0] == 1
