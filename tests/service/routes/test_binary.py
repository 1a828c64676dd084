"""Answers as bare bytes and Arrow, bodies as Arrow: the same ids as in JSON, and nothing hostile is believed."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.errors import ServiceError
from service.http import media
from service.http.media import ROW_LENGTHS
from service.http.response_arrow import OPTIONS, _field
from service.http.response_binary import MAX_ROWS, TEMPLATE, TOKENIZER
from tests.service.conftest import TEXTS, MakeClient
from tests.service.problems import assert_problem
from tokenizer_core import Tokenizer

OFFERS = (media.JSON, media.OCTETS, media.ARROW)


def stream(texts: Any, options: dict[str, Any] | None = None, *, type_: Any = None, **how: Any) -> bytes:
    """Write texts as a caller does; ``how`` goes to pyarrow's writer."""
    metadata = {} if options is None else {OPTIONS: json.dumps(options).encode()}
    column = pa.array(texts, type_ or pa.string())
    sink = io.BytesIO()
    schema = pa.schema([("text", column.type)], metadata=metadata)
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(**how)) as writer:
        for start in range(0, max(1, len(texts)), 3):
            writer.write_batch(pa.record_batch([column[start : start + 3]], schema=schema))
    return sink.getvalue()


def post(
    client: TestClient, body: bytes | dict[str, Any], accept: str = "*/*", path: str = "/encode"
) -> httpx.Response:
    if isinstance(body, dict):
        return client.post(path, json=body, headers={"accept": accept})
    return client.post(path, content=body, headers={"content-type": media.ARROW, "accept": accept})


def table(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == media.ARROW
    return pa.ipc.open_stream(answer.content).read_all()


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", media.JSON),
        (" ", media.JSON),
        ("*/*", media.JSON),
        ("application/*", media.JSON),
        ("text/html,application/xhtml+xml,*/*;q=0.8", media.JSON),
        (media.OCTETS, media.OCTETS),
        (f"{media.OCTETS}, */*", media.OCTETS),
        (f"{media.OCTETS};q=0.5, {media.ARROW};q=0.9", media.ARROW),
        (f"*/*, {media.JSON};q=0", media.OCTETS),
        (f"{media.OCTETS.upper()} ; Q=1.0", media.OCTETS),
        (f"{media.JSON};q=0.1,application/*;q=0.5", media.OCTETS),
        ("text/html", None),
        ("*/*;q=0", None),
        (f"{media.OCTETS};q=nan", None),
        (f"{media.OCTETS};q=-1", None),
        (f"{media.OCTETS};q=1e999", None),
        (f"{media.OCTETS}," * 1000, None),
    ],
)
def test_accept_is_negotiated_with_weights(accept: str, chosen: str | None) -> None:
    headers = [(b"accept", accept.encode())]
    if chosen is not None:
        assert media.wanted(headers, OFFERS) == chosen
        return
    with pytest.raises(ServiceError) as refused:
        media.wanted(headers, OFFERS)
    assert refused.value.code == "not_acceptable"


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_any_accept_is_read_or_refused(accept: str) -> None:
    with suppress(ServiceError):
        assert media.wanted([(b"accept", accept.encode())], OFFERS) in OFFERS


def test_two_accept_headers_are_one() -> None:
    headers = [(b"accept", b"text/html"), (b"accept", media.OCTETS.encode())]
    assert media.wanted(headers, OFFERS) == media.OCTETS


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(st.sampled_from(TEXTS), st.text(max_size=20)), max_size=7), st.booleans())
def test_every_form_holds_the_same_ids(client: TestClient, framed: Tokenizer, texts: list[str], framing: bool) -> None:
    options = {"add_special_tokens": framing, "special_tokens": "text", "tokenizer": "framed"}
    asked = {"text": texts, **options}
    plain = post(client, asked).json()
    bare = post(client, asked, media.OCTETS)
    lengths = [int(length) for length in bare.headers[ROW_LENGTHS].split(",") if length]
    ids = np.frombuffer(bare.content, "<u4")
    assert [row.tolist() for row in np.split(ids, np.cumsum(lengths)[:-1])] == plain["ids"] or not texts
    assert (lengths, bare.headers[TOKENIZER]) == (plain["count"], plain["tokenizer"])
    parts = {**options, "return": ["ids", "spans", "count"]}
    for body in (stream(texts, parts), stream(texts, parts, type_=pa.large_string()), {"text": texts, **parts}):
        found = table(post(client, body, media.ARROW))
        assert found.schema.field("ids").type == pa.list_(pa.uint32())
        assert found.schema.metadata[b"tokenizer"].decode() == framed.hash
        expected = post(client, {"text": texts, **parts}).json()
        assert {name: found.column(name).to_pylist() for name in ("ids", "spans", "count")} == {
            name: expected[name] for name in ("ids", "spans", "count")
        }
    assert post(client, stream(texts, options)).json() == plain


