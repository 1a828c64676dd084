"""``/encode-job``: jobs that encode a corpus, from their submission to the files that they wrote."""

from __future__ import annotations

from fastapi import FastAPI

from service.jobs import Kind
from service.routes import jobs
from service.routes.encode_job import files
from service.routes.encode_job.answers import job_answer, job_summary
from service.routes.encode_job.recipes import EncodingRecipes
from service.routes.jobs.kind import JobKind
from service.schemas.encode_jobs import EncodeJobAnswer, EncodeJobList, EncodeJobRequest
from service.state import ServerState


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the routes."""
    recipes, models = EncodingRecipes(state, EncodeJobRequest), (EncodeJobRequest, EncodeJobAnswer, EncodeJobList)
    words = {
        "tokenizer": "Which tokenizer: a name, a hash, `name@hash`, or the name of a model; there is a default.",
        "name": "What the job is called in lists.",
    }
    jobs.mount_kind(app, state, JobKind(Kind.ENCODE, recipes, job_summary, job_answer, *models, words))
    files.mount(app, state)
