"""The errors of the store of jobs."""

from __future__ import annotations

from service.errors import ServiceError, quote
from service.jobs.job import JobStatus
from service.jobs.states import Kind, State


class UnknownJob(ServiceError):
    """There is no such job, or it belongs to somebody else; the answer does not say which."""

    def __init__(self, job_id: str, kind: Kind | None = None) -> None:
        listed = " and ".join(f"GET /{each}-job" for each in Kind if kind in (None, each))
        super().__init__("job_not_found", f"there is no job {quote(job_id)}; {listed} lists yours")


class JobFinished(ServiceError):
    """An ended job cannot be cancelled."""

    def __init__(self, job: JobStatus) -> None:
        how = "is about to end: its result is put into place" if job.state is State.RUNNING else f"has {job.state}"
        super().__init__("job_finished", f"the job {how}; it cannot be cancelled any more")


class IdempotencyConflict(ServiceError):
    """The same key came with another request before."""

    def __init__(self) -> None:
        super().__init__(
            "idempotency_conflict",
            "this Idempotency-Key was used for another request; take a new one, or send the same request",
            "header idempotency-key",
        )


class QueueFull(ServiceError):
    """As many jobs wait as may."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        super().__init__(
            "queue_full",
            f"{waiting} jobs wait already; try again in {retry_after} seconds",
            headers=((b"retry-after", str(retry_after).encode("ascii")),),
        )
        self.retry_after = retry_after


class JobsUnavailable(ServiceError):
    """The store of jobs cannot be reached or written.

    Args:
        reason: of a disk; that of a database server may hold what callers are not told.
    """

    def __init__(self, retry_after: int, reason: str | None = None) -> None:
        why = "the server's log says why" if reason is None else reason
        super().__init__(
            "jobs_unavailable",
            f"the store of jobs cannot be reached or written now; {why}",
            headers=((b"retry-after", str(retry_after).encode("ascii")),),
        )