def test_one_text_is_bare_ids(client: TestClient, bare: Tokenizer) -> None:
    answer = post(client, {"text": TEXTS[1], "tokenizer": "bare"}, media.OCTETS)
    assert answer.headers["content-type"] == media.OCTETS
    assert ROW_LENGTHS not in answer.headers
    assert np.frombuffer(answer.content, "<u4").tolist() == bare.encode(TEXTS[1]).tolist()
    assert post(client, {"text": "", "tokenizer": "bare"}, media.OCTETS).content == b""


def test_shaped_rows_and_chats_have_binary_forms_too(client: TestClient) -> None:
    shaped = {"text": list(TEXTS), "max_length": 8, "padding": "longest", "return": ["ids"]}
    ids = post(client, shaped).json()["ids"]
    answer = post(client, shaped, media.OCTETS)
    assert answer.headers[ROW_LENGTHS] == "8,8,8"
    assert np.frombuffer(answer.content, "<u4").reshape(3, 8).tolist() == ids
    assert table(post(client, shaped, media.ARROW)).column("ids").to_pylist() == ids
    chat = {"messages": [{"role": "user", "content": "the fox"}]}
    plain, bare = post(client, chat).json(), post(client, chat, media.OCTETS)
    assert np.frombuffer(bare.content, "<u4").tolist() == plain["ids"]
    assert (bare.headers[TOKENIZER], bare.headers[TEMPLATE]) == (plain["tokenizer"], plain["template"])
    found = table(post(client, chat, media.ARROW))
    assert found.column("ids").to_pylist() == [plain["ids"]]
    assert found.schema.metadata[b"template"].decode() == plain["template"]
    assert TEMPLATE not in answer.headers


def test_what_a_form_cannot_hold_is_refused(client: TestClient) -> None:
    asked = {"text": "a", "return": ["ids", "tokens"]}
    assert_problem(post(client, asked, media.OCTETS), "invalid_option", "return")
    assert_problem(post(client, asked, media.ARROW), "invalid_option", "return")
    assert_problem(post(client, {"text": "a", "return": ["count"]}, media.OCTETS), "invalid_option", "return")
    many = post(client, {"text": ["a"] * (MAX_ROWS + 1)}, media.OCTETS)
    assert_problem(many, "too_many_items", "header accept")
    assert post(client, {"text": ["a"] * MAX_ROWS}, media.OCTETS).status_code == 200
    assert_problem(post(client, {"text": "a"}, "text/html"), "not_acceptable", "header accept")
    assert_problem(post(client, b"x", path="/count"), "unsupported_media_type", "header content-type")
    assert_problem(post(client, {"text": 1}, media.ARROW), "invalid_type", "text")


def test_options_of_a_stream_are_checked_as_those_of_json(client: TestClient) -> None:
    assert_problem(post(client, stream(["<|bos|>"])), "reserved_literal", "text[0]")
    assert_problem(post(client, stream(["a"], {"special_token": "text"})), "unknown_field", "special_token")
    assert_problem(post(client, stream(["a"], {"text": "b"})), "invalid_option", "text")
    assert_problem(post(client, stream(["a"], {"messages": []})), "invalid_option", "messages")
    assert_problem(post(client, stream(["a"], {"tokenizer": "nobody"})), "tokenizer_not_found", "tokenizer")
    assert_problem(post(client, stream(["a", None])), "invalid_type", "text[1]")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"\xff{}", "invalid_unicode"),
        (b'{"tokenizer":"a"} x', "invalid_json"),
        (b"[]", "invalid_type"),
        (b"[" * 300, "invalid_json"),
        (b"[" * 200_000, "invalid_json"),
        (b'{"' + b'a":{},"' * 100_000, "too_many_values"),
    ],
)
def test_options_that_are_no_json_are_placed_in_the_metadata(client: TestClient, options: bytes, code: str) -> None:
    schema = pa.schema([("text", pa.string())], metadata={OPTIONS: options})
    sink = io.BytesIO()
    pa.ipc.new_stream(sink, schema).close()
    refused = assert_problem(post(client, sink.getvalue()), code, "metadata tokd")
    assert refused["detail"].startswith("the options in the schema's metadata are read as a body is: ")


