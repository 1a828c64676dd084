"""The line and the host of a request, in each version of HTTP."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.support.connection import connected


async def answered(head: bytes) -> tuple[bytes, bytes, bool]:
    """Return status and body of the answer to a head, and whether the connection was ended."""
    protocol, transport = connected()
    protocol.data_received(head)
    while b"\r\n\r\n" not in transport.written:  # noqa: ASYNC110
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    closed = transport.closed
    # Otherwise the loop would close the connection.
    protocol.connection_lost(None)
    first, _, body = transport.written.partition(b"\r\n\r\n")
    return first.split()[1], body, closed


@pytest.mark.parametrize(
    ("lines", "detail"),
    [
        (b"", b"the request has no header host"),
        (b"accept: */*\r\n", b"the request has no header host"),
        (b"host: a\r\nHost: a\r\n", b"several headers host"),
        (b"host: a\r\naccept: */*\r\nHOST: b\r\n", b"several headers host"),
        (b"host: a b\r\n", b"not a name or address"),
        (b"host: a@b\r\n", b"not a name or address"),
        (b"host: a/b\r\n", b"not a name or address"),
        (b"host: a:http\r\n", b"not a name or address"),
        (b"host: [::1\r\n", b"not a name or address"),
        (b"host: %zz\r\n", b"not a name or address"),
        (b"host: \xc3\xa9\r\n", b"not a name or address"),
    ],
)
@pytest.mark.parametrize("target", [b"GET /", b"POST /encode", b"OPTIONS *", b"GET http://a/healthz"])
def test_request_without_its_one_host_is_refused(target: bytes, lines: bytes, detail: bytes) -> None:
    status, body, closed = asyncio.run(answered(target + b" HTTP/1.1\r\n" + lines + b"\r\n"))
    problem = json.loads(body)
    assert (status, problem["code"], problem["path"], closed) == (b"400", "invalid_http", "header host", True)
    assert detail in body


@pytest.mark.parametrize(
    "host", ["", "x", "localhost:8000", "a.b-c_d~e", "1.2.3.4:80", "[::1]:8000", "[fe80::1%25eth0]", "a:", "%C3%A9"]
)
def test_every_form_of_a_host_is_taken(host: str) -> None:
    assert asyncio.run(answered(f"GET / HTTP/1.1\r\nhost: {host}\r\n\r\n".encode()))[0] == b"204"


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@pytest.mark.parametrize("connection", [b"upgrade", b"close, upgrade", b"keep-alive, upgrade"])
def test_offer_of_another_protocol_is_ignored_whether_or_not_the_connection_ends(
    version: bytes, connection: bytes
) -> None:
    head = b"POST / HTTP/%b\r\nhost: x\r\nconnection: %b\r\nupgrade: h2c\r\ncontent-length: 2\r\n\r\nab"
    status, _, closed = asyncio.run(asyncio.wait_for(answered(head % (version, connection)), 10))
    assert (status, closed) == (b"204", version == b"1.0" or b"close" in connection)


@pytest.mark.parametrize("version", [b"0.9", b"1.2", b"2.0", b"3.0"])
@pytest.mark.parametrize("more", [b"", b"connection: upgrade\r\nupgrade: h2c\r\n", b"content-length: 2\r\n\r\n{}"])
def test_a_request_of_another_version_is_refused(version: bytes, more: bytes) -> None:
    head = b"POST / HTTP/%b\r\nhost: x\r\n%b\r\n" % (version, more)
    status, body, closed = asyncio.run(asyncio.wait_for(answered(head), 10))
    assert (status, json.loads(body)["code"], closed) == (b"400", "invalid_http", True)


def test_http_1_0_may_have_no_host_and_never_two() -> None:
    assert asyncio.run(answered(b"GET / HTTP/1.0\r\n\r\n"))[0] == b"204"
    assert asyncio.run(answered(b"GET / HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n"))[0] == b"400"


def test_host_is_wanted_with_every_request_of_a_connection() -> None:
    async def story() -> None:
        protocol, transport = connected()
        protocol.data_received(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        while b"204" not in transport.written:  # noqa: ASYNC110
            await asyncio.sleep(0)
        protocol.data_received(b"GET / HTTP/1.1\r\n\r\n")
        while transport.written.count(b"HTTP/1.1 ") < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert transport.written.count(b"HTTP/1.1 400") == 1
        protocol.connection_lost(None)

    asyncio.run(story())
