"""Help with a job that encodes: a process that joins the run of the worker that holds the job."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from service.job_process.encoding import tokens_of
from service.jobs.errors import JobsUnavailable
from service.jobs.job import Job
from service.jobs.job_run import Attempt, Outcome, Stopped, WorkerContext
from service.jobs.leases import Lease, LeaseLost
from tokenizer_core import has_free_task

_log = logging.getLogger("tokd.jobs")


class _Help(Attempt):
    """Work on the parts of a job that another worker holds."""

    def __init__(self, context: WorkerContext, job: Job) -> None:
        lease = Lease(job, 0, time.monotonic() + context.leases.seconds)
        super().__init__(context, lease, context.files / job.id)
        self.order_name = f"order-{context.name}.json"

    def order(self) -> dict[str, Any]:
        """Say what the process is to do, and that it only helps."""
        return super().order() | {"helping": True}

    def renew(self) -> None:
        """Go on, as long as the job is not about to end; after the part in work if a job waits."""
        begun = time.monotonic()
        if not self.context.leases.may_help(self.lease.job.id):
            self.send("leave")
        self.lease = Lease(self.lease.job, self.lease.fence, begun + self.context.leases.seconds)

    def handle(self, message: dict[str, Any]) -> Outcome:
        """Hear that no part is left, or why this process failed; the holder tells how far the job is."""
        return "left" if "left" in message else super().handle(message) if "failed" in message else None


def unattended(context: WorkerContext, passed_over: Collection[str]) -> Job | None:
    """Return a job with parts that nobody works on, unless it is passed over; ``None`` if there is none."""
    jobs = context.leases.encoding(passed_over)
    return next((job for job in jobs if has_free_task(tokens_of(context.files / job.id))), None)


def help_with(context: WorkerContext, job: Job) -> bool:
    """Work on parts of a job until none is left; return whether this worker may help with it again.

    Whatever is wrong here, the worker that holds the job finds it out by itself, or it is wrong here alone.
    """
    run = _Help(context, job)
    outcome: Outcome = None
    try:
        with run.process():
            outcome = run.watch()
    except OSError as error:
        _log.error("helping with job %s: %s", job.id, error)
    except Stopped:
        return False
    except (LeaseLost, JobsUnavailable):
        return True
    finally:
        with suppress(JobsUnavailable):
            if context.leases.finished_ago([job.id]).get(job.id, 0.0) is not None:
                shutil.rmtree(context.files / job.id, ignore_errors=True)
    if outcome == "left":
        return True
    _log.error("helping with job %s: %s; it is left to others", job.id, outcome or "the process died")
    return False
