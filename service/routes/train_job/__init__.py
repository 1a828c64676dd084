"""``/train-job``: training jobs, from their submission to the archive of what they published."""

from __future__ import annotations

from fastapi import FastAPI

from service.jobs import Kind
from service.routes import jobs
from service.routes.jobs.kind import JobKind
from service.routes.train_job import archive
from service.routes.train_job.answers import job_answer, job_summary
from service.routes.train_job.recipes import TrainingRecipes
from service.schemas.training import JobAnswer, JobList, TrainJobRequest
from service.state import ServerState


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the routes."""
    recipes, models = TrainingRecipes(state, TrainJobRequest), (TrainJobRequest, JobAnswer, JobList)
    words = {"name": "The artifact's name."}
    jobs.mount_kind(app, state, JobKind(Kind.TRAIN, recipes, job_summary, job_answer, *models, words))
    archive.mount(app, state)
