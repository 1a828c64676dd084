"""Uploads against a real server: endless, stalled, broken off, large; none leaves a file or fills the memory."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from service.auth.keys import entry, new_key
from tests.service.conftest import RunServer, Server
from tests.service.routes.train_job.conftest import form, settings_part

KEY = new_key()
MEGABYTE = 1 << 20
HEAD = form(("corpus", "a.txt", b""))[0].removesuffix(b"\r\n--x--\r\n")
TAIL = b"\r\n" + form(settings_part())[0]
KIND = form()[1]["content-type"]


class Home:
    def __init__(self, server: Server, trained: Path) -> None:
        self.server = server
        self.trained = trained

    def directories(self) -> list[str]:
        root = self.trained / ".jobs"
        return sorted(path.name for path in root.iterdir() if path.is_dir()) if root.exists() else []

    def post(self, body: Iterator[bytes]) -> httpx.Response:
        """Send a body in chunks, without saying how long it is."""
        headers = {"authorization": f"Bearer {KEY}", "content-type": KIND}
        return httpx.post(f"{self.server.url}/train-job", content=body, headers=headers, timeout=120)

    def connect(self, *lines: str) -> socket.socket:
        url = httpx.URL(self.server.url)
        connection = socket.create_connection((url.host, url.port or 80), timeout=120)
        head = ["POST /train-job HTTP/1.1", "host: localhost", f"content-type: {KIND}", *lines, "", ""]
        connection.sendall("\r\n".join(head).encode())
        return connection


@pytest.fixture(scope="module")
def home(run_server: RunServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    place = tmp_path_factory.mktemp("home")
    (place / "keys.toml").write_text(entry("ann", ["train"], KEY))
    with run_server(
        trained=str(place / "trained"),
        keys=str(place / "keys.toml"),
        worker=False,
        access_log=False,
        min_free_bytes=0,
        body_seconds=8,
        max_corpus_bytes=96 * MEGABYTE,
    ) as server:
        yield Home(server, place / "trained")


def eventually(what: Callable[[], bool]) -> bool:
    until = time.monotonic() + 60
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def read_status(connection: socket.socket) -> int:
    data = b""
    while b"\r\n" not in data:
        got = connection.recv(65536)
        assert got, "the connection ended before an answer"
        data += got
    return int(data.split()[1])


def peak_memory(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) << 10


def test_large_corpus_never_lies_in_memory(home: Home) -> None:
    size = 64 * MEGABYTE
    home.post(iter([HEAD, b"x" * MEGABYTE, TAIL])).raise_for_status()
    before = peak_memory(home.server)
    block = b"low lower lowest\n" * (MEGABYTE // 17)

    def body() -> Iterator[bytes]:
        yield HEAD
        sent = 0
        while sent < size:
            sent += len(block)
            yield block
        yield TAIL

    answer = home.post(body())
    assert answer.status_code == 202, answer.text
    stored = home.trained / ".jobs" / answer.json()["id"] / "corpus-0000.txt"
    assert stored.stat().st_size >= size
    assert peak_memory(home.server) - before < size // 2
    headers = {"authorization": f"Bearer {KEY}"}
    assert httpx.delete(f"{home.server.url}/train-job/{answer.json()['id']}", headers=headers).status_code == 200
    assert eventually(lambda: not stored.parent.exists())


@pytest.mark.parametrize(
    ("start", "status"),
    [
        (form(settings_part(vocab_size=3), ("corpus", "a.txt", b""))[0].removesuffix(b"\r\n--x--\r\n"), 422),
        (form(("other", "a.txt", b""))[0].removesuffix(b"\r\n--x--\r\n"), 422),
        (HEAD, 413),
        (b"no form", 400),
    ],
)
def test_endless_body_is_refused_as_soon_as_it_can_be(home: Home, start: bytes, status: int) -> None:
    before = home.directories()
    with home.connect(f"authorization: Bearer {KEY}", "content-length: 1000000000000000000") as connection:
        # A length that can never be is refused before a byte of it.
        assert read_status(connection) == 413
    refused = threading.Event()
    with home.connect(f"authorization: Bearer {KEY}", "transfer-encoding: chunked") as connection:

        def send() -> None:
            try:
                connection.sendall(b"%x\r\n%b\r\n" % (len(start), start))
                while not refused.is_set():
                    connection.sendall(b"%x\r\n%b\r\n" % (MEGABYTE, b"x" * MEGABYTE))
            except OSError:
                # The server ends the connection a while after its answer.
                return

        sender = threading.Thread(target=send)
        sender.start()
        try:
            assert read_status(connection) == status
        finally:
            refused.set()
            connection.shutdown(socket.SHUT_RDWR)
            sender.join()
    assert eventually(lambda: home.directories() == before)


def test_body_that_stands_still_is_given_up(home: Home) -> None:
    before = home.directories()
    with home.connect(f"authorization: Bearer {KEY}", "content-length: 100000") as connection:
        connection.sendall(HEAD + b"some")
        assert read_status(connection) == 408
    assert eventually(lambda: home.directories() == before)


def test_caller_who_goes_away_leaves_nothing(home: Home) -> None:
    before = home.directories()
    with home.connect(f"authorization: Bearer {KEY}", "content-length: 100000") as connection:
        connection.sendall(HEAD + b"some")
        assert eventually(lambda: len(home.directories()) == len(before) + 1)
    assert eventually(lambda: home.directories() == before)


def test_without_a_key_nothing_is_read_or_made(home: Home) -> None:
    before = home.directories()
    with home.connect("content-length: 10000000000") as connection:
        assert read_status(connection) == 401
    assert home.directories() == before


def test_curl_waits_to_be_told_that_its_body_is_wanted(home: Home) -> None:
    with home.connect("content-length: 10000000000", "expect: 100-continue") as connection:
        assert read_status(connection) == 401
    with home.connect(f"authorization: Bearer {KEY}", "content-length: 100000", "expect: 100-continue") as connection:
        assert read_status(connection) == 100


def test_small_requests_are_answered_during_an_upload(home: Home) -> None:
    began = threading.Event()
    done = threading.Event()

    def body() -> Iterator[bytes]:
        yield HEAD + b"x" * (2 * MEGABYTE)
        began.set()
        while not done.is_set():
            yield b"x" * 100
            done.wait(0.05)
        yield TAIL

    answers: list[httpx.Response] = []
    uploading = threading.Thread(target=lambda: answers.append(home.post(body())))
    uploading.start()
    try:
        assert began.wait(60)
        for _ in range(20):
            assert httpx.get(f"{home.server.url}/healthz", timeout=60).status_code == 200
    finally:
        done.set()
        uploading.join()
    assert answers[0].status_code == 202
