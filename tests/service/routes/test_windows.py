"""``stride`` of ``/encode``: rows over a long text are those of the library, in every format of an answer."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest

from service.client import Client
from service.schemas.requests import EncodeRequest
from tests.service.conftest import MakeClient, RunServer
from tokenizer_core import InvalidOption, Tokenizer

TEXTS = ["the quick brown fox jumps over the lazy dog " * 9, "short", ""]


@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_are_those_of_the_library(make_client: MakeClient, side: str) -> None:
    base = Tokenizer.open("artifacts/base")
    expected = base.encode_pair_batch(TEXTS, None, max_length=16, stride=4, truncation_side=side, unit="char")
    asked = {"text": TEXTS, "tokenizer": "base", "max_length": 16, "stride": 4, "truncation_side": side}
    with make_client(artifacts=("artifacts/base",)) as client:
        plain = client.post("/encode", json=asked).json()
        parts = ["ids", "spans", "overflow_of", "special_tokens_mask", "type_ids"]
        full = client.post("/encode", json={**asked, "return": parts}).json()
        arrow = {"accept": "application/vnd.apache.arrow.stream"}
        table = client.post("/encode", json={**asked, "return": ["ids", "overflow_of"]}, headers=arrow)
    assert plain.keys() == {"tokenizer", "ids", "count", "overflow_of"}
    assert plain["ids"] == full["ids"] == [row.ids.tolist() for row in expected]
    assert plain["overflow_of"] == full["overflow_of"] == [row.overflow_of for row in expected]
    assert full["spans"] == [np.asarray(row.spans).tolist() for row in expected]
    rows = pa.ipc.open_stream(io.BytesIO(table.content)).read_all().to_pydict()
    assert rows == {"ids": plain["ids"], "overflow_of": plain["overflow_of"]}


def test_one_text_has_rows_and_they_can_be_padded(make_client: MakeClient) -> None:
    asked = {"text": TEXTS[0], "max_length": 16, "stride": 0, "padding": "max_length", "pad_token": "<|pad|>"}
    with make_client(artifacts=("artifacts/base",)) as client:
        answer = client.post("/encode", json={**asked, "return": ["ids", "attention_mask"]}).json()
    assert {len(row) for row in answer["ids"]} == {16}
    assert sum(map(sum, answer["attention_mask"])) == Tokenizer.open("artifacts/base").count(TEXTS[0])


def test_windows_of_a_pair_have_the_whole_other_text(make_client: MakeClient) -> None:
    asked = {"text": "what?", "text_pair": TEXTS[0], "max_length": 20, "stride": 5, "truncation": "only_second"}
    with make_client() as client:
        rows = client.post("/encode", json=asked).json()
        first = client.post("/encode", json={"text": "what?", "add_special_tokens": False}).json()["ids"]
    assert len(rows["ids"]) > 3
    for ids, sequence in zip(rows["ids"], rows["sequence_ids"], strict=True):
        assert [id for id, of in zip(ids, sequence, strict=True) if of == 0] == first


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"stride": 3}, "stride"),
        ({"stride": 3, "max_length": 3}, "stride"),
        ({"stride": 1, "max_length": 9, "text_pair": "b " * 99}, "truncation"),
        ({"stride": 998, "max_length": 1000, "text": "the " * 200_000}, "stride"),
        # Few ids, but as many rows.
        ({"stride": 0, "max_length": 1, "text": "the " * 5_000}, "stride"),
        ({"stride": 1, "max_length": 9, "dropout": 0.5, "seed": 1}, "stride"),
        ({"stride": 1, "max_length": 9, "messages": [{"role": "user", "content": "a"}]}, "stride"),
    ],
)
def test_rows_that_cannot_be_are_refused_at_the_option(make_client: MakeClient, asked: dict, path: str) -> None:
    with make_client(artifacts=("artifacts/base",), max_ids=100_000) as client:
        answer = client.post("/encode", json=asked if "messages" in asked else {"text": TEXTS[0]} | asked)
    assert (answer.status_code, answer.json()["code"], answer.json()["path"]) == (422, "invalid_option", path)


def test_windows_are_made_in_a_thread_however_short_the_text() -> None:
    # Each id may become a row.
    assert EncodeRequest(text="fox", max_length=2, stride=1).heavy()
    assert not EncodeRequest(text="fox", max_length=2).heavy()


def test_the_client_divides_windows_and_numbers_their_texts_over_all(run_server: RunServer) -> None:
    texts = TEXTS * 100
    with run_server(artifacts=("artifacts/base",), max_items=100, max_ids=10_000) as server, Client(server.url) as tokd:
        # One text has 8 rows, each counted as 64 ids: 19 texts of this length are a request.
        rows = tokd.encode_batch(texts, max_length=16, stride=4)
        table = tokd.encode_arrow(texts, max_length=16, stride=4)
        with pytest.raises(InvalidOption, match="too many ids"):
            tokd.encode_batch(["the " * 5_000], max_length=1, stride=0)
    expected = Tokenizer.open("artifacts/base").encode_pair_batch(texts, None, max_length=16, stride=4)
    assert [(row.ids, row.overflow_of) for row in rows] == [(row.ids.tolist(), row.overflow_of) for row in expected]
    assert table.column("ids").to_pylist() == [row.ids for row in rows]
    assert table.column("overflow_of").to_pylist() == [row.overflow_of for row in rows]
