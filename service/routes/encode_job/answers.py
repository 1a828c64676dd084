"""A job that encodes as JSON: short in lists and events, with its settings where it is asked for alone."""

from __future__ import annotations

from typing import Any

from service.jobs import Job, JobStatus
from service.routes.jobs.answers import common_fields
from service.routes.jobs.kind import job_path


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
