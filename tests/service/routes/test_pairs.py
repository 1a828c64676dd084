"""Pairs of texts over HTTP: what ``Tokenizer.encode_pair`` gives, padded, placed and counted."""

from __future__ import annotations

from typing import Any

import httpx
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from service.client import Client
from service.http import media
from service.schemas.answers import EncodeAnswer, OffsetsAnswer
from tests.service.conftest import MakeClient, RunServer
from tests.service.problems import assert_problem
from tests.support.tokenizers import SPECIALS
from tokenizer_core import EncodedPair, Tokenizer

TEXTS = ["the quick brown fox", "", "naïve 🙂", "a fox"]
SECONDS = ["the lazy dog", "dog", "", "the brown wood and the dog"]


def nulls(pair: EncodedPair) -> list[int | None]:
    return [None if value < 0 else value for value in pair.sequence_ids.tolist()]


def test_pairs_have_type_and_sequence_ids_of_themselves(client: TestClient, framed: Tokenizer) -> None:
    many = client.post("/encode", json={"text": TEXTS, "text_pair": SECONDS}).json()
    EncodeAnswer.model_validate(many)
    for index, (text, second) in enumerate(zip(TEXTS, SECONDS, strict=True)):
        pair = framed.encode_pair(text, second)
        expected = {
            "tokenizer": framed.hash,
            "ids": pair.ids.tolist(),
            "count": len(pair.ids),
            "type_ids": pair.type_ids.tolist(),
            "sequence_ids": nulls(pair),
        }
        assert client.post("/encode", json={"text": text, "text_pair": second}).json() == expected
        assert {name: values if name == "tokenizer" else values[index] for name, values in many.items()} == expected
        counted = client.post("/count", json={"text": text, "text_pair": second}).json()
        assert counted == {"tokenizer": framed.hash, "count": len(pair.ids)}
    counts = client.post("/count", json={"text": TEXTS, "text_pair": SECONDS, "add_special_tokens": False}).json()
    assert counts["count"] == [
        len(framed.encode(text)) + len(framed.encode(second)) for text, second in zip(TEXTS, SECONDS, strict=True)
    ]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("truncation", ["longest_first", "only_first", "only_second"])
def test_pairs_are_cut_and_padded(client: TestClient, framed: Tokenizer, truncation: Any, side: Any) -> None:
    parts = ["ids", "count", "attention_mask", "special_tokens_mask", "position_ids", "labels", "tokens"]
    parts += ["type_ids", "sequence_ids", "spans", "truncated"]
    pairs = [("the quick brown fox", "dog"), ("a fox", "the quick brown fox and the dog"), ("fox", "dog")]
    wholes = [framed.encode_pair(*pair) for pair in pairs]
    length = max(len(framed.encode_pair("fox", "the quick brown fox and the dog").ids), 8)
    options = {"max_length": length, "truncation": truncation, "truncation_side": side}
    body = {"text": [first for first, _ in pairs], "text_pair": [second for _, second in pairs], **options}
    answer = client.post("/encode", json={**body, "padding": "max_length", "return": parts}).json()
    EncodeAnswer.model_validate(answer)
    for index, whole in enumerate(wholes):
        pair = framed.encode_pair(*pairs[index], unit="char", **options)
        left = length - len(pair.ids)
        assert answer["count"][index] == len(pair.ids) <= length
        assert answer["ids"][index] == pair.ids.tolist() + [framed.pad_id] * left
        assert answer["attention_mask"][index] == [1] * len(pair.ids) + [0] * left
        assert answer["special_tokens_mask"][index] == pair.special_tokens_mask().tolist() + [1] * left
        assert answer["type_ids"][index] == pair.type_ids.tolist() + [0] * left
        assert answer["sequence_ids"][index] == nulls(pair) + [None] * left
        assert pair.spans is not None
        assert answer["spans"][index] == pair.spans.tolist() + [[0, 0]] * left
        cuts = answer["truncated"][index]
        removed = [0 if cut is None else cut["count"] for cut in cuts or [None, None]]
        assert sum(removed) == len(whole.ids) - len(pair.ids)
        assert removed == list(pair.removed)
        for cut, text in zip(cuts or (), pairs[index], strict=False):
            if cut is not None:
                start, end = cut["span"]
                assert cut["side"] == side
                assert (end == len(text)) if side == "right" else (start == 0)


