"""Read files over http and https, on a connection to a checked address."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import tempfile
from typing import IO, Self
from urllib.parse import quote, urljoin, urlsplit

from tokenizer_core.corpus.addresses import is_public
from tokenizer_core.corpus.bounds import Bounds, not_found
from tokenizer_core.errors import CorpusForbidden

_REDIRECTS = 5
_SECONDS = 30.0
"""Without a byte from the other side."""

_REDIRECT = (301, 302, 303, 307, 308)


class WebFile(io.RawIOBase):
    """The body of an answer, as a file.

    Attributes:
        size: in bytes, or ``None`` when the other side does not say.
        tag: what the other side says that changes with the content, or an empty string.
    """

    def __init__(self, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse) -> None:
        self._connection, self._answer = connection, answer
        length = self._answer.getheader("Content-Length", "")
        self.size = int(length) if length.isascii() and length.isdigit() else None
        self.tag = self._answer.getheader("ETag") or self._answer.getheader("Last-Modified") or ""
        self._left = self.size

    @classmethod
    def open(cls, url: str, bounds: Bounds, field: str) -> Self:
        """Send the request and follow redirects, each of which is held to the bounds.

        Raises:
            CorpusForbidden: ``scheme_forbidden``, ``address_forbidden``.
            CorpusNotFound: no answer, or one with a status other than 200.
        """
        return cls(*_request(url, bounds, field))

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Read; an answer that is cut short is an error."""
        try:
            data = self._answer.read(size if size >= 0 else None)
        except http.client.HTTPException as error:
            raise OSError(f"the answer is cut short: {error}") from error
        if self._left is not None:
            self._left -= len(data)
            if self._left > 0 and (size < 0 or (size > 0 and not data)):
                raise OSError(f"the answer is cut short: {self._left} bytes are missing")
        return data

    def close(self) -> None:
        self._answer.close()
        self._connection.close()
        super().close()


def spooled(file: WebFile, bounds: Bounds, field: str) -> IO[bytes]:
    """Copy a file to where it can be read in any order, such as a Parquet file is."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - it is the caller's to close
    try:
        with file:
            while data := file.read(1 << 20):
                copy.write(data)
                bounds.check_size(copy.tell(), field)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


class _Connection(http.client.HTTPConnection):
    """A connection to an address that the bounds allow: the one that was checked is the one that is used."""

    def __init__(self, host: str, port: int, *, secure: bool, bounds: Bounds, field: str) -> None:
        super().__init__(host, port, timeout=_SECONDS)
        self._secure = secure
        self._bounds = bounds
        self._field = field

    def connect(self) -> None:
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        if self._bounds.public_addresses_only:
            for *_, address in found:
                if not is_public(str(address[0])):
                    raise CorpusForbidden(
                        f"{self.host[:200]} is not on the public internet", code="address_forbidden", field=self._field
                    )
        failed: OSError = OSError("the name has no address")
        for family, kind, protocol, _, address in found:
            connection = socket.socket(family, kind, protocol)
            connection.settimeout(_SECONDS)
            try:
                connection.connect(address)
                if self._secure:
                    connection = ssl.create_default_context().wrap_socket(connection, server_hostname=self.host)
            except OSError as error:
                connection.close()
                failed = error
                continue
            self.sock = connection
            return
        raise failed


def _request(url: str, bounds: Bounds, field: str) -> tuple[_Connection, http.client.HTTPResponse]:
    target = url
    for _ in range(_REDIRECTS + 1):
        scheme = bounds.scheme(target, field)
        if scheme not in ("http", "https"):
            message = f"{url[:200]} leads to {scheme[:40]}://, which is not followed"
            raise CorpusForbidden(message, code="scheme_forbidden", field=field)
        connection = None
        try:
            parts = urlsplit(target)
            if not parts.hostname or parts.username is not None:
                raise ValueError("a URL has a host and no user")
            port = parts.port or (443 if scheme == "https" else 80)
            connection = _Connection(parts.hostname, port, secure=scheme == "https", bounds=bounds, field=field)
            path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~") + (
                f"?{quote(parts.query, safe='/%:@!$&()*+,;=~?')}" if parts.query else ""
            )
            headers = {"Accept-Encoding": "identity", "User-Agent": "tokd"}
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            if connection is not None:
                connection.close()
            raise not_found(url, error, field) from error
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        if answer.status == 200:
            return connection, answer
        answer.close()
        connection.close()
        location = answer.getheader("Location")
        if answer.status not in _REDIRECT or location is None:
            raise not_found(url, f"the answer is {answer.status}", field)
        target = urljoin(target, location)
    raise not_found(url, f"more than {_REDIRECTS} redirects", field)
