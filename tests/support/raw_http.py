"""Requests and answers of HTTP as bytes on a socket."""

from __future__ import annotations

import socket

import httpx

from tests.support.server import Server


def connect(server: Server) -> socket.socket:
    url = httpx.URL(server.url)
    return socket.create_connection((url.host, url.port or 80), timeout=30)


def read_answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read one answer with a declared length from a raw connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        got = connection.recv(65536)
        assert got, "the connection ended before an answer"
        data += got
    head, _, body = data.partition(b"\r\n\r\n")
    status, *lines = head.decode("ascii").split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    while len(body) < int(headers["content-length"]):
        body += connection.recv(65536)
    return int(status.split()[1]), headers, body


def head(path: str, *lines: str) -> bytes:
    return "\r\n".join(
        [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json", *lines, "", ""]
    ).encode()