def test_offsets_of_pairs_are_in_their_own_text(client: TestClient, framed: Tokenizer) -> None:
    for unit in ("byte", "char", "utf16"):
        body = {"text": "naïve 🙂", "text_pair": "the 🙂 fox", "unit": unit, "tokens": True}
        answer = client.post("/offsets", json=body).json()
        OffsetsAnswer.model_validate(answer)
        pair = framed.encode_pair("naïve 🙂", "the 🙂 fox", unit=unit)
        assert pair.spans is not None
        assert answer["ids"] == pair.ids.tolist()
        assert answer["spans"] == pair.spans.tolist()
        assert answer["sequence_ids"] == nulls(pair)
        assert answer["type_ids"] == pair.type_ids.tolist()
        assert len(answer["tokens"]) == len(answer["ids"])


def test_a_text_alone_has_type_ids_if_asked(client: TestClient, framed: Tokenizer) -> None:
    body = {"text": ["a fox", ""], "return": ["ids", "type_ids", "sequence_ids"], "padding": "longest"}
    answer = client.post("/encode", json=body).json()
    alone = framed.encode_pair("a fox", None)
    assert answer["ids"][0] == alone.ids.tolist() == framed.encode("a fox", add_special_tokens=True).tolist()
    assert answer["type_ids"][0] == [0] * len(alone.ids)
    assert answer["sequence_ids"][1][:2] == [None, None]


def test_many_and_long_pairs_leave_the_event_loop_and_are_equal(client: TestClient, framed: Tokenizer) -> None:
    texts, seconds = ["a fox"] * 300, ["the dog " * 50] * 300
    answer = client.post("/encode", json={"text": texts, "text_pair": seconds, "return": ["ids"]}).json()
    assert answer["ids"] == [framed.encode_pair("a fox", seconds[0]).ids.tolist()] * 300


def test_pairs_travel_as_bytes(client: TestClient) -> None:
    answer = client.post("/encode", json={"text": ["a fox"], "text_pair": ["dog"]}, headers={"accept": media.OCTETS})
    assert (answer.status_code, answer.headers["content-type"]) == (200, media.OCTETS)


def stream(texts: list[str], seconds: list[str | None], options: str = "{}") -> bytes:
    schema = pa.schema([("text", pa.string()), ("text_pair", pa.string())], metadata={"tokd": options})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.table([texts, seconds], schema=schema), max_chunksize=3)
    return bytes(sink.getvalue().to_pybytes())


def test_pairs_are_columns_of_arrow(client: TestClient) -> None:
    body = {"text": TEXTS, "text_pair": SECONDS, "max_length": 6}
    expected = client.post("/encode", json=body).json()
    bulk = stream(TEXTS, SECONDS, '{"max_length": 6}')
    for sent in ({"json": body}, {"content": bulk, "headers": {"content-type": media.ARROW}}):
        headers = {**sent.get("headers", {}), "accept": media.ARROW}
        answer = client.post("/encode", **{**sent, "headers": headers})
        assert answer.headers["content-type"] == media.ARROW, answer.text
        found = pa.ipc.open_stream(answer.content).read_all()
        assert found.column_names == ["ids", "count", "type_ids", "sequence_ids"]
        assert {name: found.column(name).to_pylist() for name in found.column_names} == {
            name: expected[name] for name in found.column_names
        }


