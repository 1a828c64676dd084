"""Servers that really run: on a port, on a unix socket, in several processes, and against callers who misbehave."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.server import run
from service.setting_values import InvalidSetting
from service.settings import Settings
from tests.service.conftest import RunServer, Server
from tests.service.problems import assert_problem
from tokenizer_core import HashMismatch, Tokenizer

LIMIT = 1 << 20
SECRET = "xyzzy-plugh"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(run_server: RunServer) -> Iterator[Server]:
    with run_server(max_body_bytes=LIMIT, body_seconds=1, max_held_bytes=64 << 20) as running:
        yield running


def connect(server: Server) -> socket.socket:
    url = httpx.URL(server.url)
    return socket.create_connection((url.host, url.port or 80), timeout=30)


def until_refused(server: Server, latest: float) -> None:
    """Connect again and again; that this ends is what is claimed."""
    while time.monotonic() < latest:
        try:
            connect(server).close()
        except ConnectionRefusedError:
            return
        except ConnectionResetError:
            # The connection came while the socket was closed.
            continue
    raise AssertionError("it still takes connections")


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


def test_server_on_a_port_answers_and_ends_when_told(run_server: RunServer, framed: Tokenizer) -> None:
    with run_server() as server:
        answer = server.client.post("/encode", json={"text": "the fox"})
        assert answer.json()["ids"] == framed.encode("the fox", add_special_tokens=True).tolist()
        assert "server" not in answer.headers
        server.stop()
        assert server.process.returncode == 0


def test_server_on_a_unix_socket_answers_and_leaves_no_file(
    run_server: RunServer, tmp_path: Path, framed: Tokenizer
) -> None:
    path = tmp_path / "tokd.sock"
    with run_server(uds=str(path)) as server:
        assert server.client.post("/count", json={"text": "the fox"}).json()["tokenizer"] == framed.hash
        server.stop()
    assert not path.exists()


def test_socket_of_a_dead_server_is_taken_over_and_that_of_a_living_one_is_not(
    run_server: RunServer, tmp_path: Path, artifacts: tuple[str, str]
) -> None:
    path = tmp_path / "tokd.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with run_server(uds=str(path)) as server:
        with pytest.raises(InvalidSetting, match="another server listens"):
            run(Settings(artifacts=artifacts, uds=str(path)))
        assert server.client.get("/healthz").status_code == 200
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(InvalidSetting, match="not a socket"):
        run(Settings(artifacts=artifacts, uds=str(file)))
    assert file.read_text() == "precious"


def test_several_processes_on_a_unix_socket_say_that_they_run_once_they_answer(
    run_server: RunServer, tmp_path: Path
) -> None:
    path = tmp_path / "tokd.sock"
    with run_server(uds=str(path), workers=2) as server:
        assert server.client.get("/healthz").status_code == 200
        assert server.log().count(b"running on socket") == 1
        server.stop()
        assert server.process.returncode == 0
    assert not path.exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_unix_socket_has_the_permissions_that_it_is_given(
    run_server: RunServer, tmp_path: Path, workers: int
) -> None:
    path = tmp_path / "tokd.sock"
    with run_server(uds=str(path), uds_mode="620", workers=workers) as server:
        assert server.client.get("/healthz").status_code == 200
        assert stat.S_IMODE(path.stat().st_mode) == 0o620
        server.stop()
    assert not path.exists()


def test_the_permissions_of_a_unix_socket_are_three_octal_digits() -> None:
    for mode in ("", "rw", "888", "0660", "66"):
        with pytest.raises(InvalidSetting, match="uds_mode"):
            Settings(uds_mode=mode)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_ends_takes_no_connection_that_nobody_will_answer(run_server: RunServer, workers: int) -> None:
    with run_server(workers=workers, worker=False) as server, connect(server) as held:
        head = b"POST /count HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 14\r\n"
        held.sendall(head + b"expect: 100-continue\r\n\r\n")
        assert held.recv(100).startswith(b"HTTP/1.1 100 ")
        server.process.send_signal(signal.SIGTERM)
        # Less than a body may stand still for.
        until_refused(server, time.monotonic() + 15)
        held.sendall(b'{"text":"fox"}')
        assert read_answer(held)[0] == 200
        server.process.communicate(timeout=30)


def test_several_processes_end_when_the_one_above_them_is_killed(run_server: RunServer) -> None:
    with run_server(workers=2, worker=False) as server:
        server.process.kill()
        # They hold the pipe whose end is waited for.
        server.process.communicate(timeout=60)
        until_refused(server, time.monotonic() + 15)


def test_processes_that_take_long_to_start_are_waited_for(
    run_server: RunServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Python imports it before anything else; a process that is one of several knows by its arguments.
    slow = "import sys, time\nif '--multiprocessing-fork' in sys.orig_argv:\n    time.sleep(7)\n"
    (tmp_path / "sitecustomize.py").write_text(slow, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with run_server(workers=2, worker=False) as server:
        assert b"died" not in server.log()
        server.stop()


def test_several_processes_are_one_server_with_one_page_of_metrics(run_server: RunServer) -> None:
    with run_server(workers=2) as server:
        for _ in range(40):
            # A connection each, so that both processes get some.
            assert httpx.post(f"{server.url}/count", json={"text": "fox"}).status_code == 200
        for _ in range(4):
            page = httpx.get(f"{server.url}/metrics").text
            assert 'tokd_requests_total{code="",route="/count",status="200"} 40.0' in page
        server.stop()


@pytest.mark.parametrize("workers", [1, 2])
def test_server_refuses_to_start_on_an_artifact_that_is_not_what_its_manifest_pins(
    artifacts: tuple[str, str], tmp_path: Path, workers: int
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(artifacts[0], broken)
    file = broken / "tokenizer.json"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(HashMismatch, match=r"tokenizer\.json"):
        run(Settings(artifacts=(artifacts[1], str(broken)), workers=workers, port=0))


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


def test_caller_who_goes_away_leaves_a_server_that_answers(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(head("/encode", "content-length: 100") + b'{"text"')
    assert server.client.get("/healthz").status_code == 200
    until = 'tokd_requests_total{code="",route="/encode",status="499"}'
    for _ in range(1000):
        if until in server.client.get("/metrics").text:
            break
    else:
        raise AssertionError("the request is never given up")
    assert "tokd_held_bytes 0.0" in server.client.get("/metrics").text


def test_connection_lives_on_after_an_error(server: Server) -> None:
    with connect(server) as connection:
        for body, expected in ((b'{"text":7}', 422), (b"{", 400), (b'{"text":"fox"}', 200), (b"", 400)):
            connection.sendall(head("/count", f"content-length: {len(body)}") + body)
            assert read_answer(connection)[0] == expected


def test_requests_sent_in_one_go_are_answered_in_order(server: Server) -> None:
    bodies = [json.dumps({"text": "fox " * count, "add_special_tokens": False}).encode() for count in range(1, 6)]
    with connect(server) as connection:
        connection.sendall(b"".join(head("/count", f"content-length: {len(body)}") + body for body in bodies))
        data = b""
        while data.count(b'"count":') < len(bodies):
            data += connection.recv(65536)
    counts = [int(part.split(b"}")[0]) for part in data.split(b'"count":')[1:]]
    assert counts == sorted(counts)
    assert len(set(counts)) == len(counts)


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /tokenizers HTTP/1.1\r\nhost: localhost\r\n\r\n",
        head("/count", "content-length: 14") + b'{"text":"fox"}',
        head("/render", "content-length: 48") + b'{"messages":[{"role":"user","content":"a fox"}]}',
        head("/count", "content-length: 10") + b'{"text":7}',
    ],
    ids=["cold", "at once", "in a thread", "an error"],
)
def test_caller_who_closes_the_sending_side_reads_the_answers(server: Server, request_: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(request_ * 2)
        connection.shutdown(socket.SHUT_WR)
        data = b""
        while got := connection.recv(65536):
            data += got
    assert data.count(b"HTTP/1.1 ") == 2


def test_two_lengths_are_refused(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(head("/count", "content-length: 14", "content-length: 15") + b'{"text":"fox"} ')
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
    assert server.client.get("/healthz").status_code == 200


def test_small_requests_are_answered_while_large_ones_are_worked_on(run_server: RunServer) -> None:
    with run_server(threads=2) as server:
        body = json.dumps({"text": "the quick brown fox jumps over the lazy dog, " * 300_000}).encode()
        statuses: list[int] = []

        def send() -> None:
            statuses.append(httpx.post(f"{server.url}/encode", content=body, headers=JSON, timeout=120).status_code)

        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        answered = 0
        while any(thread.is_alive() for thread in threads):
            assert server.client.get("/healthz").status_code == 200
            assert server.client.post("/count", json={"text": "fox"}).status_code == 200
            answered += 1
        assert statuses == [200] * 4
        assert answered >= 10


def test_log_has_one_line_a_request_and_nothing_of_what_was_sent(run_server: RunServer) -> None:
    with run_server() as server:
        sent: list[dict[str, Any]] = [
            {"text": SECRET},
            {"text": [SECRET, SECRET]},
            {"text": SECRET, SECRET: 1},
            {"text": SECRET, "tokenizer": SECRET},
            {"text": SECRET + "<|eos|>"},
            {"text": SECRET + "\ud800"},
            {"text": SECRET, "special_tokens": SECRET},
        ]
        for body in sent:
            server.client.post("/encode", content=json.dumps(body), headers=JSON)
        server.client.get(f"/tokenizers/{SECRET}")
        server.client.get(f"/tokenizers/{SECRET}?{SECRET}={SECRET}")
        server.client.get(f"/{SECRET}", headers={"user-agent": SECRET})
        server.client.request(SECRET.upper().replace("-", ""), "/encode")
        server.client.head(f"/{SECRET}")
        out, err = server.stop()
    assert SECRET.encode() not in out + err
    assert SECRET.upper().encode() not in out + err
    lines = [json.loads(line) for line in out.splitlines()]
    encodes = [line for line in lines if line["route"] == "/encode"]
    assert [line["status"] for line in encodes[: len(sent)]] == [200, 200, 422, 404, 422, 422, 422]
    assert encodes[0]["tokens"] > 0
    assert encodes[0]["tokenizer"].startswith("sha256:")
    assert {"time", "method", "route", "status", "code", "milliseconds", "bytes_in", "bytes_out"} <= set(encodes[0])
    assert [line["status"] for line in lines if line["route"] == "/tokenizers/{ref}"] == [404, 422]
    assert any(line["route"] == "unmatched" and line["status"] == 404 for line in lines)
    assert [(line["status"], line["bytes_out"]) for line in lines if line["method"] == "HEAD"] == [(404, 0)]


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


@pytest.mark.parametrize("coding", ["chunked", "Chunked"])
def test_chunks_are_read_however_they_are_named(server: Server, coding: str) -> None:
    with connect(server) as connection:
        connection.sendall(head("/count", f"transfer-encoding: {coding}") + b'e\r\n{"text":"fox"}\r\n0\r\n\r\n')
        assert read_answer(connection)[0] == 200


def test_large_answer_that_is_read_slowly_arrives_whole(run_server: RunServer, bare: Tokenizer) -> None:
    text = "the quick brown fox " * 50_000
    with run_server() as server, connect(server) as connection:
        body = json.dumps({"text": text, "tokenizer": "bare", "return": ["ids", "spans"]}).encode()
        connection.sendall(head("/encode", f"content-length: {len(body)}") + body)
        status, _, answer = read_answer(connection)
    assert status == 200
    assert json.loads(answer)["ids"] == bare.encode(text).tolist()


def test_a_quiet_connection_stays_open_as_long_as_the_setting_says(run_server: RunServer) -> None:
    with run_server(keep_alive_seconds=1) as server:
        url = httpx.URL(server.url)
        # In a fraction of the time of the default.
        with socket.create_connection((url.host, url.port or 0), timeout=30) as connection:
            for _ in range(2):
                connection.sendall(b"HEAD /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
            assert connection.recv(1) == b""
