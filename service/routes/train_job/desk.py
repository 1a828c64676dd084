"""What every route of jobs needs: the caller, threads for calls that wait, and how a job is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request

from service.auth import LOCAL, Identity, is_own_page
from service.capacity.threads import Threads
from service.errors import ServiceError
from service.jobs import EXTENDS_AS, Job, Jobs, JobStatus
from service.schemas.training import TrainingSettings
from service.state import State

THREADS = 8

T = TypeVar("T")


class Desk:
    """Where routes ask for jobs.

    Calls wait for a disk or a database, and uploads are written there: they have threads of their own and take none
    from requests that encode.
    """

    def __init__(self, state: State) -> None:
        self.jobs: Jobs = state.jobs
        settings = state.settings
        self._host = settings.host
        # Whoever can reach the machine from elsewhere, as through a proxy, has keys or said that it needs none.
        self._is_local = settings.keys is None and not settings.no_auth and settings.uds is None
        self._threads = Threads(
            THREADS,
            max_queue=settings.max_queue,
            queue_seconds=settings.queue_seconds,
            name="tokd-jobs",
            what="requests about jobs",
        )

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Run what may wait beside the event loop.

        Errors:
            ``saturated``
        """
        return await self._threads.run(work, *arguments)

    def refuse_other_sites(self, request: Request) -> None:
        """Refuse what a page of another site sends whose name leads to this machine, where no key holds it off.

        Errors:
            ``forbidden``
        """
        origin = request.headers.get("origin")
        if origin is not None and self._is_local and not is_own_page(origin, self._host):
            detail = "pages of other sites may not change jobs; behind a proxy, give the server --keys or --no-auth"
            raise ServiceError("forbidden", detail, "header origin")


def caller(request: Request) -> Identity:
    """Return who asks."""
    identity: Identity = request.scope.get("identity", LOCAL)
    return identity


def place(job_id: str) -> str:
    """Return the path of a job."""
    return f"/train-job/{job_id}"


def summary(job: JobStatus) -> dict[str, Any]:
    """Tell a job as ``schemas.JobSummary`` says."""
    progress, error, artifact = job.progress, job.error, job.artifact
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state,
        "phase": job.phase,
        "progress": progress
        and {
            "done": progress.done,
            "total": progress.total,
            "unit": progress.unit,
            "rate": progress.rate,
            "seconds_left": progress.seconds_left,
        },
        "created_at": _time(job.created_at),
        "started_at": _time(job.started_at),
        "finished_at": _time(job.finished_at),
        "attempts": job.attempts,
        "error": error and {"code": error.code, "message": error.message, "path": error.path},
        "artifact": artifact
        and {"tokenizer": artifact.hash, "name": artifact.name, "href": f"{place(job.id)}/artifact"},
    }


def whole(job: Job) -> dict[str, Any]:
    """Tell a job as ``schemas.JobAnswer`` says; where its corpus lies on the server is nobody's business."""
    settings = {name: value for name, value in job.recipe.items() if name in TrainingSettings.model_fields}
    settings["extends"] = _extended(job.recipe)
    return {**summary(job), "owner": job.owner, "settings": settings}


def _extended(recipe: Mapping[str, Any]) -> str | None:
    """Name what a job extends; jobs of earlier versions kept its hash or, before that, its place alone."""
    name = recipe.get(EXTENDS_AS) or recipe.get("extends_hash")
    place = recipe.get("extends")
    return name or (place and Path(place).name)


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
