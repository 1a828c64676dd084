"""The parser of a stream of events about a job."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Generic, TypeVar

import httpx
import orjson

from service.client.answers import EncodeJob, Job
from service.client.errors import ServerFault, from_answer, no_answer, not_tokd
from service.client.pauses import growing_pause, pause_after

AnyJob = TypeVar("AnyJob", Job, EncodeJob)

EVENTS = "text/event-stream"
LAST_PAUSE = 5.0
RESTART_SECONDS = 60.0
"""Time that a server may be away after its last event, as during a restart."""

MAX_EVENT_BYTES = 1 << 20
"""An event of tokd takes some hundred bytes; what never ends must not fill the memory."""

_EVENT_ID = re.compile(rb"[!-~]{1,200}")
"""Event ids that can be sent back in a header."""


class EventReader(Generic[AnyJob]):
    """Reads a stream of events, over any number of connections.

    Args:
        path: of the job.
        tries: connections in a row that may bring nothing, neither an event nor a keep-alive comment.

    Attributes:
        headers: of the next connection; they name the last event, so that none comes twice.
    """

    def __init__(self, path: str, tries: int, job: type[AnyJob]) -> None:
        self.path = f"{path}/events"
        self._job: type[AnyJob] = job
        self.headers = {"accept": EVENTS}
        self._tries = tries
        self._failures = 0
        self._until = 0.0
        # Of the event that is not complete: what is no line yet, its fields, and the bytes of their lines.
        self._rest, self._data, self._id, self._held = bytearray(), list[bytes](), b"", 0
        self._is_alive = False
        self._asked = 0.0

    @property
    def pause(self) -> float:
        """Seconds to wait before the next connection."""
        return max(self._asked, growing_pause(self._failures, LAST_PAUSE))

    def begin(self, answer: httpx.Response) -> None:
        """Begin to read an answer.

        Raises:
            ServerFault: it is not a stream of events.
        """
        if answer.headers.get("content-type", "").partition(";")[0].strip().lower() != EVENTS:
            raise not_tokd(answer)
        self._rest = bytearray()
        self._drop_fields()
        self._is_alive, self._asked = False, 0.0

    def push(self, data: bytes) -> Iterator[AnyJob]:
        """Take what came; yield the job of every event that is complete.

        Raises:
            ServerFault: an event is not one of tokd's.
        """
        self._rest += data
        if b"\n" in data:
            # Lines of bytes: as text they would also end at U+2028, and others that stand in JSON as they are.
            *lines, rest = self._rest.split(b"\n")
            self._rest = rest
            for line in lines:
                job = self._take(bytes(line.removesuffix(b"\r")))
                if job is not None:
                    yield job
        if self._held + len(self._rest) > MAX_EVENT_BYTES:
            raise self._alien(f"events of more than {MAX_EVENT_BYTES} bytes")

    def _take(self, line: bytes) -> AnyJob | None:
        if not line:
            return self._complete()
        if line.startswith((b":", b"data")):
            self._is_alive, self._failures = True, 0
            self._until = time.monotonic() + RESTART_SECONDS
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id":
            self._id = value
        if name:
            # Not a comment, of which any number may keep a stream alive.
            self._held += len(line) + 1
        return None

    def _complete(self) -> AnyJob | None:
        data, id = b"\n".join(self._data), self._id
        self._drop_fields()
        if not data:
            return None
        try:
            job: AnyJob = self._job(orjson.loads(data))
        except (KeyError, TypeError, ValueError):
            raise self._alien("events") from None
        if _EVENT_ID.fullmatch(id) is None:
            raise self._alien("events")
        self.headers["last-event-id"] = id.decode("ascii")
        return job

    def _drop_fields(self) -> None:
        self._data, self._id, self._held = [], b"", 0

    def _alien(self, what: str) -> ServerFault:
        message = f"{self.path} tells {what} that are not tokd's; check the address"
        return ServerFault(message, code="internal", status=200)

    def refused(self, answer: httpx.Response) -> None:
        """Handle an answer other than a stream: a saturated service is asked again after a pause.

        Raises:
            TokdError: the answer is final.
        """
        pause = None if self._gives_up() else pause_after(answer, 1, 2)
        if pause is None:
            raise from_answer(answer)
        self._asked = pause

    def lost(self, error: httpx.RequestError) -> None:
        """Handle the failure of a connection.

        Raises:
            Unreachable: too many connections in a row brought nothing.
        """
        self._asked = 0.0
        if self._gives_up():
            raise no_answer(error) from error

    def _gives_up(self) -> bool:
        """Return whether too many connections in a row have brought nothing."""
        self._failures += 1
        return self._failures >= self._tries and time.monotonic() >= self._until

    def ended(self) -> None:
        """Handle the end of a stream whose job has not ended, as when the server is restarted.

        Raises:
            ServerFault: too many streams in a row brought nothing.
        """
        if not self._is_alive and self._gives_up():
            message = f"{self.path} ended without an event, at every try; check the address and what stands before it"
            raise ServerFault(message, code="internal", status=200)
