"""A loop whose servers answer also those callers who have connected when they are told to end.

The system opens connections by itself and keeps them in a queue; what is in it when the listening socket is closed
would be reset, and its callers could not know whether their requests were worked on. So a process that serves alone
first lets no connection begin, then takes those that have begun, and then closes. Who comes later is refused. For
processes that share a socket the one above them lets no connection begin, before it tells them to end.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import uvloop

MOST_TAKEN = 4096
"""Connections that are taken from a queue, more than uvicorn lets one hold: others may come meanwhile."""


BEGUN_SECONDS = 0.03
"""Time in which a connection that has begun is there: more than a round trip within a data centre."""

ACCEPTORS = 16
"""How many connections are taken from a queue in one turn of the loop. libuv takes one for each listening handle: where
turns are long, callers on new connections would wait for as many turns as there are callers before them."""

_SO_ATTACH_FILTER = 26
_DROP_SYN = struct.pack(
    "=HBBIHBBIHBBIHBBI",
    *(0x30, 0, 0, 13),  # Load the flags of the TCP header.
    *(0x45, 0, 1, 0x02),  # If it is the first packet of a connection,
    *(0x06, 0, 0, 0),  # drop it, so that it is sent again, to a socket that is closed then,
    *(0x06, 0, 0, 0xFFFF),  # else keep it.
)
"""A filter of Linux (classic BPF): code, two jumps and a number in each line."""


class Loop(uvloop.Loop):
    """uvloop's loop with such servers, of a process that shares its sockets with others."""

    serves_alone = False

    async def create_server(self, protocol_factory: Callable[[], Any], *where: Any, **how: Any) -> Any:
        servers: list[Any] = [await super().create_server(protocol_factory, *where, **how)]
        for listening in [each for each in servers[0].sockets for _ in range(ACCEPTORS - 1)]:
            copy = socket.socket(fileno=os.dup(listening.fileno()))
            servers.append(await super().create_server(protocol_factory, sock=copy, backlog=how.get("backlog", 100)))
        return _Server(self, servers, protocol_factory)

    async def create_unix_server(self, protocol_factory: Callable[[], Any], *where: Any, **how: Any) -> Any:
        return _Server(self, [await super().create_unix_server(protocol_factory, *where, **how)], protocol_factory)


class LoneLoop(Loop):
    """The same of a process that has its sockets for itself, and may leave them deaf."""

    serves_alone = True


class _Server:
    """Servers of one address as one: the first has its sockets, the others copies of them."""

    def __init__(self, loop: Loop, servers: list[Any], protocol_factory: Callable[[], Any]) -> None:
        self._loop, self._servers, self._protocol_factory = loop, servers, protocol_factory
        self._taking: list[asyncio.Task[None]] = []
        self.sockets = servers[0].sockets

    async def wait_closed(self) -> None:
        """Wait until all are closed."""
        for server in self._servers:
            await server.wait_closed()

    def close(self) -> None:
        """Take who waits in the queue or is about to, and nobody from then on."""
        waiting: list[socket.socket] = []
        for listening in self.sockets:
            if self._loop.serves_alone:
                let_none_begin(listening.fileno())
            waiting += _queue(listening.fileno())
        for server in self._servers:
            server.close()
        self._taking = [self._loop.create_task(self._take(connection)) for connection in waiting]

    async def _take(self, connection: socket.socket) -> None:
        _, protocol = await self._loop.connect_accepted_socket(self._protocol_factory, connection)
        # As uvicorn tells those that are open: the answer to the request that is on its way is the last one.
        protocol.shutdown()


def let_none_begin(listening: int) -> bool:
    """Drop the packets that begin a connection, in all processes that have this socket.

    It returns once those that have begun are there; false where the system cannot, or connections begin without any.
    """
    with socket.socket(fileno=os.dup(listening)) as own:
        if sys.platform != "linux" or own.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        program = ctypes.create_string_buffer(_DROP_SYN)
        # struct sock_fprog: the number of lines, and where they are.
        pointer = struct.pack("@HP", len(_DROP_SYN) // 8, ctypes.addressof(program))
        try:
            own.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, pointer)
        except OSError:
            return False
    time.sleep(BEGUN_SECONDS)
    return True


def _queue(listening: int) -> Iterator[socket.socket]:
    with socket.socket(fileno=os.dup(listening)) as own:
        own.setblocking(False)
        for _ in range(MOST_TAKEN):
            try:
                yield own.accept()[0]
            except OSError:
                # None waits, or there are no file descriptors left.
                return
