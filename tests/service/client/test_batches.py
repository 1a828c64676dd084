"""A batch that is too much for one request is sent in parts; its answer and its errors are those of the whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.client import AsyncClient, Call, Client, Refused, TooLarge
from service.client import call as divided
from tests.service.conftest import RunServer, Server
from tokenizer_core import InvalidUnicode, ReservedLiteral, Tokenizer, UnknownTokenId

TEXTS = [f"the quick brown fox {number} naïve 🙂" for number in range(23)]


@pytest.fixture(scope="module")
def server(run_server: RunServer) -> Iterator[Server]:
    with run_server(access_log=False, max_items=4, max_ids=500, max_body_bytes=8192) as running:
        yield running


Ask = Callable[[Call[Any]], Any]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest, server: Server) -> Ask:
    def plainly(call: Call[Any]) -> Any:
        with Client(server.url) as client:
            return client.send(call)

    def awaited(call: Call[Any]) -> Any:
        async def once() -> Any:
            async with AsyncClient(server.url) as client:
                return await client.send(call)

        return asyncio.run(once())

    return plainly if request.param == "sync" else awaited


def test_every_batch_is_answered_in_order_whatever_the_server_takes_at_once(ask: Ask, framed: Tokenizer) -> None:
    ids = [framed.encode(text).tolist() for text in TEXTS]
    assert [row.ids for row in ask(Client.encode_batch(TEXTS, add_special_tokens=False))] == ids
    arrays = ask(Client.encode_ids_batch(TEXTS, add_special_tokens=False))
    assert [row.tolist() for row in arrays] == ids
    assert [row.count for row in ask(Client.count_batch(TEXTS, add_special_tokens=False))] == [*map(len, ids)]
    assert [row.text for row in ask(Client.decode_batch(ids))] == TEXTS
    places = ask(Client.offsets_batch(TEXTS, [[(0, 3)]] * len(TEXTS), add_special_tokens=False))
    assert [row.spans for row in places] == [framed.offsets(text).spans.tolist() for text in TEXTS]


def test_pairs_stay_together(ask: Ask, framed: Tokenizer) -> None:
    seconds = [text[::-1] for text in TEXTS]
    rows = ask(Client.encode_batch(TEXTS, text_pair=seconds))
    assert [row.ids for row in rows] == [
        framed.encode_pair(*pair).ids.tolist() for pair in zip(TEXTS, seconds, strict=True)
    ]


@pytest.mark.parametrize("texts", ["what?", TEXTS[::-1]])
def test_pairs_stay_together_in_tables_too(ask: Ask, texts: str | list[str]) -> None:
    pytest.importorskip("pyarrow")
    options: Any = {"text_pair": TEXTS, "max_length": 30, "truncation": "only_second", "stride": 1}
    rows = ask(Client.encode_batch(texts, **options))
    table = ask(Client.encode_arrow(texts, **options))
    assert table.column("ids").to_pylist() == [row.ids for row in rows]
    assert table.column("overflow_of").to_pylist() == [row.overflow_of for row in rows]
    assert {row.overflow_of for row in rows} == {*range(len(TEXTS))}


def test_tables_of_arrow_are_joined(ask: Ask, framed: Tokenizer) -> None:
    pytest.importorskip("pyarrow")
    table = ask(Client.encode_arrow(TEXTS, add_special_tokens=False))
    assert table.column("ids").to_pylist() == [framed.encode(text).tolist() for text in TEXTS]


def test_an_error_names_the_row_of_the_whole_batch(ask: Ask, framed: Tokenizer) -> None:
    literal = next(iter(framed.special_tokens))
    with pytest.raises(ReservedLiteral) as reserved:
        ask(Client.encode_batch([*TEXTS[:13], f"a{literal}", *TEXTS]))
    assert reserved.value.place["field"] == "text[13]"
    with pytest.raises(UnknownTokenId) as unknown:
        ask(Client.decode_batch([[1]] * 9 + [[1, 10**6]]))
    assert unknown.value.place["field"] == "ids[9][1]"
    with pytest.raises(InvalidUnicode) as surrogate:
        ask(Client.encode_batch([*TEXTS, "\ud800"]))
    assert surrogate.value.place["field"] == f"text[{len(TEXTS)}]"
    with pytest.raises(Refused) as wrong:
        ask(Client.encode_batch([*TEXTS, 5]))  # type: ignore[list-item]
    assert wrong.value.path == f"text[{len(TEXTS)}]"


def test_one_row_that_is_too_much_is_refused(ask: Ask) -> None:
    with pytest.raises(TooLarge) as caught:
        ask(Client.encode_batch(["a", "b" * 10_000, "c"]))
    assert caught.value.code == "body_too_large"


def test_rows_that_are_padded_to_the_longest_are_one_request(ask: Ask) -> None:
    with pytest.raises(TooLarge):
        ask(Client.encode_batch(TEXTS, padding="longest", pad_token="<|im_end|>"))


@given(sizes=st.lists(st.integers(0, divided.PART_SIZE + 9), max_size=40), most=st.integers(1, 9))
def test_parts_are_as_few_as_their_bounds_allow(sizes: list[int], most: int) -> None:
    bounds = divided.Rows(sizes, lambda start, end: None, list, most).bounds()  # type: ignore[arg-type, return-value]
    assert (bounds[0], bounds[-1]) == (0, len(sizes))
    for start, end in pairwise(bounds):
        assert end - start <= most
        assert sum(sizes[start:end]) <= divided.PART_SIZE or end - start == 1
        if end < len(sizes):
            assert end - start == most or sum(sizes[start : end + 1]) > divided.PART_SIZE


def test_a_large_batch_is_divided_before_it_is_sent() -> None:
    sizes: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        import orjson

        texts = orjson.loads(request.content)["text"]
        sizes.append(sum(map(len, texts)))
        return httpx.Response(200, json={"tokenizer": "sha256:0", "count": [len(text) for text in texts]})

    with Client(transport=httpx.MockTransport(answer)) as client:
        counts = [row.count for row in client.count_batch(["a" * 400_000] * 7)]
    assert counts == [400_000] * 7
    assert len(sizes) > 1
    assert max(sizes) <= divided.PART_SIZE


def test_an_array_of_rows_is_divided(server: Server) -> None:
    with Client(server.url) as client:
        assert len(client.decode_batch(np.ones((11, 2), np.int64))) == 11  # type: ignore[arg-type]
