"""What is answered where it is read is answered as a task would, whatever the bytes are and however they come."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.auth.keys import entry, new_key
from tests.service.conftest import MakeClient
from tests.support.connection import (
    COMMON,
    FOX,
    JSON,
    LIMITS,
    Caller,
    chunked,
    request,
    told,
)

ORDINARY = [request(json.dumps(body).encode(), line=b"POST %b HTTP/1.1" % path.encode()) for path, body in COMMON]
UNUSUAL = [
    request(b'{"text":1}'),
    request(b"{"),
    request(b""),
    request(b'{"text":"<|bos|>"}'),
    request(b'{"text":"a","padding":"longest","pad_to_multiple_of":8,"return":["ids","attention_mask"]}'),
    request(b'{"text":"a","tokenizer":"nobody"}'),
    request(b'{"text":"' + b"fox " * 500 + b'"}'),
    request(b'{"text":"' + b"fox " * 2000 + b'"}'),
    request(b'{"messages":[{"role":"user","content":"the fox"}]}'),
    request(headers=b""),
    request(headers=b"content-type: text/plain\r\n"),
    request(headers=b"content-type: application/json; charset=utf-8\r\n"),
    request(headers=b"content-type: application/json; charset=latin-1\r\n"),
    request(headers=JSON + b"content-type: text/plain\r\n"),
    request(headers=JSON + b"accept: application/octet-stream\r\n"),
    request(headers=JSON + b"accept: text/html\r\n"),
    request(headers=JSON + b"accept: */*\r\n"),
    request(headers=JSON + b"accept: application/json, text/plain, */*\r\n"),
    request(headers=JSON + b"content-encoding: gzip\r\n"),
    request(headers=JSON + b"authorization: Bearer nobody\r\n"),
    request(headers=JSON + b"upgrade: h2c\r\nconnection: upgrade\r\n"),
    request(headers=JSON + b"expect: 100-continue\r\n"),
    request(line=b"POST /encode?text=1 HTTP/1.1"),
    request(line=b"POST /%65ncode HTTP/1.1"),
    request(line=b"POST http://x/encode HTTP/1.1"),
    request(line=b"POST /nowhere HTTP/1.1"),
    request(line=b"PUT /encode HTTP/1.1"),
    request(b"", line=b"GET /healthz HTTP/1.1"),
    b"\r\n" + request(),
    chunked(FOX[:9], FOX[9:]),
    chunked(FOX, trailer=b"content-type: text/plain\r\n"),
]
LAST = [
    request(headers=JSON + b"connection: close\r\n"),
    request(line=b"POST /encode HTTP/1.0"),
    request(line=b"POST /encode HTTP/1.0", headers=JSON + b"connection: keep-alive\r\n"),
    request(line=b"post /encode HTTP/1.1"),
    request(length=b"content-length: 30\r\ncontent-length: 31\r\n"),
    request(length=b"content-length: 30\r\ntransfer-encoding: chunked\r\n"),
    request(length=b"content-length: +30\r\n"),
    request(length=b"content-length : 30\r\n"),
    request(length=b"content-length: 5000\r\n"),
    request(length=b"content-length: 40\r\n"),
    request(length=b""),
    request(b"1e\r\n" + FOX + b"\r\n0\r\n\r\n", length=b"transfer-encoding: gzip, chunked\r\n"),
    request(headers=JSON + b"x: " + b"y" * 70_000 + b"\r\n"),
    chunked(FOX).replace(b"1e;", b"xe;"),
    chunked(FOX)[:-9],
]
"""After these a connection ends, or the request never does."""


@pytest.fixture(scope="module", params=["open", "guarded"])
def apps(
    request: pytest.FixtureRequest, make_client: MakeClient, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, Any, bytes]:
    """Two applications of the same settings, and the header of a key."""
    if request.param == "open":
        return make_client(**LIMITS).app, make_client(**LIMITS).app, b""
    key = new_key()
    path: Path = tmp_path_factory.mktemp("keys") / "keys.toml"
    path.write_text(entry("reader", ["encode"], key))
    guarded = [make_client(**LIMITS, keys=str(path)).app for _ in range(2)]
    return guarded[0], guarded[1], b"authorization: Bearer %b\r\n" % key.encode()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([*ORDINARY, *UNUSUAL]), max_size=4),
    st.sampled_from([b"", *ORDINARY, *LAST]),
    st.booleans(),
    st.lists(st.integers(0, 2000), max_size=4),
)
def test_answers_at_once_are_those_of_tasks_however_bytes_are_cut(
    apps: tuple[Any, Any, bytes], requests: list[bytes], last: bytes, has_key: bool, cuts: list[int]
) -> None:
    direct, by_tasks, key = apps
    with_key = b"host: localhost\r\n" + key if has_key else b"host: localhost\r\n"
    last = last.replace(b"host: localhost\r\n", with_key)
    data = b"".join(requests).replace(b"host: localhost\r\n", with_key) + last
    # What is not HTTP is refused at once, before tasks that are under way have answered; so it comes by itself.
    edges = sorted({0, len(data) - len(last), len(data), *(cut % (len(data) + 1) for cut in cuts)})
    sent = [data[start:end] for start, end in pairwise(edges)]
    fast = asyncio.run(told(direct, sent, at_once=True))
    slow = asyncio.run(told(by_tasks, sent, at_once=False))
    assert fast == slow


@pytest.mark.parametrize("sent", [*UNUSUAL, *LAST])
def test_unusual_requests_are_answered_as_by_tasks(apps: tuple[Any, Any, bytes], sent: bytes) -> None:
    direct, by_tasks, key = apps
    parts = [
        part.replace(b"host: localhost\r\n", b"host: localhost\r\n" + key) for part in (ORDINARY[0], sent + ORDINARY[1])
    ]
    fast = asyncio.run(told(direct, parts, at_once=True))
    slow = asyncio.run(told(by_tasks, parts, at_once=False))
    assert fast == slow
    assert fast[0].startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("cut", [0, 2, 30])
@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    "trailer",
    [b"content-type: text/plain", b"content-encoding: gzip", b"accept: text/html", b"host: 127.0.0.1", b"x-api-key: x"],
)
def test_what_stands_in_a_trailer_is_no_header(
    apps: tuple[Any, Any, bytes], trailer: bytes, at_once: bool, cut: int
) -> None:
    first, second, key = apps
    for line, body in (
        (b"POST /encode HTTP/1.1", FOX),
        (b"POST /encode? HTTP/1.1", FOX),
        (b"POST /tokenize HTTP/1.1", b"{"),
    ):
        sent, plain = (
            chunked(body, trailer=part).replace(b"POST /encode HTTP/1.1", line).replace(JSON, JSON + key)
            for part in (trailer + b"\r\n", b"")
        )
        found = asyncio.run(told(first, [sent[: len(sent) - cut], sent[len(sent) - cut :], request()], at_once=at_once))
        assert found == asyncio.run(told(second, [plain, request()], at_once=at_once))


@pytest.mark.parametrize("cut", [0, 2, 30])
def test_no_key_comes_in_a_trailer(apps: tuple[Any, Any, bytes], cut: int) -> None:
    first, second, key = apps
    if key:
        for shown in (key, b"x-api-key: " + key.split()[-1] + b"\r\n"):
            sent = chunked(FOX, trailer=shown)
            found = asyncio.run(told(first, [sent[: len(sent) - cut], sent[len(sent) - cut :]], at_once=True))
            assert found == asyncio.run(told(second, [chunked(FOX)], at_once=True))
            assert found[0].startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("space", [b" ", b"\t", b" \t \t"])
def test_white_space_behind_a_header_is_no_part_of_it(apps: tuple[Any, Any, bytes], space: bytes) -> None:
    first, second, key = apps
    for plain in (
        request(headers=JSON + key + b"accept: application/json\r\n"),
        request(headers=JSON + key.replace(b"authorization: Bearer", b"x-api-key:")),
        request(headers=JSON.replace(b"json", b"json; charset=utf-8") + key),
        request(line=b"POST /encode? HTTP/1.1", headers=JSON + key),
        chunked(FOX).replace(JSON, JSON + key),
    ):
        head, _, body = plain.partition(b"\r\n\r\n")
        line, *headers = head.split(b"\r\n")
        # The parser itself reads these, and takes no tab there.
        spaces = [b" " if header.startswith((b"content-length", b"transfer")) else space for header in headers]
        sent = b"\r\n".join([line, *map(bytes.__add__, headers, spaces), b"", body])
        for at_once in (True, False):
            found = asyncio.run(told(first, [sent], at_once=at_once))
            assert found == asyncio.run(told(second, [plain], at_once=at_once))
            assert found[0].startswith(b"HTTP/1.1 200 ")


OFFER = b"Upgrade: h2c\r\nConnection: Upgrade\r\n"
OFFERED = [
    request(),
    request(b"{"),
    request(line=b"POST /tokenize HTTP/1.1", body=b'{"prompt":"fox"}'),
    request(b"", line=b"GET /healthz HTTP/1.1"),
    chunked(FOX[:9], FOX[9:]),
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(OFFERED), st.booleans()), min_size=1, max_size=4),
    st.lists(st.integers(0, 1500), max_size=4),
)
def test_offers_of_another_protocol_lose_no_body_and_no_request_behind_them(
    apps: tuple[Any, Any, bytes], requests: list[tuple[bytes, bool]], cuts: list[int]
) -> None:
    offered, expected, key = apps
    plain = b"".join(sent for sent, _ in requests).replace(JSON, JSON + key)
    data = b"".join(sent.replace(JSON, JSON + OFFER * has_offer + key) for sent, has_offer in requests)
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    parts = [data[start:end] for start, end in pairwise(edges)]
    for at_once in (True, False):
        found = asyncio.run(told(offered, parts, at_once=at_once))
        assert found[0].count(b"HTTP/1.1 ") == len(requests)
        assert found == asyncio.run(told(expected, [plain], at_once=at_once))


def test_offer_of_another_protocol_is_ignored_wherever_its_head_is_cut(make_client: MakeClient) -> None:
    app = make_client(**LIMITS).app
    data = request(headers=JSON + OFFER) + request()
    expected = asyncio.run(told(app, [request() * 2], at_once=True))[0]
    for cut in range(len(data)):
        assert asyncio.run(told(app, [data[:cut], data[cut:]], at_once=True))[0] == expected


AXIOS = request(headers=JSON + b"accept: application/json, text/plain, */*\r\n")


@pytest.mark.parametrize("sent", [*ORDINARY, AXIOS])
def test_ordinary_requests_are_answered_before_the_next_bytes_are_read(make_client: MakeClient, sent: bytes) -> None:
    app = make_client().app

    async def story() -> None:
        caller = Caller(app)
        caller.protocol.data_received(sent)
        assert caller.transport.written.startswith(b"HTTP/1.1 200 OK\r\n")
        assert not caller.state.tasks
        assert caller.state.total_requests == 1
        await caller.leave()

    asyncio.run(story())
