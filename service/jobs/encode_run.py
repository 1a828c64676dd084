"""One attempt at a job that encodes, and help with one: processes that ask their workers for parts."""

from __future__ import annotations

import logging
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from service.jobs.interface import JobsUnavailable
from service.jobs.job import Job, JobProgress
from service.jobs.job_run import Attempt, Outcome, Stopped, WorkerContext
from service.jobs.leases import Lease, LeaseLost
from service.jobs.parts import Claim

_log = logging.getLogger("tokd.jobs")


class EncodingAttempt(Attempt):
    """The attempt of the worker that holds the job: it also plans the parts, and puts the files into place."""

    helping = False

    def __init__(self, context: WorkerContext, lease: Lease, directory: Path) -> None:
        super().__init__(context, lease, directory)
        self._read = 0

    def order(self) -> dict[str, Any]:
        """Say what the process is to do, and whether it only helps."""
        return super().order() | {"helping": self.helping}

    def renew(self) -> None:
        """Keep the job and the part in work; the job first, whose process ends when its lease does."""
        super().renew()
        parts, job_id = self.context.parts, self.lease.job.id
        parts.renew(job_id, self._read)
        told = parts.progress(job_id)
        if told is not None:
            self.progress = self.with_rate(JobProgress(*told, "bytes"))

    def handle(self, message: dict[str, Any]) -> Outcome:
        """Answer what is asked about parts; hand on the rest."""
        parts, job_id = self.context.parts, self.lease.job.id
        if (planned := message.get("parts")) is not None:
            self.retry_while_leased(lambda: parts.plan(self.lease, {key: tuple(part) for key, part in planned}))
        elif (key := message.get("claim")) is not None:
            try:
                answer = parts.claim(job_id, key, helping=self.helping)
            except JobsUnavailable:
                answer = Claim.NO
            self.send(f"claim {answer}")
        elif (key := message.get("release")) is not None:
            self._read = 0
            self.retry_while_leased(lambda: parts.release(job_id, key, done=message["done"]))
        elif (read := message.get("read")) is not None:
            self._read = read
        elif "left" in message:
            return "left"
        else:
            return super().handle(message)
        return None

    def let_go(self) -> None:
        """Give back the parts that are still held."""
        with suppress(JobsUnavailable):
            self.context.parts.release_all(self.lease.job.id)


class _Help(EncodingAttempt):
    """Work on the parts of a job that another worker holds."""

    helping = True

    def __init__(self, context: WorkerContext, job: Job) -> None:
        lease = Lease(job, 0, time.monotonic() + context.leases.seconds)
        super().__init__(context, lease, context.files / job.id)
        self.order_name = f"order-{context.name}.json"

    def renew(self) -> None:
        """Keep the part for another while, as long as the job is not about to end."""
        parts, seconds = self.context.parts, self.context.leases.seconds
        begun = time.monotonic()
        parts.require_work(self.lease.job.id)
        parts.renew(self.lease.job.id, self._read)
        self.lease = Lease(self.lease.job, self.lease.fence, begun + seconds)


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
