"""``/train-job``: training jobs, from their submission to the archive of what they published."""

from __future__ import annotations

from fastapi import FastAPI

from service.routes.train_job import archive, events, jobs, submit
from service.routes.train_job.access import JobAccess
from service.routes.train_job.documented import schemas
from service.state import State

__all__ = ["mount", "schemas"]


def mount(app: FastAPI, state: State) -> None:
    """Declare the routes."""
    app.state.job_access = JobAccess(state)
    for module in (submit, jobs, events, archive):
        module.mount(app, state)
