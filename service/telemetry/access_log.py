"""Write one line a request, JSON or plain on a terminal, without texts, ids of tokens or paths of the caller.

Lines are gathered and written many at a time in a thread of their own, so that a reader who is slow never stalls an
answer, nor one who stands still the end of the server; when too many wait, lines are dropped and counted. Several
processes that write to one stream do so in turns.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_UN, lockf
from queue import SimpleQueue
from select import select
from typing import BinaryIO

from service.log_lines import json_line
from service.request_log import LogEntry

FLUSH_SECONDS = 0.1
MAX_WAITING = 50_000

END_SECONDS = 1.0
"""Time that a stopping server waits for its last lines to be read."""

_Line = tuple[float, float, LogEntry]


class AccessLog:
    """Lines on their way to a stream.

    Args:
        stream: where they are written.
        dropped: called with the number of lines that were thrown away.
    """

    def __init__(self, stream: BinaryIO, dropped: Callable[[int], None]) -> None:
        # Not through its buffer: Python flushes that when it ends, and would wait there for the reader.
        self._stream = getattr(stream, "raw", stream)
        self._line = _plain_line if stream.isatty() else _json_line
        self._dropped = dropped
        self._lines: list[_Line] = []
        self._is_due = False
        self._given: SimpleQueue[list[_Line] | None] = SimpleQueue()
        # Each is counted on one side only: on the event loop, and in the thread.
        self._given_lines = self._written_lines = 0
        self._writer = threading.Thread(target=self._write_all, name="tokd-access-log", daemon=True)

    def add(self, log_entry: LogEntry, seconds: float) -> None:
        """Note a request that is answered; called on the event loop."""
        if len(self._lines) >= MAX_WAITING:
            self._dropped(1)
            return
        self._lines.append((time.time(), seconds, log_entry))
        if not self._is_due:
            self._is_due = True
            self._flush_later()

    def _flush_later(self) -> None:
        asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def _flush(self) -> None:
        if self._given_lines > self._written_lines:
            self._flush_later()
            return
        self._give()
        self._is_due = False

    def _give(self) -> None:
        # Taken here and not in the thread: no line can be added to a list that is being written.
        lines, self._lines = self._lines, []
        self._given_lines += len(lines)
        self._given.put(lines)
        if self._writer.ident is None:
            self._writer.start()

    def close(self) -> None:
        """Write what is left, as far as it is read in a short time."""
        self._give()
        self._given.put(None)
        self._writer.join(END_SECONDS)
        self._dropped(self._given_lines - self._written_lines)

    def _write_all(self) -> None:
        while (lines := self._given.get()) is not None:
            try:
                data = "".join(f"{self._line(*line)}\n" for line in lines).encode("ascii")
                with _in_turn(self._stream):
                    self._write(data)
            except (OSError, ValueError):
                # The reader is gone. Requests are still answered.
                self._dropped(len(lines))
            self._written_lines += len(lines)

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            written = self._stream.write(left)
            if written is None:
                # It does not wait for its reader by itself: who made it, such as Node.js, wants it so on its own side.
                select([], [self._stream], [])
            else:
                left = left[written:]


@contextmanager
def _in_turn(stream: BinaryIO) -> Iterator[None]:
    """Hold off the other processes: a pipe that is full takes a part of the lines, and theirs would go on in the middle
    of one.
    """
    # A stream that cannot be locked, such as one that is not a file, has no other writer.
    with suppress(OSError):
        lockf(stream, LOCK_EX)
    try:
        yield
    finally:
        with suppress(OSError):
            lockf(stream, LOCK_UN)


def _plain_line(_: float, seconds: float, log_entry: LogEntry) -> str:
    what = f"{log_entry.method} {log_entry.route} {log_entry.status} {log_entry.code or ''}".rstrip()
    return f"INFO: {what}, {log_entry.tokens} tokens in {seconds * 1000:.1f} ms"


def _json_line(at: float, seconds: float, log_entry: LogEntry) -> str:
    trace = dict(log_entry.trace)
    fields = {
        "method": log_entry.method,
        "route": log_entry.route,
        "status": log_entry.status,
        "code": log_entry.code,
        "milliseconds": round(seconds * 1000, 3),
        "bytes_in": log_entry.bytes_in,
        "bytes_out": log_entry.bytes_out,
        "tokens": log_entry.tokens,
        "tokenizer": log_entry.tokenizer,
        "key": log_entry.key,
        "client": log_entry.client,
        "request_id": trace.get(b"x-request-id", b"").decode("ascii"),
        "traceparent": trace.get(b"traceparent", b"").decode("ascii"),
    }
    return json_line(at, fields)
