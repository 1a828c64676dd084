"""The common parts of answers about jobs of all kinds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from service.jobs import JobStatus


def common_fields(job: JobStatus) -> dict[str, Any]:
    """Return the fields of a job that do not depend on its kind, but for its result."""
    error, progress = job.error, job.progress
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
    }


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