def test_second_texts_of_arrow_are_checked(client: TestClient) -> None:
    def post(body: bytes) -> httpx.Response:
        return client.post("/encode", content=body, headers={"content-type": media.ARROW})

    assert_problem(post(stream(["a", "b"], ["c", None])), "invalid_type", "text_pair[1]")
    twice = post(stream(["a"], ["c"], '{"text_pair": ["b"]}'))
    assert assert_problem(twice, "invalid_option", "text_pair")["detail"].endswith("the column text_pair")


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("/count", {"text": "a", "text_pair": ["b"]}, "invalid_type", "text_pair"),
    ("/encode", {"text": ["a"], "text_pair": "b"}, "invalid_type", "text_pair"),
    ("/count", {"text": ["a", "b"], "text_pair": ["b"]}, "invalid_value", "text_pair"),
    ("/offsets", {"text": [], "text_pair": ["b"]}, "invalid_value", "text_pair"),
    ("/encode", {"text": "a", "text_pair": 1}, "invalid_type", "text_pair"),
    ("/encode", {"text_pair": "b"}, "missing_field", "text"),
    ("/encode", {"messages": [{"role": "user", "content": "a"}], "text_pair": "b"}, "invalid_option", "text_pair"),
    ("/offsets", {"messages": [{"role": "user", "content": "a"}], "text_pair": "b"}, "invalid_option", "text_pair"),
    ("/encode", {"text": "a", "text_pair": f"b{SPECIALS[3]}"}, "reserved_literal", "text_pair"),
    ("/encode", {"text": ["a", "b"], "text_pair": ["b", SPECIALS[3]]}, "reserved_literal", "text_pair[1]"),
    ("/count", {"text": ["a", "b"], "text_pair": ["b", SPECIALS[3]]}, "reserved_literal", "text_pair[1]"),
    ("/count", {"text": ["a", SPECIALS[3]], "text_pair": ["b", "b"]}, "reserved_literal", "text[1]"),
    ("/offsets", {"text": ["a", SPECIALS[3]], "text_pair": ["b", "b"]}, "reserved_literal", "text[1]"),
    ("/offsets", {"text": ["a", "b"], "text_pair": ["b", SPECIALS[3]]}, "reserved_literal", "text_pair[1]"),
    ("/encode", {"text": "a", "text_pair": "b", "max_length": 1}, "invalid_option", "max_length"),
    ("/encode", {"text": "a", "truncation": "only_second"}, "invalid_option", "truncation"),
    (
        "/encode",
        {"text": "a", "text_pair": "the fox", "max_length": 3, "truncation": "only_first"},
        "invalid_option",
        "truncation",
    ),
    (
        "/encode",
        {"text": "a", "text_pair": ["b", "the fox the fox"], "max_length": 4, "truncation": "only_first"},
        "invalid_option",
        "text_pair[1]",
    ),
    ("/encode", {"text": "a", "text_pair": "b", "truncation": "longest"}, "invalid_value", "truncation"),
    ("/encode", {"text": "a", "text_pair": "b", "return": ["assistant_mask"]}, "invalid_option", "return"),
    ("/encode", {"messages": [{"role": "user", "content": "a"}], "return": ["type_ids"]}, "invalid_option", "return"),
    ("/offsets", {"text": "a", "text_pair": "b", "target_spans": [[0, 1]]}, "invalid_option", "target_spans"),
]


@pytest.mark.parametrize(("route", "body", "code", "path"), REFUSED)
def test_what_is_wrong_with_a_pair_is_named(
    client: TestClient, route: str, body: dict[str, Any], code: str, path: str
) -> None:
    problem = assert_problem(client.post(route, json=body), code, path)
    if code == "reserved_literal":
        assert problem["literal"] == SPECIALS[3]


def test_more_second_texts_than_the_limit_are_refused(make_client: MakeClient) -> None:
    body = {"text": ["a"] * 4, "text_pair": ["b"] * 4}
    client = make_client(max_items=3)
    assert client.post("/encode", json=body).status_code == 413
    assert client.post("/encode", json={**body, "text": ["a"] * 3}).status_code == 413


def test_a_client_sends_pairs_to_a_real_server(run_server: RunServer, framed: Tokenizer) -> None:
    with run_server() as server, Client(server.url) as tokd:
        pair = framed.encode_pair("a fox", "the lazy dog", max_length=5, truncation="only_second")
        found = tokd.encode("a fox", text_pair="the lazy dog", max_length=5, truncation="only_second")
        assert (found.ids, found.type_ids, found.sequence_ids) == (
            pair.ids.tolist(),
            pair.type_ids.tolist(),
            nulls(pair),
        )
        assert [each.count for each in tokd.count_batch(["a"], text_pair=["b"])] == [framed.count_pair("a", "b")]
        assert tokd.offsets("a", text_pair="b").sequence_ids == nulls(framed.encode_pair("a", "b"))
