"""``GET /healthz``, ``/readyz`` and ``/metrics``: for what watches the server."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Response
from starlette.concurrency import run_in_threadpool

from service.jobs import JobsUnavailable
from service.routes.json_route import PROBLEM_RESPONSES
from service.schemas.answers import Health
from service.state import State
from service.telemetry.metrics import MEDIA_TYPE


def mount(app: FastAPI, state: State) -> None:
    """Declare the routes."""

    @app.get("/healthz", response_model=Health)
    async def healthz() -> Any:
        """Say that the process answers."""
        return {"status": "ok"}

    @app.get("/readyz", response_model=Health, responses=PROBLEM_RESPONSES)
    async def readyz() -> Any:
        """Say that every artifact is loaded and verified and there is room for requests; 503 if not."""
        state.limits.admit()
        return {"status": "ready"}

    @app.get(
        "/metrics",
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus's format."}
        },
    )
    async def metrics() -> Response:
        """Give the numbers of all processes of this server."""
        state.metrics.update_gauges(state.limits)
        try:
            counts = await run_in_threadpool(state.jobs.counts)
            jobs = {str(name): count for name, count in counts.items()}
        except JobsUnavailable:
            # What is known of the server is worth more without the jobs than nothing at all.
            jobs = {}
        return Response(state.metrics.page(jobs), media_type=MEDIA_TYPE)
