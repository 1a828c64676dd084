"""Claims about every text and every row of ids, held against the reference."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import vocabularies
from tests.support.data import needs_data
from tests.support.texts import hostile_text, texts
from tokenizer_core.errors import ReservedLiteral
from tokenizer_core.reference.added_tokens import ReservedLiteralError
from tokenizer_core.reference.tokenizer import ReferenceTokenizer
from tokenizer_core.reference.utf8 import stream

NAMES = ["tiny", *(pytest.param(name, marks=needs_data) for name in vocabularies.REAL)]
every_tokenizer = pytest.mark.parametrize("name", NAMES)
policies = st.sampled_from(["text", "parse", "ordinary"])
UNITS = ("byte", "char", "utf16")


@every_tokenizer
@given(text=texts, policy=policies)
def test_ids_are_those_of_the_reference(name: str, text: str, policy: str) -> None:
    ours = vocabularies.tokenizer(name).encode(text, special_tokens=policy)
    assert ours.dtype == np.uint32
    assert ours.tolist() == vocabularies.reference(name).encode(text, special_tokens=policy)


@every_tokenizer
@given(text=texts)
def test_pieces_are_those_of_the_reference(name: str, text: str) -> None:
    assert vocabularies.tokenizer(name).pieces(text) == vocabularies.reference(name).pieces(text)


@every_tokenizer
@given(text=texts, policy=policies)
def test_offsets_are_those_of_the_reference(name: str, text: str, policy: str) -> None:
    ours, slow = vocabularies.tokenizer(name), vocabularies.reference(name)
    for unit in UNITS:
        found = ours.offsets(text, unit, special_tokens=policy)
        assert found.ids.tolist() == slow.encode(text, special_tokens=policy)
        assert found.spans.shape == (len(found.ids), 2)
        assert [tuple(span) for span in found.spans.tolist()] == slow.offsets(text, unit, special_tokens=policy)


@every_tokenizer
@given(text=texts)
def test_rejecting_names_the_literal_that_the_reference_finds(name: str, text: str) -> None:
    ours = vocabularies.tokenizer(name)
    refused = reserved_literal(vocabularies.reference(name), text)
    if refused is None:
        assert ours.encode(text).tolist() == ours.encode(text, special_tokens="text").tolist()
        return
    with pytest.raises(ReservedLiteral) as caught:
        ours.encode(text)
    assert refused in caught.value.message
    assert caught.value.place["unit"] == "char"
    start, end = caught.value.place["span"]
    assert text[start:end] == refused


def reserved_literal(slow: ReferenceTokenizer, text: str) -> str | None:
    """Return the literal that makes the reference refuse a text."""
    try:
        slow.encode(text)
    except ReservedLiteralError as error:
        return error.content
    return None


@every_tokenizer
@given(text=texts)
def test_every_way_to_encode_gives_the_same_ids(name: str, text: str) -> None:
    ours = vocabularies.tokenizer(name)
    ids = ours.encode(text, special_tokens="parse")
    assert ours.encode(text, special_tokens="parse").tolist() == ids.tolist(), "a second time, from the cache"
    assert ours.count(text, special_tokens="parse") == len(ids)
    written = json.dumps(ids.tolist(), separators=(",", ":")).encode()
    assert vocabularies.answered(ours, text) == (b'{"ids":%b,"count":%d}' % (written, len(ids)), len(ids))
    assert ours.offsets(text, special_tokens="parse").ids.tolist() == ids.tolist()
    assert ours.encode_batch([text], special_tokens="parse")[0].tolist() == ids.tolist()


@every_tokenizer
@given(rows=st.lists(texts, max_size=12), threads=st.integers(0, 5))
def test_batch_equals_singles(name: str, rows: list[str], threads: int) -> None:
    ours = vocabularies.tokenizer(name)
    batch = ours.encode_batch(rows, special_tokens="text", threads=threads)
    assert len(batch) == len(rows)
    assert batch.row_offsets.dtype == np.int64
    assert [row.tolist() for row in batch] == [ours.encode(row, special_tokens="text").tolist() for row in rows]


@pytest.mark.parametrize(
    "name", ["tiny", *(pytest.param(name, marks=needs_data) for name in vocabularies.REAL if name != "qwen2")]
)
@given(text=texts, policy=policies)
def test_decoding_gives_the_text_back(name: str, text: str, policy: str) -> None:
    ours = vocabularies.tokenizer(name)
    ids = ours.encode(text, special_tokens=policy)
    assert ours.decode(ids) == text
    assert ours.decode_bytes(ids) == text.encode()


@needs_data
@given(text=texts)
def test_decoding_gives_the_normalized_text_back(text: str) -> None:
    ours = vocabularies.tokenizer("qwen2")
    ids = ours.encode(text, special_tokens="ordinary")
    assert ours.decode(ids) == "".join(ours.pieces(text))
    assert ours.encode(ours.decode(ids), special_tokens="ordinary").tolist() == ids.tolist()


@cache
def ids_of(name: str) -> st.SearchStrategy[list[int]]:
    """Rows of known ids, half of them of bytes that are no UTF-8 or are U+FFFD itself."""
    slow = vocabularies.reference(name)
    known = sorted(slow.known_ids)
    nasty = [id for id in known if "\ufffd" in slow.decode_bytes([id]).decode("utf-8", "replace")]
    return st.lists(st.one_of(st.sampled_from(known), st.sampled_from(nasty)), max_size=20)


@every_tokenizer
@given(data=st.data())
def test_decoding_is_that_of_the_reference(name: str, data: st.DataObject) -> None:
    ours, slow = vocabularies.tokenizer(name), vocabularies.reference(name)
    ids = data.draw(ids_of(name))
    assert ours.decode_bytes(ids) == slow.decode_bytes(ids)
    assert ours.decode(ids) == slow.decode(ids) == slow.decode_bytes(ids).decode("utf-8", "replace")
    assert ours.decode(np.asarray(ids, np.uint32)) == slow.decode(ids)


@every_tokenizer
@given(data=st.data())
def test_a_stream_at_every_split_is_the_whole(name: str, data: st.DataObject) -> None:
    ours, slow = vocabularies.tokenizer(name), vocabularies.reference(name)
    ids = data.draw(ids_of(name))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ids)), max_size=6)))
    rows = [ids[start:end] for start, end in zip([0, *cuts], [*cuts, len(ids)], strict=True)]
    decoder = ours.stream_decoder()
    expected, rest = stream([slow.decode_bytes(row) for row in rows])
    for row, text in zip(rows, expected, strict=True):
        assert decoder.push(row) == text
        assert len(decoder.pending) <= 3
    assert decoder.finish() == rest
    assert "".join(expected) + rest == ours.decode(ids)


@every_tokenizer
@given(data=st.data())
def test_a_stream_one_by_one_is_the_whole(name: str, data: st.DataObject) -> None:
    ours = vocabularies.tokenizer(name)
    ids = data.draw(ids_of(name))
    decoder = ours.stream_decoder()
    assert "".join(decoder.push([id]) for id in ids) + decoder.finish() == ours.decode(ids)


@every_tokenizer
@given(text=hostile_text)
def test_byte_spans_tile_the_text(name: str, text: str) -> None:
    ours = vocabularies.tokenizer(name)
    if ours.config.normalizer:
        return
    spans = ours.offsets(text, "byte", special_tokens="parse").spans.tolist()
    assert [start for start, _ in spans] == [0, *(end for _, end in spans)][: len(spans)]
    assert not spans or spans[-1][1] == len(text.encode())


@every_tokenizer
@given(text=texts, unit=st.sampled_from(UNITS))
def test_spans_are_monotone_and_inside_the_text(name: str, text: str, unit: str) -> None:
    spans = vocabularies.tokenizer(name).offsets(text, unit, special_tokens="parse").spans.astype(np.int64)
    assert np.all(np.diff(spans, axis=0) >= 0)
    assert np.all(spans[:, 0] <= spans[:, 1])
    size = {"byte": len(text.encode()), "char": len(text), "utf16": len(text.encode("utf-16-le")) // 2}[unit]
    assert len(spans) == 0 or spans[-1, 1] <= size


@every_tokenizer
@given(text=texts)
def test_ordinary_text_never_becomes_a_control_token(name: str, text: str) -> None:
    ours = vocabularies.tokenizer(name)
    specials = set(ours.special_tokens.values())
    assert specials.isdisjoint(ours.encode(text, special_tokens="text").tolist())
    assert specials.isdisjoint(ours.encode(text, special_tokens="ordinary").tolist())
