"""The interface of jobs for routes. Every call may block on a disk or a database: make it in a thread."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from service.errors import ServiceError, quote
from service.jobs.job import Job, JobRequest, JobStatus, Page, Prepared
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


class Jobs(Protocol):
    """Jobs, as their callers see them; any call can raise ``JobsUnavailable``."""

    def prepare(self) -> Prepared:
        """Make a directory for the uploads of a job that will be submitted; without a job it is removed in time."""

    def discard(self, prepared: Prepared) -> None:
        """Remove what was prepared, since it is not submitted."""

    def submit(self, request: JobRequest) -> tuple[Job, bool]:
        """Queue a job and return whether it is new: the same request under the same key gives the job there is.

        What was prepared for a request that makes no new job is removed.

        Raises:
            IdempotencyConflict, QueueFull
        """

    def get(self, job_id: str, owner: str | None, kind: Kind | None = None) -> Job:
        """Return a job; an owner of ``None`` sees all. A job of another kind, if one is given, is unknown.

        Raises:
            UnknownJob
        """

    def list(
        self,
        *,
        owner: str | None,
        kind: Kind | None = None,
        states: Collection[State] = (),
        before: str | None = None,
        limit: int = 50,
    ) -> Page:
        """Return jobs, newest first; ``before`` is the cursor of an earlier page."""

    def cancel(self, job_id: str, owner: str | None, kind: Kind | None = None) -> Job:
        """Cancel a job, again and again if need be.

        Raises:
            UnknownJob, JobFinished
        """

    def status(self, job_id: str, owner: str | None, kind: Kind | None = None) -> JobStatus:
        """Return the present state of a job without its request; never wait for a change.

        Raises:
            UnknownJob
        """

    def counts(self) -> Mapping[tuple[Kind, State], int]:
        """Count the jobs that are kept, by kind and state."""

    def close(self) -> None:
        """Let go of connections."""
