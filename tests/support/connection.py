"""Connections: to an application in this process, byte by byte, and to a server over a socket; and common requests."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterable
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from service.http.connection import Connection

LIMITS = {"max_items": 5, "max_ids": 40, "max_body_bytes": 4000, "inline_bytes": 1500}
"""Low enough for a test to reach them."""

COMMON = [
    ("/encode", {"text": "the quick brown fox"}),
    ("/encode", {"text": ["naïve café", "", "🙂\n"], "special_tokens": "text", "add_special_tokens": False}),
    ("/encode", {"text": "<|bos|>", "special_tokens": "parse", "return": ["count", "ids"], "tokenizer": "bare"}),
    ("/encode", {"text": "a", "return": ["count"], "tokenizer": None}),
    ("/count", {"text": ["one", "two"]}),
    ("/offsets", {"text": ["naïve 🙂", "x"], "unit": "utf16"}),
    ("/offsets", {"text": "naïve 🙂", "unit": "byte", "tokenizer": "framed"}),
    ("/decode", {"ids": [1, 2, 3], "skip_special_tokens": True}),
    ("/decode", {"ids": [[1], [], [200, 201]], "tokenizer": "bare"}),
]
"""Bodies that the kernel answers, by route."""

JSON = b"content-type: application/json\r\n"
FOX = b'{"text":"the quick brown fox"}'


class Transport(asyncio.Transport):
    """A connection that remembers what became of it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False
        self.aborted = asyncio.Event()

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True
        self.aborted.set()

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def connected(app: Any = app, state: ServerState | None = None) -> tuple[Connection, Transport]:
    protocol = Connection(
        Config(app, log_config=None, timeout_keep_alive=1000, proxy_headers=False), state or ServerState(), {}
    )
    transport = Transport()
    protocol.connection_made(transport)
    return protocol, transport


class Caller:
    """One connection to an application in this process, with the fast path or without."""

    def __init__(self, app: Any, *, at_once: bool = True) -> None:
        self.state = ServerState()
        config = Config(app, log_config=None, timeout_keep_alive=1000, access_log=False, proxy_headers=False)
        self.protocol = Connection(config, self.state, {})
        if not at_once:
            self.protocol._fast_paths = {}
        self.transport = Transport()
        self.protocol.connection_made(self.transport)

    async def send(self, data: bytes) -> None:
        """Send bytes, and wait until nothing is left to do."""
        if not self.transport.is_closing():
            self.protocol.data_received(data)
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing is left to do but what needs more bytes."""
        while self.state.tasks and not self.transport.is_closing() and not self.needs_more():
            await asyncio.wait(self.state.tasks, return_when=asyncio.FIRST_COMPLETED)
        for _ in range(20):
            await asyncio.sleep(0)

    def needs_more(self) -> bool:
        """Whether the only task is that of a request that has begun to come; others would be before it in line."""
        newest = self.protocol.requests.newest
        return newest is not None and newest.more_body and not self.protocol.requests.waiting

    async def leave(self) -> None:
        self.protocol.connection_lost(None)
        if self.state.tasks:
            await asyncio.wait(self.state.tasks)


def request(
    body: bytes = FOX,
    *,
    line: bytes = b"POST /encode HTTP/1.1",
    headers: bytes = JSON,
    length: bytes | None = None,
) -> bytes:
    declared = b"content-length: %d\r\n" % len(body) if length is None else length
    return line + b"\r\nhost: localhost\r\n" + headers + declared + b"\r\n" + body


def answered_at_once(app: Any, path: str, body: bytes) -> tuple[Any, ...] | None:
    """Return what the kernel answers inside a connection."""
    kernel, headers = app.fast_paths[path.encode()], [(b"content-type", b"application/json")]
    answer: tuple[Any, ...] | None = kernel.answer(kernel.open(headers, None), headers, body)
    return answer


def exchange(address: tuple[str, int], requests: bytes) -> bytes:
    """Send bytes and read until the server closes; the date is left out."""
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(requests)
        answers = b"".join(iter(lambda: connection.recv(65536), b""))
    return re.sub(rb"date: [^\r]*", b"date:", answers)


def chunked(*chunks: bytes, trailer: bytes = b"") -> bytes:
    """Return a request whose body comes in chunks."""
    parts = b"".join(b"%x;a=b\r\n%b\r\n" % (len(chunk), chunk) for chunk in (*chunks, b""))[:-2]
    return request(parts + trailer + b"\r\n", length=b"transfer-encoding: chunked\r\n")


def counted(app: Any) -> list[str]:
    """Return what the metrics count of requests."""
    lines = app.server_state.metrics.page({}).decode().splitlines()
    return [line for line in lines if line.startswith(("tokd_request", "tokd_tokens")) and "seconds" not in line]


async def told(app: Any, sent: Iterable[bytes], *, at_once: bool) -> tuple[bytes, bool, list[str]]:
    """Tell what comes back for bytes that are sent in these parts, and what was counted."""
    caller = Caller(app, at_once=at_once)
    for part in sent:
        await caller.send(part)
    closed = caller.transport.is_closing()
    await caller.leave()
    return caller.transport.written, closed, [line for line in counted(app) if "_created" not in line]
