"""The kernel's answer to a body is the models' answer, byte for byte; what it does not take, the models answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from service.http.fast_path import LeftToThread
from service.http.json_body import UNCHECKED_BYTES
from service.routes.json_route import JsonRoute
from tests.service.conftest import TEXTS, MakeClient, RunServer, app_of
from tests.support.connection import COMMON, LIMITS, exchange
from tests.support.odd_json import SPACE, escaped
from tokenizer_core import Tokenizer

ROUTES = ("/encode", "/count", "/offsets", "/decode")

Ask = Callable[[str, bytes], tuple[Any, Any]]


def route_of(client: TestClient, path: str) -> JsonRoute:
    return app_of(client).json_routes[path]


def without_kernel(route: JsonRoute) -> None:
    route.json = route.json._replace(plain=None)


@pytest.fixture(scope="module")
def ask(make_client: MakeClient) -> Ask:
    """Post a body to a server whose kernel answers plain requests and to one whose models answer all."""
    fast, modelled = make_client(**LIMITS), make_client(**LIMITS)
    for path in ROUTES:
        without_kernel(route_of(modelled, path))

    def post(path: str, body: bytes) -> tuple[Any, Any]:
        answers = []
        for client in (fast, modelled):
            answer = client.post(path, content=body, headers={"content-type": "application/json"})
            answers.append((answer.status_code, sorted(answer.headers.items()), answer.content))
        return answers[0], answers[1]

    return post


_TEXT = st.one_of(
    st.sampled_from([*TEXTS, "", "<|bos|>", "a<|eos|>b", "\0\x1f\x7f\u2028", 'the fox\r\n\t"quoted" \\ /']),
    st.text(max_size=30),
)
_SMALL = st.integers(0, 420)
_ODD = st.sampled_from(
    [None, True, 0, -1, 1.0, 1e3, 2**32, 2**64, "", "x", [], {}, [[]], [None], {"a": 1}, float("nan")]
)
_REFERENCE = st.sampled_from([None, "framed", "bare", "nobody", "../x", "sha256:" + "0" * 64])
_TEXTS = st.one_of(_TEXT, st.lists(_TEXT, max_size=7))
_PARTS = st.lists(st.sampled_from(["ids", "count", "tokens", "spans", "attention_mask"]), max_size=3)
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "text": _TEXTS,
    "ids": st.one_of(st.lists(_SMALL, max_size=45), st.lists(st.lists(_SMALL, max_size=12), max_size=7)),
    "tokenizer": _REFERENCE,
    "special_tokens": st.sampled_from(["reject", "text", "parse", "ordinary"]),
    "add_special_tokens": st.booleans(),
    "skip_special_tokens": st.booleans(),
    "return": _PARTS,
    "unit": st.sampled_from(["byte", "char", "utf16", "word"]),
    "tokens": st.booleans(),
    "max_length": st.integers(0, 9),
    "truncation_side": st.sampled_from(["left", "right"]),
    "padding": st.sampled_from(["none", "longest"]),
    "messages": st.none(),
    "pending": st.sampled_from(["", "c3"]),
    "target_spans": st.sampled_from([None, [[0, 1]]]),
}
_OF_ROUTE = {
    "/encode": ("text", "tokenizer", "special_tokens", "add_special_tokens", "return", "max_length", "padding"),
    "/count": ("text", "tokenizer", "special_tokens", "add_special_tokens", "messages"),
    "/offsets": ("text", "tokenizer", "special_tokens", "add_special_tokens", "unit", "tokens", "target_spans"),
    "/decode": ("ids", "tokenizer", "skip_special_tokens", "pending"),
}


@st.composite
def _bodies(draw: Any) -> tuple[str, bytes]:
    """Write a body as any program might: fields in any order, some twice or unknown or odd, white space everywhere."""
    path = draw(st.sampled_from(ROUTES))
    own = _OF_ROUTE[path]
    names = [own[0], *draw(st.lists(st.sampled_from(own), max_size=3))]
    if draw(st.integers(0, 9)) == 0:
        names.append(draw(st.sampled_from([*_FIELDS, "Text", "text ", ""])))
    names = draw(st.permutations(names if draw(st.integers(0, 9)) == 0 else list(dict.fromkeys(names))))

    def write(value: Any) -> str:
        before, after = draw(SPACE), draw(SPACE)
        if isinstance(value, str):
            return before + escaped(value, draw) + after
        if isinstance(value, list):
            return f"{before}[{','.join(map(write, value))}]{after}"
        return before + json.dumps(value) + after

    fields = []
    for name in names:
        odd = name not in _FIELDS or draw(st.integers(0, 19)) == 0
        value = draw(_ODD if odd else _FIELDS[name])
        key = escaped(name, draw) if draw(st.integers(0, 9)) == 0 else f'"{name}"'
        fields.append(f"{draw(SPACE)}{key}{draw(SPACE)}:{write(value)}")
    body = f"{draw(SPACE)}{{{','.join(fields)}}}{draw(SPACE)}{draw(st.sampled_from([''] * 20 + ['x', ',', '{}']))}"
    data = body.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 19)) == 0:
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.sampled_from([b"", b"\xff", b"\0", b'"', b"\\", b"]"])) + data[at + 1 :]
    return path, data


@pytest.mark.slow
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(_bodies())
@example(("/encode", b""))
@example(("/encode", b'\xef\xbb\xbf{"text":"a"}'))
@example(("/encode", b'{"text":"a","text":"b"}'))
@example(("/encode", b'{"text":"a","return":["ids","ids"]}'))
@example(("/encode", b'{"text":"' + b"fox " * 500 + b'"}'))
@example(("/encode", b'{"text":"' + b"fox " * 1000 + b'"}'))
@example(("/count", b'{"text":[' + b",".join([b'"a"'] * 6) + b"]}"))
@example(("/decode", b'{"ids":[01]}'))
@example(("/decode", b'{"ids":[-0,1]}'))
@example(("/decode", b'{"ids":[1.0]}'))
@example(("/decode", b'{"ids":[4294967296]}'))
@example(("/decode", b'{"ids":[1,[2]]}'))
@example(("/decode", b'{"ids":[[1],2]}'))
@example(("/decode", b'{"ids":[]}'))
@example(("/decode", b'{"ids":[[],[]]}'))
@example(("/decode", b'{"ids":[[' + b"1," * 39 + b"1],[2]]}"))
@example(("/decode", b'{"ids":[300],"ids":[1]}'))
def test_the_kernel_answers_as_the_models_do(ask: Ask, asked: tuple[str, bytes]) -> None:
    fast, modelled = ask(*asked)
    assert fast == modelled


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(("path", "body"), COMMON)
def test_what_is_common_is_taken(client: TestClient, path: str, body: dict[str, Any], ascii_only: bool) -> None:
    route = route_of(client, path)
    data = json.dumps(body, ensure_ascii=ascii_only).encode()
    assert route.json.plain is not None
    taken = route.json.plain.answer(data, may_take_long=False)
    assert taken is not None
    modelled = route.json.answer(route.json.parse(data))
    assert (b"".join(map(bytes, taken.blocks)), *taken[1:]) == (b"".join(map(bytes, modelled.blocks)), *modelled[1:])


@pytest.mark.parametrize("path", ROUTES)
def test_long_bodies_are_answered_as_the_models_do(client: TestClient, framed: Tokenizer, path: str) -> None:
    text = "".join(TEXTS) * 900
    value = {"ids": framed.encode(text).tolist()} if path == "/decode" else {"text": [text, text[:100_000], "x"]}
    data = json.dumps(value).encode()
    assert len(data) > UNCHECKED_BYTES
    route = route_of(client, path)
    assert route.json.plain is not None
    taken, modelled = route.json.plain.answer(data, may_take_long=True), route.json.answer(route.json.parse(data))
    assert taken is not None
    assert b"".join(map(bytes, taken.blocks)) == b"".join(map(bytes, modelled.blocks))
    assert taken[1:] == modelled[1:]
    answer = client.post(path, content=data, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.content) == (200, b"".join(map(bytes, taken.blocks)))


def test_many_items_leave_the_event_loop(client: TestClient) -> None:
    """A body is left to the models, which count its items, unless its work may take long."""
    for path, value in (("/encode", {"text": ["a"] * 300}), ("/decode", {"ids": [[1]] * 300})):
        plain = route_of(client, path).json.plain
        assert plain is not None
        data = json.dumps(value).encode()
        with pytest.raises(LeftToThread):
            plain.answer(data, may_take_long=False)
        assert plain.answer(data, may_take_long=True) is not None
        answer = client.post(path, content=data, headers={"content-type": "application/json"})
        assert answer.status_code == 200


def test_what_the_kernel_answers_is_counted_and_logged_as_the_models_are(make_client: MakeClient) -> None:
    pages = []
    for fast in (True, False):
        client = make_client()
        for path, body in COMMON:
            if not fast:
                without_kernel(route_of(client, path))
            assert client.post(path, json=body).status_code == 200
        lines = client.get("/metrics").text.splitlines()
        pages.append([line for line in lines if line.startswith("tokd_") and "seconds" not in line])
    assert pages[0] == [line if "_created" not in line else fast for fast, line in zip(*pages, strict=True)]


def test_answer_in_one_write_is_the_answer_in_two_messages(run_server: RunServer) -> None:
    """A connection that ends after its answer is answered by ASGI's messages, one that stays at once."""
    with run_server(access_log=False) as server:
        address = (server.client.base_url.host, server.client.base_url.port or 0)
        for body in (b'{"text":"the quick brown fox"}', b'{"text":"fox","return":["tokens"]}', b'{"text":1}'):
            head = b"POST /encode HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            length = b"content-length: %d\r\n" % len(body)
            last = head + length + b"connection: close\r\n\r\n" + body
            one = exchange(address, last)
            many = exchange(address, (head + length + b"\r\n" + body) * 3 + last)
            assert one.count(b"HTTP/1.1 ") == 1
            assert many == one.replace(b"connection: close\r\n", b"") * 3 + one
            page = server.client.get("/metrics").text
        assert 'tokd_requests_total{code="",route="/encode",status="200"} 10.0' in page
        server.stop()
