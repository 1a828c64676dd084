"""``GET /healthz``, ``/readyz`` and ``/metrics``: for what watches the server."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Response
from starlette.concurrency import run_in_threadpool

from service.jobs.errors import JobsUnavailable
from service.routes.json_route import PROBLEM_RESPONSES
from service.routes.server import Server
from service.schemas.answers import Health
from service.state import ServerState
from service.telemetry.metrics import MEDIA_TYPE


async def healthz() -> Any:
    """Say that the process answers."""
    return {"status": "ok"}


async def readyz(server: Server) -> Any:
    """Say that every artifact is loaded and verified and there is room for requests; 503 if not, or about to end."""
    server.limits.require_ready()
    return {"status": "ready"}


async def metrics(server: Server) -> Response:
    """Give the numbers of all processes of this server."""
    server.metrics.update_gauges(server.limits)
    try:
        counts = {} if server.jobs is None else await run_in_threadpool(server.jobs.counts)
        jobs = {(str(kind), str(state)): count for (kind, state), count in counts.items()}
    except JobsUnavailable:
        # The numbers of the server without those of the jobs are worth more than nothing at all.
        jobs = {}
    return Response(server.metrics.page(jobs), media_type=MEDIA_TYPE)


def mount(app: FastAPI, _: ServerState) -> None:
    """Declare the routes."""
    page = {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus's format."}
    app.get("/healthz", response_model=Health)(healthz)
    app.get("/readyz", response_model=Health, responses=PROBLEM_RESPONSES)(readyz)
    app.get("/metrics", response_class=Response, responses={200: page})(metrics)
