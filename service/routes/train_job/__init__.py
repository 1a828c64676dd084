"""``/train-job``: training jobs, from their submission to the archive of what they published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from service.jobs.job import EXTENDS_AS, Artifact, ArtifactSize, Job, JobStatus
from service.jobs.states import Kind
from service.registry.directory import name_of
from service.routes import jobs
from service.routes.jobs.kind import JobKind, common_fields, job_path
from service.routes.train_job import archive
from service.routes.train_job.recipes import TrainingRecipes
from service.schemas.training import JobAnswer, JobList, TrainingSettings, TrainJobRequest
from service.state import ServerState


def job_summary(job: JobStatus, root: str) -> dict[str, Any]:
    """Return a job as ``schemas.JobSummary`` describes it."""
    common, progress, artifact = common_fields(job), job.progress, job.artifact
    learned = progress and {"tokens_per_byte": progress.tokens_per_byte, "newest": list(progress.newest)}
    return common | {
        "progress": learned and common["progress"] | learned,
        "artifact": artifact and _artifact(artifact, f"{job_path(job, root)}/artifact"),
    }


def job_answer(job: Job, root: str) -> dict[str, Any]:
    """Return a job as ``schemas.JobAnswer`` describes it; where its corpus lies on the server is left out."""
    settings = {name: value for name, value in job.recipe.items() if name in TrainingSettings.model_fields}
    settings["extends"] = _extended(job.recipe)
    return {**job_summary(job, root), "owner": job.owner, "settings": settings}


def _artifact(artifact: Artifact, href: str) -> dict[str, Any]:
    sizes = [{"size": one.size, **_reference(one), "href": f"{href}?size={one.size}"} for one in artifact.sizes]
    return {**_reference(artifact), "href": href, "sizes": sizes}


def _reference(made: Artifact | ArtifactSize) -> dict[str, str | None]:
    """Return what a tokenizer may be asked for by: no name if the job gave none, although its manifest has one."""
    return {"tokenizer": made.hash, "name": name_of(Path(made.directory))}


def _extended(recipe: Mapping[str, Any]) -> str | None:
    """Name the tokenizer that a job extends; jobs of earlier versions kept its hash or, before that, only its path."""
    name = recipe.get(EXTENDS_AS) or recipe.get("extends_hash")
    directory = recipe.get("extends")
    return name or (directory and Path(directory).name)


def mount(app: FastAPI, state: ServerState) -> None:
    """Declare the routes."""
    recipes, models = TrainingRecipes(state, TrainJobRequest), (TrainJobRequest, JobAnswer, JobList)
    words = {"name": "The artifact's name."}
    jobs.mount_kind(app, state, JobKind(Kind.TRAIN, recipes, job_summary, job_answer, *models, words))
    archive.mount(app, state)