@pytest.mark.parametrize(("key", "status"), [("TOKD", 422), ("tokd ", 422), ("pandas", 200), ("tokdata", 200)])
def test_options_under_another_spelling_of_their_key_are_not_left_out(
    client: TestClient, key: str, status: int
) -> None:
    schema = pa.schema([("text", pa.string())], metadata={key: '{"return": ["count"]}'})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_table(pa.table([["a"]], schema=schema))
    answer = post(client, sink.getvalue())
    assert answer.status_code == status
    if status != 200:
        assert "write 'tokd'" in assert_problem(answer, "unknown_field", "metadata")["detail"]


@pytest.mark.parametrize("key", ["tokd", "pandas"])
def test_key_that_is_twice_in_the_metadata_is_refused(client: TestClient, key: str) -> None:
    metadata = pa.KeyValueMetadata([("tokd", '{"return": ["count"]}'), (key, "{}"), (key, "{}")])
    schema = pa.schema([("text", pa.string())], metadata=metadata)
    sink = io.BytesIO()
    pa.ipc.new_stream(sink, schema).close()
    assert "a key twice" in assert_problem(post(client, sink.getvalue()), "invalid_arrow")["detail"]


def test_limits_hold_for_streams(make_client: MakeClient) -> None:
    client = make_client(max_items=4, max_body_bytes=2000)
    assert post(client, stream(["a"] * 4)).status_code == 200
    assert_problem(post(client, stream(["a"] * 5)), "too_many_items", "text")
    assert_problem(post(client, stream(["a" * 3000])), "body_too_large")


HOSTILE = {
    "nothing": b"",
    "no stream": b"hello, this is no Arrow at all",
    "a huge message": b"\xff\xff\xff\xff\xff\xff\xff\x7f" + b"\0" * 64,
    "a negative message": b"\xff\xff\xff\xff\xff\xff\xff\xff" + b"\0" * 64,
    "a bomb": stream(["a" * 1_000_000], compression="zstd"),
    "another bomb": stream(["a" * 1_000_000], compression="lz4"),
    "integers": stream([1, 2], type_=pa.int64()),
    "bytes": stream([b"\xff"], type_=pa.binary()),
    "a dictionary": stream(["a", "b"], type_=pa.dictionary(pa.int8(), pa.string())),
    "nulls of no size": stream([None] * 5, type_=pa.null()),
    "another column": stream(["a"]).replace(b"text", b"tex_"),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_streams_are_refused(client: TestClient, body: bytes) -> None:
    assert_problem(post(client, body), "invalid_arrow")


def a_file(texts: list[str]) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, pa.schema([("text", pa.string())])) as writer:
        writer.write_batch(pa.record_batch({"text": texts}))
    return sink.getvalue()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (stream(["a"]) + b"x", "it ends at byte {} and the body at {}; send one stream"),
        (stream(["a"]) + stream(["b"]), "it ends at byte {} and the body at {}; send one stream"),
        (a_file(["a"]), "it is a file of Arrow; write it in the stream format"),
    ],
)
def test_no_text_behind_or_beside_the_stream_is_lost_in_silence(client: TestClient, body: bytes, why: str) -> None:
    why = why.format(len(stream(["a"])), len(body))
    assert assert_problem(post(client, body), "invalid_arrow")["detail"].endswith(f": {why}")


@pytest.mark.parametrize("how", [{}, {"use_legacy_format": True}])
def test_end_of_a_stream_may_be_told_or_not(client: TestClient, how: dict[str, Any]) -> None:
    whole, mark = stream(["a", "b"], **how), 4 if how else 8
    assert whole.endswith(bytes(4))
    for body in (whole, whole[:-mark]):
        assert post(client, body).json()["count"] == post(client, {"text": ["a", "b"]}).json()["count"]


