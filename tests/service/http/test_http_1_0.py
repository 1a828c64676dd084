"""Callers of HTTP/1.0 get no chunks: an answer of no known length ends with the connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.conftest import RunServer
from tests.support.connection import connected

PARTS = [b"first ", b"", b"second"]


def streaming(headers: list[tuple[bytes, bytes]], *, breaks: bool = False) -> Callable[..., Any]:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for part in PARTS:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        if breaks:
            raise RuntimeError("broken")
        await send({"type": "http.response.body"})

    return app


async def asked(app: Any, method: bytes, version: bytes) -> tuple[bytes, bytes, str]:
    """Return head and body of the answer, and what became of the connection."""
    protocol, transport = connected(app)
    protocol.data_received(b"%b / HTTP/%b\r\nhost: localhost\r\n\r\n" % (method, version))
    await asyncio.wait(protocol.requests.tasks)
    became = "broken" if transport.aborted.is_set() else "ended" if transport.closed else "open"
    protocol.connection_lost(None)
    head, _, body = transport.written.partition(b"\r\n\r\n")
    return head, body, became


@pytest.mark.parametrize("length", [[], [(b"Content-Length", b"12")]])
def test_answer_to_http_1_0_has_no_chunks_and_ends_with_the_connection(length: list[tuple[bytes, bytes]]) -> None:
    head, body, became = asyncio.run(asked(streaming(length), b"GET", b"1.0"))
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    assert (b"content-length: 12" in head) == bool(length)
    assert body == b"first second"
    assert became == "ended"


def test_answer_to_http_1_1_has_chunks_as_before() -> None:
    head, body, became = asyncio.run(asked(streaming([]), b"GET", b"1.1"))
    assert b"transfer-encoding: chunked" in head
    assert body == b"6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n"
    assert became == "open"


def test_answer_to_a_head_of_http_1_0_has_no_body() -> None:
    head, body, _ = asyncio.run(asked(streaming([]), b"HEAD", b"1.0"))
    assert head.startswith(b"HTTP/1.1 200")
    assert body == b""


def test_answer_to_http_1_0_that_breaks_off_is_not_taken_for_a_whole_one() -> None:
    _, body, became = asyncio.run(asked(streaming([], breaks=True), b"GET", b"1.0"))
    assert body == b"first second"
    assert became == "broken"


def test_events_end_with_the_connection_for_a_caller_of_http_1_0(run_server: RunServer, tmp_path: Path) -> None:
    with run_server(trained=str(tmp_path), worker=False, min_free_bytes=0) as server:
        job = server.client.post("/train-job", json={"corpus": {"texts": ["low"]}}).json()["id"]
        server.client.delete(f"/train-job/{job}")
        url = httpx.URL(server.url)
        with socket.create_connection((url.host, url.port or 80), timeout=30) as connection:
            connection.sendall(f"GET /train-job/{job}/events HTTP/1.0\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert body.startswith(b"retry: 2000\n\nid: ")
    assert body.endswith(b"}\n\n")
    assert b'"state":"cancelled"' in body
