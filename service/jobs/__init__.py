"""Jobs that train and that encode: the interface for routes, the lease table in SQLite or Postgres, and the worker."""

from service.jobs.errors import IdempotencyConflict, JobFinished, JobsUnavailable, QueueFull, UnknownJob
from service.jobs.job import (
    EXTENDS_AS,
    Artifact,
    ArtifactSize,
    Job,
    JobError,
    JobProgress,
    JobRequest,
    JobStatus,
    Page,
    Prepared,
)
from service.jobs.opening import beside_worker, open_jobs
from service.jobs.states import Kind, Phase, State

__all__ = [
    "EXTENDS_AS",
    "Artifact",
    "ArtifactSize",
    "IdempotencyConflict",
    "Job",
    "JobError",
    "JobFinished",
    "JobProgress",
    "JobRequest",
    "JobStatus",
    "JobsUnavailable",
    "Kind",
    "Page",
    "Phase",
    "Prepared",
    "QueueFull",
    "State",
    "UnknownJob",
    "beside_worker",
    "open_jobs",
]
