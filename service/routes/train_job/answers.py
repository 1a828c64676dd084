"""A training job as JSON: short in lists and events, with its settings where it is asked for alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.jobs import EXTENDS_AS, Artifact, ArtifactSize, Job, JobStatus
from service.registry.directory import name_of
from service.routes.jobs.answers import common_fields
from service.routes.jobs.kind import job_path
from service.schemas.training import TrainingSettings


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
