"""``/encode-job``: jobs that encode a corpus, from their submission to the files that they wrote."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from service.jobs.job import Job, JobStatus
from service.jobs.states import Kind
from service.routes import jobs
from service.routes.encode_job import files
from service.routes.encode_job.recipes import EncodingRecipes
from service.routes.jobs.kind import JobKind, common_fields, job_path
from service.schemas.encode_jobs import EncodeJobAnswer, EncodeJobList, EncodeJobRequest
from service.state import ServerState


def job_summary(job: JobStatus, root: str) -> dict[str, Any]:
    """Return a job as ``schemas.EncodeJobSummary`` describes it."""
    output = job.artifact
    return common_fields(job) | {
        "output": output and {"manifest": f"{job_path(job, root)}/manifest", "hash": output.hash, **output.report},
    }


def job_answer(job: Job, root: str) -> dict[str, Any]:
    """Return a job as ``schemas.EncodeJobAnswer`` describes it; where its corpus lies on the server is left out."""
    recipe = job.recipe
    told = {"owner": job.owner, "tokenizer": recipe["tokenizer"], "settings": recipe["settings"]}
    return job_summary(job, root) | told


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the routes."""
    recipes, models = EncodingRecipes(state, EncodeJobRequest), (EncodeJobRequest, EncodeJobAnswer, EncodeJobList)
    words = {
        "tokenizer": "Which tokenizer: a name, a hash, `name@hash`, or the name of a model; there is a default.",
        "name": "What the job is called in lists.",
    }
    jobs.mount_kind(app, state, JobKind(Kind.ENCODE, recipes, job_summary, job_answer, *models, words))
    files.mount(app, state)
