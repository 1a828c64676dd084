"""Heads and bodies that a server on a real socket refuses, or reads in spite of their form."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.service.conftest import RunServer, Server
from tests.service.problems import assert_problem
from tests.support.raw_http import connect, head, read_answer

LIMIT = 1 << 20


JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(run_server: RunServer) -> Iterator[Server]:
    with run_server(max_body_bytes=LIMIT, body_seconds=1, max_held_bytes=64 << 20) as running:
        yield running


def test_body_that_is_declared_too_large_is_refused_unread(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(head("/encode", "content-length: 10000000000") + b'{"text":"')
        status, headers, body = read_answer(connection)
        assert (status, json.loads(body)["code"]) == (413, "body_too_large")
        assert headers["connection"] == "close"
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""


def test_caller_who_asks_before_sending_is_told_no(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(head("/encode", "content-length: 10000000000", "expect: 100-continue"))
        status, _, _ = read_answer(connection)
        assert status == 413


def test_endless_body_is_refused_after_the_limit(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(head("/encode", "transfer-encoding: chunked"))
        chunk = b"%x\r\n%b\r\n" % (1 << 16, b"x" * (1 << 16))
        for _ in range(LIMIT // (1 << 16) + 1):
            connection.sendall(chunk)
        status, _, body = read_answer(connection)
        assert (status, json.loads(body)["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("size", [LIMIT + 1, 3 * LIMIT, 40 * LIMIT])
def test_caller_of_a_large_body_reads_an_answer_and_not_a_broken_connection(server: Server, size: int) -> None:
    answer = httpx.post(f"{server.url}/encode", content=b"x" * size, headers=JSON)
    assert_problem(answer, "body_too_large")


@pytest.mark.parametrize(
    ("path", "lines", "begun"),
    [
        ("/encode", ("content-length: 100",), b""),
        ("/encode", ("content-length: 100",), b'{"text"'),
        ("/encode", ("content-length: 100", "expect: 100-continue"), b""),
        ("/encode", ("transfer-encoding: chunked",), b""),
        ("/encode", ("transfer-encoding: chunked",), b"64\r\n"),
        ("/encode", ("content-length: 100", "accept: application/vnd.apache.arrow.stream"), b""),
        ("/train-job", ("content-length: 100",), b""),
    ],
    ids=["nothing of it", "some of it", "asked for", "no chunk", "an empty chunk", "an answer in arrow", "a job"],
)
def test_body_that_does_not_come_is_given_up(server: Server, path: str, lines: tuple[str, ...], begun: bytes) -> None:
    with connect(server) as connection:
        connection.settimeout(10)
        connection.sendall(head(path, *lines) + begun)
        if lines[-1].startswith("expect"):
            assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        status, headers, body = read_answer(connection)
        assert (status, json.loads(body)["code"], headers["connection"]) == (408, "request_timeout", "close")


def test_two_lengths_are_refused(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(head("/count", "content-length: 14", "content-length: 15") + b'{"text":"fox"} ')
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
    assert server.client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "flood",
    [
        b"GET /healthz HTTP/1.1\r\nx: " + b"a" * (1 << 20),
        b"GET /healthz HTTP/1.1\r\n" + b"x: aaaaaaaaaaaa\r\n" * (1 << 16),
        b"GET /" + b"a" * (1 << 20),
        head("/count", "transfer-encoding: chunked") + b"0\r\n" + b"x: aaaaaaaaaaaa\r\n" * (1 << 16),
    ],
    ids=["one header", "many headers", "url", "trailers"],
)
def test_head_without_end_is_refused(server: Server, flood: bytes) -> None:
    with connect(server) as connection:
        sent = 0
        try:
            while sent < len(flood):
                sent += connection.send(flood[sent : sent + 65536])
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            status, headers, body = read_answer(connection)
        except ConnectionResetError:
            status = 431
        else:
            assert (json.loads(body)["code"], headers["connection"]) == ("head_too_large", "close")
        assert status == 431
    assert server.client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "bytes_", [b"\0\1\2\3\r\n\r\n", b"hello\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", "GET /🙂 HTTP/1.1\r\n\r\n".encode()]
)
def test_what_is_no_http_gets_a_problem_too(server: Server, bytes_: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(bytes_)
        status, headers, body = read_answer(connection)
        assert (status, json.loads(body)["code"]) == (400, "invalid_http")
        assert headers["content-type"] == "application/problem+json"
        assert connection.recv(1) == b""


def test_offer_of_another_protocol_is_ignored_and_the_body_is_not_lost(server: Server) -> None:
    body = b'{"text":"fox\\r\\nUpgrade: me"}'
    offers = ("connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    request = head("/count", f"content-length: {len(body)}", *offers) + body
    with connect(server) as connection:
        for _ in range(2):
            connection.sendall(request)
            status, _, answer = read_answer(connection)
            assert status == 200, answer
            assert json.loads(answer) == server.client.post("/count", content=body, headers=JSON).json()


def test_length_and_chunks_at_once_are_refused(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(head("/count", "content-length: 5", "transfer-encoding: chunked") + b"0\r\n\r\n")
        assert read_answer(connection)[0] == 400


@pytest.mark.parametrize("coding", ["gzip, chunked", "identity, chunked", "gzip\r\ntransfer-encoding: chunked"])
def test_transfer_coding_other_than_chunked_is_refused(server: Server, coding: str) -> None:
    body = b'{"text":"fox"}'
    with connect(server) as connection:
        connection.sendall(
            head("/count", f"transfer-encoding: {coding}") + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        )
        status, headers, answer = read_answer(connection)
        assert (status, json.loads(answer)["code"]) == (501, "unsupported_transfer_coding")
        assert headers["connection"] == "close"
        assert connection.recv(1) == b""


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(
            (method, path)
            for method in ("GET", "HEAD")
            for path in ("/healthz", "/tokenizers", "/metrics", "/v1/models")
        ),
        ("GET", "/docs"),
        ("GET", "/"),
        ("GET", "/train-job"),
        ("GET", "/tokenizers/framed/check"),
        ("PUT", "/tokenizers/alias"),
        ("DELETE", "/tokenizers/alias"),
        ("POST", "/train-job"),
        ("POST", "/v1/responses/input_tokens"),
    ],
)
def test_a_transfer_coding_is_refused_whatever_the_method_is(server: Server, method: str, path: str) -> None:
    with connect(server) as connection:
        sent = head(path, "transfer-encoding: gzip, chunked").replace(b"POST ", method.encode() + b" ")
        connection.sendall(sent + b"0\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 501 ")
    assert b"connection: close" in answer.lower()
    assert (b"unsupported_transfer_coding" in answer) == (method != "HEAD")


@pytest.mark.parametrize("coding", ["chunked", "Chunked"])
def test_chunks_are_read_however_they_are_named(server: Server, coding: str) -> None:
    with connect(server) as connection:
        connection.sendall(head("/count", f"transfer-encoding: {coding}") + b'e\r\n{"text":"fox"}\r\n0\r\n\r\n')
        assert read_answer(connection)[0] == 200
