"""``/train-job``: training jobs, from their submission to the archive of what they published."""

from __future__ import annotations

from fastapi import FastAPI

from service.jobs import Kind
from service.routes import jobs
from service.routes.jobs.kind import JobKind
from service.routes.train_job import archive
from service.routes.train_job.answers import job_answer, job_summary
from service.routes.train_job.documented import REQUEST_BODY, schemas
from service.routes.train_job.recipes import TrainingRecipes
from service.schemas.training import JobAnswer, JobList
from service.state import ServerState

__all__ = ["mount", "schemas"]


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the routes."""
    of = JobKind(Kind.TRAIN, TrainingRecipes(state), job_summary, job_answer, JobAnswer, JobList, REQUEST_BODY)
    jobs.mount_kind(app, state, of)
    archive.mount(app, state)
