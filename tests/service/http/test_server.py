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
from tests.support.raw_http import connect, head, read_answer
from tests.support.server import started
from tests.support.waiting import children, is_alive, until
from tokenizer_core import HashMismatch, Tokenizer

LIMIT = 1 << 20
SECRET = "xyzzy-plugh"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def server(run_server: RunServer) -> Iterator[Server]:
    with run_server(max_body_bytes=LIMIT, body_seconds=1, max_held_bytes=64 << 20) as running:
        yield running


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


@pytest.mark.nightly
def test_several_processes_end_when_the_one_above_them_is_killed(run_server: RunServer) -> None:
    with run_server(workers=2, worker=False) as server:
        server.process.kill()
        server.process.wait(timeout=60)
        # They end in order, for which a loaded machine takes its time.
        until_refused(server, time.monotonic() + 60)


@pytest.mark.nightly
@pytest.mark.process
def test_processes_end_whose_parent_is_killed_while_they_start(artifacts: tuple[str, str]) -> None:
    settings = Settings(artifacts=artifacts, port=0, workers=2, worker=False)
    with started(settings) as (process, _):
        # Their imports take longer than all the rest of a start.
        workers = until(lambda: len(found := children(process.pid)) == 2 and found)
        process.kill()
        until(lambda: not any(map(is_alive, workers)))


@pytest.mark.nightly
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
