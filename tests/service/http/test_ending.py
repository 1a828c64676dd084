"""A server that drains: it says so first, and answers until then, on new connections too."""

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


@pytest.mark.nightly
@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_signal_ends_the_wait(run_server: RunServer, workers: int) -> None:
    with run_server(drain_seconds=3600, workers=workers, worker=False) as server:
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.client.get("/readyz").status_code == 503)
        server.process.send_signal(signal.SIGTERM)
        server.process.communicate(timeout=30)
        assert server.process.returncode == 0


@pytest.mark.nightly
@pytest.mark.parametrize("workers", [1, 3])
def test_no_request_is_lost_by_callers_who_connect_anew_and_leave_within_the_drain(
    run_server: RunServer, workers: int
) -> None:
    lost: list[str] = []
    unready = threading.Event()
    body = b'{"text":"fox"}'
    head = b"POST /count HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
    request = head + b"content-length: %d\r\n\r\n" % len(body) + body

    def call(address: tuple[str, int]) -> None:
        while not unready.is_set():
            try:
                with socket.create_connection(address, timeout=20) as caller:
                    caller.sendall(request)
                    answer = read_to_the_end(caller)
                if not answer.startswith(b"HTTP/1.1 200 "):
                    lost.append(repr(answer[:100]))
            except OSError as error:
                lost.append(repr(error))

    with run_server(worker=False, workers=workers, drain_seconds=5) as server:
        url = httpx.URL(server.url)
        assert url.port is not None
        callers = [threading.Thread(target=call, args=((url.host, url.port),)) for _ in range(16)]
        for caller in callers:
            caller.start()
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        # Each probe on a connection of its own, as a load balancer asks.
        until(lambda: httpx.get(f"{server.url}/readyz").status_code == 503)
        time.sleep(1)
        unready.set()
        for caller in callers:
            caller.join()
        server.process.communicate(timeout=30)
        assert server.process.returncode == 0
    assert lost == []
