"""A server that ends: it says so first, and no caller who was let in goes without an answer."""

from __future__ import annotations

import signal
import socket
import threading
import time

import httpx
import pytest

from tests.service.conftest import RunServer
from tests.support.waiting import until


def read_to_the_end(caller: socket.socket) -> bytes:
    return b"".join(iter(lambda: caller.recv(65536), b""))


def test_a_server_that_drains_says_so_and_serves_on(run_server: RunServer) -> None:
    with run_server(drain_seconds=3, worker=False) as server:
        assert server.client.get("/readyz").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.client.get("/readyz").status_code == 503)
        ready = server.client.get("/readyz")
        assert (ready.json()["code"], "retry-after" in ready.headers) == ("saturated", True)
        with httpx.Client(base_url=server.url) as other:
            assert other.post("/count", json={"text": "fox"}).status_code == 200
            assert other.get("/healthz").status_code == 200
        server.process.communicate(timeout=30)
        assert server.process.returncode == 0


def test_a_second_signal_ends_the_wait(run_server: RunServer) -> None:
    with run_server(drain_seconds=3600, worker=False) as server:
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.client.get("/readyz").status_code == 503)
        server.process.send_signal(signal.SIGTERM)
        server.process.communicate(timeout=30)
        assert server.process.returncode == 0


@pytest.mark.parametrize(("workers", "drain_seconds"), [(1, 0), (1, 1), (3, 0), (3, 1)])
def test_no_request_is_lost_while_callers_connect_anew_for_each(
    run_server: RunServer, workers: int, drain_seconds: int
) -> None:
    """Callers see answers, and at the end that nobody listens; never a connection that was taken and dropped."""
    lost: list[str] = []
    body = b'{"text":"fox"}'
    head = b"POST /count HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
    request = head + b"content-length: %d\r\n\r\n" % len(body) + body

    def call(address: tuple[str, int]) -> None:
        while True:
            try:
                caller = socket.create_connection(address, timeout=20)
            except OSError:
                return
            with caller:
                try:
                    caller.sendall(request)
                    answer = read_to_the_end(caller)
                except OSError as error:
                    lost.append(repr(error))
                    continue
                if not answer.startswith(b"HTTP/1.1 200 "):
                    lost.append(repr(answer[:100]))

    for _ in range(3):
        with run_server(worker=False, workers=workers, drain_seconds=drain_seconds) as server:
            url = httpx.URL(server.url)
            assert url.port is not None
            callers = [threading.Thread(target=call, args=((url.host, url.port),)) for _ in range(16)]
            for caller in callers:
                caller.start()
            time.sleep(0.3)
            server.process.send_signal(signal.SIGTERM)
            for caller in callers:
                caller.join()
            server.process.communicate(timeout=30)
    assert lost == []
