"""``GET /train-job/{id}/events``, and of other kinds: a job's changes as server-sent events."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated

import orjson
from fastapi import FastAPI, Header, Request
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from service.admission.threads import saturated
from service.errors import ServiceError
from service.jobs.errors import UnknownJob
from service.jobs.job import JobStatus
from service.routes.jobs.access import Access, JobAccess, caller
from service.routes.jobs.kind import JobKind, Summary
from service.routes.jobs.listing import JobId
from service.routes.json_route import PROBLEM_RESPONSES

MAX_STREAMS = 64
"""Streams of one process at once."""

LOOK_SECONDS = 0.5
KEEP_ALIVE_SECONDS = 15.0

_DESCRIPTION = "One event a change, each with an `id`; its data is a job as in the list. The stream ends with the job."
_STREAM = {"text/event-stream": {"schema": {"type": "string"}}}
LastEventId = Annotated[str | None, Header(description="The `id` of the last event that was seen.")]


class EventStream(Response):
    """The changes of one job, until it ends, the caller goes away or the server is told to end.

    Args:
        others: the streams that are open; this one is among them while it is sent.
        seen: the version that the caller knows.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        access: JobAccess,
        summary: Summary,
        others: set[EventStream],
        owner: str | None,
        job: JobStatus,
        seen: int,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._access, self._summary, self._others = access, summary, others
        self._owner, self._job, self._seen = owner, job, seen
        self._ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events.

        Errors:
            ``saturated``
        """
        if len(self._others) >= MAX_STREAMS:
            raise saturated(f"{MAX_STREAMS} callers watch jobs")
        self._others.add(self)
        # The connection sets it when the server is told to end, which a stream would else keep it from.
        scope["ending"] = self._ending
        listening = asyncio.create_task(self._listen(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for event in self._events():
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            listening.cancel()
            self._others.discard(self)

    async def _listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._ending.set()

    async def _events(self) -> AsyncIterator[bytes]:
        job, seen, quiet, told = self._job, self._seen, 0.0, b""
        yield b"retry: 2000\n\n"
        while True:
            if job.version > seen:
                seen = job.version
                # The changes of a new version may be nothing that a caller sees.
                if (data := orjson.dumps(self._summary(job, self._access.link_root))) != told:
                    told, quiet = data, 0.0
                    yield b"id: %d\nevent: job\ndata: %b\n\n" % (seen, data)
            if quiet >= KEEP_ALIVE_SECONDS:
                quiet = 0.0
                yield b": keep-alive\n\n"
            if job.has_ended:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._ending.wait()
                return
            quiet += LOOK_SECONDS
            # The store is away, or more wait for it than may: it is asked again.
            with suppress(ServiceError):
                try:
                    job = await self._access.run(self._access.jobs.status, job.id, self._owner)
                except UnknownJob:
                    return


def mount(app: FastAPI, of: JobKind) -> None:
    """Declare the route of a kind; one process has so many streams of all kinds."""
    streams: set[EventStream] = app.state.event_streams

    async def job_events(request: Request, access: Access, id: JobId, last_event_id: LastEventId = None) -> Response:
        """Tell every change of a job while it happens, beginning with how it stands, or after the last event seen."""
        owner = caller(request).owner
        job = await access.run(access.jobs.status, id, owner, of.kind)
        seen = int(last_event_id) if last_event_id and re.fullmatch(r"[0-9]{1,18}", last_event_id) else 0
        if seen == job.version and job.has_ended:
            return Response(status_code=204)
        return EventStream(access, of.summary, streams, owner, job, seen if seen <= job.version else 0)

    responses = PROBLEM_RESPONSES | {
        200: {"description": _DESCRIPTION, "content": _STREAM},
        204: {"description": "All was seen, and the job has ended: do not come again."},
    }
    name = f"{of.kind}_job_events"
    app.get(f"{of.path}/{{id}}/events", name=name, response_class=Response, responses=responses)(job_events)
