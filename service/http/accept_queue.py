"""A loop whose servers answer also those callers who have connected when they are told to end.

The system opens connections by itself and keeps them in a queue; what is in it when the listening socket is closed
would be reset, and its callers could not know whether their requests were worked on.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvloop

MOST_TAKEN = 4096
"""Connections that are taken from a queue, more than uvicorn lets one hold: others may come meanwhile."""


class Loop(uvloop.Loop):
    """uvloop's loop with such servers."""

    async def create_server(self, protocol_factory: Callable[[], Any], *where: Any, **how: Any) -> Any:
        return _Server(self, await super().create_server(protocol_factory, *where, **how), protocol_factory)

    async def create_unix_server(self, protocol_factory: Callable[[], Any], *where: Any, **how: Any) -> Any:
        return _Server(self, await super().create_unix_server(protocol_factory, *where, **how), protocol_factory)


class _Server:
    def __init__(self, loop: Loop, server: Any, protocol_factory: Callable[[], Any]) -> None:
        self._loop, self._server, self._protocol_factory = loop, server, protocol_factory
        self._taking: list[asyncio.Task[None]] = []
        self.sockets = server.sockets
        self.wait_closed = server.wait_closed

    def close(self) -> None:
        """Take who waits in the queue, and nobody from then on."""
        waiting = [connection for listening in self.sockets for connection in _queue(listening.fileno())]
        self._server.close()
        self._taking = [self._loop.create_task(self._take(connection)) for connection in waiting]

    async def _take(self, connection: socket.socket) -> None:
        _, protocol = await self._loop.connect_accepted_socket(self._protocol_factory, connection)
        # As uvicorn tells those that are open: the answer to the request that is on its way is the last one.
        protocol.shutdown()


def _queue(listening: int) -> Iterator[socket.socket]:
    with socket.socket(fileno=os.dup(listening)) as own:
        own.setblocking(False)
        for _ in range(MOST_TAKEN):
            try:
                yield own.accept()[0]
            except OSError:
                # None waits, or there are no file descriptors left.
                return
