"""One JSON line a request, without any text, id or path of the caller's making.

Lines are gathered and written many at a time in a thread, so that a reader who is slow never stalls an answer; when too
many wait, lines are dropped and counted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import BinaryIO

from service.exchange import Exchange

FLUSH_SECONDS = 0.1
MAX_WAITING = 50_000


class AccessLog:
    """Lines on their way to a stream.

    Args:
        stream: where they are written.
        dropped: told how many lines were thrown away.
    """

    def __init__(self, stream: BinaryIO, dropped: Callable[[int], None]) -> None:
        self._stream = stream
        self._dropped = dropped
        self._lines: list[tuple[float, float, Exchange]] = []
        self._writing = False

    def add(self, exchange: Exchange, seconds: float) -> None:
        """Note a request that is answered; called on the event loop."""
        if len(self._lines) >= MAX_WAITING:
            self._dropped(1)
            return
        self._lines.append((time.time(), seconds, exchange))
        if not self._writing:
            self._writing = True
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush_later)

    def _flush_later(self) -> None:
        # Taken here and not in the thread: no line can be added to a list that is being written.
        lines, self._lines = self._lines, []
        done = asyncio.get_running_loop().run_in_executor(None, self._write, lines)
        done.add_done_callback(lambda _: self._written())

    def _written(self) -> None:
        self._writing = bool(self._lines)
        if self._writing:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush_later)

    def close(self) -> None:
        """Write what is left."""
        lines, self._lines = self._lines, []
        self._write(lines)

    def _write(self, lines: list[tuple[float, float, Exchange]]) -> None:
        try:
            self._stream.write("".join(_line(*line) for line in lines).encode("ascii"))
            self._stream.flush()
        except (OSError, ValueError):
            # The reader is gone. Requests are still answered.
            self._dropped(len(lines))


def _line(at: float, seconds: float, exchange: Exchange) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    return (
        json.dumps(
            {
                "time": f"{whole}.{int(at % 1 * 1000):03d}Z",
                "method": exchange.method,
                "route": exchange.route,
                "status": exchange.status,
                "code": exchange.code,
                "milliseconds": round(seconds * 1000, 3),
                "bytes_in": exchange.bytes_in,
                "bytes_out": exchange.bytes_out,
                "tokens": exchange.tokens,
                "tokenizer": exchange.tokenizer,
            },
            separators=(",", ":"),
        )
        + "\n"
    )