def test_only_a_schema_is_read_as_one(client: TestClient) -> None:
    """What names itself anything else was not checked as a schema, and would be read wherever it points to."""
    body = bytearray(stream(["a"]))
    metadata = bytes(body[8:])
    kind = _field(metadata, int.from_bytes(metadata[:4], "little"), 1)
    assert kind is not None
    assert metadata[kind] == 1
    body[8 + kind] = 99
    for other in (bytes(body), bytes(body[8 + int.from_bytes(body[4:8], "little") :])):
        problem = assert_problem(post(client, other), "invalid_arrow")
        assert problem["detail"].endswith(": it does not begin with a schema")


LONG = "a text that is longer than what a view holds by itself"


@pytest.mark.parametrize("type_", [pa.large_string(), pa.string_view()])
def test_every_way_to_lay_text_out_gives_the_same(client: TestClient, type_: Any) -> None:
    texts = ["", "fox", LONG, "naïve", LONG * 3, "b"]
    assert post(client, stream(texts, type_=type_)).json() == post(client, stream(texts)).json()
    assert_problem(post(client, stream(["a", None], type_=type_)), "invalid_type", "text[1]")


def test_views_that_overlap_are_refused_before_they_are_text(client: TestClient) -> None:
    whole = pa.array(["x" * 100_000], pa.string_view())
    _, views, data = whole.buffers()
    many = pa.Array.from_buffers(pa.string_view(), 10_000, [None, pa.py_buffer(views.to_pybytes()[:16] * 10_000), data])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, pa.schema([("text", pa.string_view())])) as writer:
        writer.write_batch(pa.record_batch({"text": many}))
    assert sink.tell() < 400_000
    assert "overlap" in assert_problem(post(client, sink.getvalue()), "invalid_arrow")["detail"]


@pytest.mark.parametrize(
    ("body", "way_out"),
    [
        (stream(["a", "b"], type_=pa.dictionary(pa.int8(), pa.string())), "cast it to string"),
        (stream([b"a"], type_=pa.binary()), "has 'text': binary; cast it to string"),
        (stream(["a"], compression="zstd"), "compression=None"),
    ],
)
def test_other_forms_of_a_column_are_refused_with_the_way_out(client: TestClient, body: bytes, way_out: str) -> None:
    assert way_out in assert_problem(post(client, body), "invalid_arrow")["detail"]


def test_a_file_of_arrow_is_named_as_one(client: TestClient) -> None:
    headers = {"content-type": media.ARROW_FILE}
    answer = client.post("/encode", content=a_file(["a"]), headers=headers)
    assert media.ARROW in assert_problem(answer, "unsupported_media_type", "header content-type")["detail"]


def test_text_that_is_not_utf8_is_refused(client: TestClient) -> None:
    body = stream(["abcdefgh"])
    assert_problem(post(client, body.replace(b"abcdefgh", b"abc\xff\xfefgh")), "invalid_arrow")


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_streams_are_read_or_refused(client: TestClient, data: st.DataObject) -> None:
    """Sizes and offsets that lie, in every place: an answer, or a refusal that is the caller's fault."""
    type_ = data.draw(st.sampled_from([pa.string(), pa.string_view()]))
    body = bytearray(stream(["the quick", "brown", LONG, "jumps"], {"special_tokens": "text"}, type_=type_))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body) - 1))
        size = data.draw(st.sampled_from([1, 4, 8]))
        body[at : at + size] = data.draw(st.sampled_from([b"\xff", b"\x7f", b"\0", b"\x01"])) * size
    if data.draw(st.booleans()):
        del body[data.draw(st.integers(0, len(body))) :]
    answer = post(client, bytes(body))
    assert answer.status_code in (200, 400, 413, 422), answer.text


def test_without_pyarrow_arrow_is_refused_by_name(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.http.response_arrow.is_there", lambda: False)
    client = make_client()
    assert_problem(post(client, stream(["a"])), "unsupported_media_type", "header content-type")
    assert_problem(post(client, {"text": "a"}, media.ARROW), "not_acceptable", "header accept")
    assert post(client, {"text": "a"}, media.OCTETS).status_code == 200
