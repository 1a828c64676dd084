"""A server that ends answers those who have connected, also where it has not looked at them yet."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from service.http.accept_queue import LoneLoop, Loop
from service.http.protocol import BoundedProtocol
from tests.support.connection import app

CALLERS = 20


def read_to_the_end(caller: socket.socket) -> bytes:
    return b"".join(iter(lambda: caller.recv(65536), b""))


@pytest.mark.parametrize("loop", [Loop, LoneLoop])
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_callers_in_the_queue_of_a_server_that_ends_are_answered(tmp_path: Path, family: int, loop: type[Loop]) -> None:
    config, state = Config(app, log_config=None), ServerState()

    def protocol() -> BoundedProtocol:
        return BoundedProtocol(config, state, {})

    async def story() -> list[bytes]:
        loop = asyncio.get_running_loop()
        path = str(tmp_path / "socket")
        server: Any = await (
            loop.create_unix_server(protocol, path)
            if family == socket.AF_UNIX
            else loop.create_server(protocol, "127.0.0.1", 0)
        )
        address = server.sockets[0].getsockname()
        callers = [socket.socket(family, socket.SOCK_STREAM) for _ in range(CALLERS)]
        # The loop does not look at its sockets before they are closed.
        for caller in callers:
            caller.settimeout(30)
            caller.connect(address)
            caller.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        server.close()
        with pytest.raises(OSError, match="refused"), socket.socket(family, socket.SOCK_STREAM) as late:
            late.connect(address)
        answers = await asyncio.gather(*(asyncio.to_thread(read_to_the_end, caller) for caller in callers))
        await server.wait_closed()
        for caller in callers:
            caller.close()
        return answers

    with asyncio.Runner(loop_factory=loop) as runner:
        answers = runner.run(story())
    assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 204 No Content"] * CALLERS
    assert all(b"connection: close" in answer for answer in answers)
    assert not state.connections
