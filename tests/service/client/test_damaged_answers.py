"""Answers in bytes that are damaged, cut short or of something else: always the client's own error."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest

from service.client import Call, Client, ServerFault, calls
from service.http import media

TEXTS = ["one", "two", ""]
NOT_TOKD = "something else than tokd answers; check the address"


def answered(call: Call[Any], content: bytes, **headers: str) -> Any:
    headers = {"content-type": call.accept, **headers}
    answer = httpx.Response(200, content=content, headers=headers)
    with Client(transport=httpx.MockTransport(lambda _: answer)) as tokd:
        return tokd.send(call)


def arrow(compression: str | None = None) -> bytes:
    columns = {
        "ids": pa.array([[1, 2], [3], []], pa.list_(pa.uint32())),
        "count": pa.array([2, 1, 0], pa.uint32()),
        "spans": pa.array([[[0, 1], [1, 3]], [[0, 3]], []], pa.list_(pa.list_(pa.uint32(), 2))),
    }
    table, sink = pa.table(columns).replace_schema_metadata({"tokenizer": "sha256:0"}), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def damaged(whole: bytes) -> Iterator[bytes]:
    """Cut it everywhere, and change every byte of it, and some at once."""
    rng = random.Random(3)
    for at in range(len(whole)):
        yield whole[:at]
        yield whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :]
        other = bytearray(whole)
        for _ in range(rng.randint(2, 20)):
            other[rng.randrange(len(whole))] = rng.choice((0, 1, 127, 128, 255))
        yield bytes(other)


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_a_damaged_answer_in_arrow_is_told_apart_or_a_table_that_can_be_read(compression: str | None) -> None:
    call, faults = calls.encode_arrow(TEXTS, parts=["ids", "count", "spans"]), 0
    assert answered(call, arrow(compression)).column("ids").to_pylist() == [[1, 2], [3], []]
    for content in damaged(arrow(compression)):
        try:
            table = answered(call, content)
        except ServerFault:
            faults += 1
        else:
            assert len(table.to_pylist()) == len(TEXTS)
    assert faults > 1000


def test_an_answer_in_arrow_has_a_row_for_each_text() -> None:
    with pytest.raises(ServerFault, match=NOT_TOKD):
        answered(calls.encode_arrow([*TEXTS, "four"]), arrow())
    with pytest.raises(ServerFault, match=NOT_TOKD):
        answered(calls.encode_arrow(TEXTS[1:]), arrow())
    with pytest.raises(ServerFault, match=NOT_TOKD):
        answered(calls.encode_arrow([*TEXTS, "four"], max_length=3, stride=1), arrow())
    assert answered(calls.encode_arrow(TEXTS[1:], max_length=3, stride=1), arrow()).num_rows == len(TEXTS)


@pytest.mark.parametrize("lengths", ["1", "1,1,1", "", "3,-1", "2,x", "9" * 30, "9" * 5000, "1,,2"])
def test_rows_of_ids_are_all_of_the_ids(lengths: str) -> None:
    call = calls.encode_ids_batch(["a", "b"])
    content = np.array([5, 6], "<u4").tobytes()
    headers = {media.ROW_LENGTHS: "1,1"}
    assert [row.tolist() for row in answered(call, content, **headers)] == [[5], [6]]
    with pytest.raises(ServerFault, match=NOT_TOKD):
        answered(call, content, **{media.ROW_LENGTHS: lengths})
    with pytest.raises(ServerFault, match=NOT_TOKD):
        answered(call, content[:-1], **headers)
