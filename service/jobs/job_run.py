"""One attempt at a job: a process, watched by the worker that holds the lease.

Whatever ends the attempt, the process and all it started are gone before the job is released. The process knows when
the lease runs out and ends by itself a little earlier, so that it never runs at the same time as its successor, even
when this worker is stopped meanwhile.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

from service.job_process.control import renice
from service.job_process.disk import disk_error
from service.jobs.errors import JobsUnavailable
from service.jobs.job import EXTENDS_AS, Artifact, JobError, JobProgress
from service.jobs.leases import Lease, LeaseLost, Leases
from service.jobs.limits import JobLimits
from service.jobs.states import Event, Kind, Stage
from service.log_lines import is_log_plain
from tokenizer_core import TimeLeft

COMMANDS: Mapping[Kind, Sequence[str]] = {
    Kind.TRAIN: (sys.executable, "-m", "service.job_process.training"),
    Kind.ENCODE: (sys.executable, "-m", "service.job_process.encoding"),
}
"""Start the process of a job of a kind; the file with its order comes last."""

HEARTBEAT_SECONDS = 0.5
"""Between two heartbeats, and so the longest time that a cancelled job goes on."""

_MARGIN = 0.2
"""The part of a lease that the process leaves unused."""

_PIPE_BYTES = 1 << 16
_PHASES = {"merging": Event.MERGE, "publishing": Event.PUBLISH}
_INTERNAL = JobError("internal", "this server has a bug or a wrong set-up; the worker's log says where")
_log = logging.getLogger("tokd.jobs")


class Stopped(Exception):
    """The worker is stopping."""


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """The configuration that all attempts of one worker share.

    Args:
        name: of the worker.
        files: holds a directory for each job.
        targets: where results of a kind are published.
        stopping: returns whether the worker is stopping.
    """

    name: str
    leases: Leases
    limits: JobLimits
    files: Path
    targets: Mapping[Kind, Path]
    stopping: Callable[[], bool]
    commands: Mapping[Kind, Sequence[str]]


def attempt(context: WorkerContext, lease: Lease) -> None:
    """Do a job, and leave it finished, back in the queue, or with the worker that has it by now."""
    directory = context.files / lease.job.id
    try:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            run = Attempt(context, lease, directory)
            run.target.mkdir(parents=True, exist_ok=True)
            with run.process():
                outcome = run.watch()
            run.end(outcome)
        except OSError as error:
            _log.error("job %s: %s", lease.job.id, error)
            of_disk = disk_error(error)
            context.leases.fail(lease, _INTERNAL if of_disk is None else JobError(*of_disk))
        except Stopped:
            context.leases.give_back(lease, crashed=False)
    except LeaseLost:
        _log.warning("job %s was cancelled or is another worker's by now", lease.job.id)
    except JobsUnavailable:
        _log.warning("releasing job %s: its lease expires", lease.job.id)
        return
    with suppress(JobsUnavailable):
        if context.leases.finished_ago([lease.job.id]).get(lease.job.id, 0.0) is not None:
            shutil.rmtree(directory, ignore_errors=True)


Outcome = Artifact | JobError | Literal["left"] | None
"""The outcome of a process; ``left`` of one that only helped, ``None`` if it died without a message."""


class Attempt:
    """One run of a job's process."""

    order_name = "order.json"

    def __init__(self, context: WorkerContext, lease: Lease, directory: Path) -> None:
        self.context = context
        self.lease = lease
        self._directory = directory
        self.target = context.targets[lease.job.kind]
        self.progress: JobProgress | None = None
        self._phase_from: tuple[float, int] | None = None
        self._time_left = TimeLeft()
        self._began = time.monotonic()
        self._process: subprocess.Popen[bytes]

    @contextmanager
    def process(self) -> Iterator[None]:
        """Run the process for as long as the context lasts."""
        order = self._directory / self.order_name
        order.write_text(json.dumps({**self.order(), "is_log_plain": is_log_plain()}), encoding="utf-8")
        command = [*self.context.commands[self.lease.job.kind], str(order)]
        self._process = subprocess.Popen(  # noqa: S603 (nothing of a caller is in it)
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        renice(self._process.pid, self.context.limits.nice)
        try:
            yield
        finally:
            _end(self._process)
            for pipe in (self._process.stdin, self._process.stdout):
                _pipe(pipe).close()

    def watch(self) -> Outcome:
        """Read what the process writes and keep the lease, until the process ends or something ends the job."""
        output = _pipe(self._process.stdout)
        os.set_blocking(_pipe(self._process.stdin).fileno(), False)
        rest = b""
        heartbeat_at = 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while True:
                if (now := time.monotonic()) >= heartbeat_at:
                    heartbeat_at = now + HEARTBEAT_SECONDS
                    error = self._heartbeat()
                    if error is not None:
                        return error
                if not selector.select(max(0.0, heartbeat_at - time.monotonic())):
                    continue
                data = os.read(output.fileno(), _PIPE_BYTES)
                if not data:
                    return None
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    outcome = self.handle(json.loads(line))
                    if outcome is not None:
                        return outcome

    def end(self, outcome: Outcome) -> None:
        """Record how the process ended."""
        lease, leases = self.lease, self.context.leases
        if isinstance(outcome, Artifact):
            self.retry_while_leased(lambda: leases.succeed(lease, outcome))
            _log.info("job %s has succeeded: %s", lease.job.id, outcome.hash)
        elif isinstance(outcome, JobError):
            self.retry_while_leased(lambda: leases.fail(lease, outcome))
            _log.info("job %s has failed: %s", lease.job.id, outcome.code)
        else:
            how = _exit_reason(self._process.returncode)
            _log.error("job %s: its process died: %s", lease.job.id, how)
            if lease.job.attempts >= leases.max_attempts:
                self.retry_while_leased(lambda: leases.fail(lease, leases.crashed(f"the last time by {how}")))
            else:
                self.retry_while_leased(lambda: leases.give_back(lease, crashed=True))

    def order(self) -> dict[str, Any]:
        """Say what the process is to do."""
        context, job = self.context, self.lease.job
        return context.limits.order(context.files) | {
            "recipe": {name: value for name, value in job.recipe.items() if name != EXTENDS_AS},
            "name": job.name,
            "directory": str(self._directory),
            "target": str(self.target),
            "until": self._until(),
            "helping": False,
        }

    def _until(self) -> float:
        return self.lease.until - _MARGIN * self.context.leases.seconds

    def _heartbeat(self) -> JobError | None:
        """Renew the lease; return what ends the job.

        Raises:
            LeaseLost, Stopped
        """
        if self.context.stopping():
            raise Stopped
        try:
            self.renew()
        except JobsUnavailable:
            # If the store does not come back, the process ends by itself when the lease does.
            if time.monotonic() >= self.lease.until:
                raise
        else:
            self.send(f"until {self._until():.3f}")
        limits = self.context.limits
        return (
            limits.over_time(time.monotonic() - self._began)
            or limits.over_memory(self._process.pid)
            or limits.over_disk((self._directory, self.target))
        )

    def renew(self) -> None:
        """Keep the job for another while.

        Raises:
            LeaseLost, JobsUnavailable
        """
        self.lease = self.context.leases.renew(self.lease, self.progress)

    def handle(self, message: dict[str, Any]) -> Outcome:
        """Do what a message of the process says; return its outcome if it is the last one."""
        leases, lease = self.context.leases, self.lease
        if (phase := message.get("phase")) is not None:
            self._phase_from, unit = None, message.get("unit")
            # By the unit a phase has its name, from the beginning on.
            self.progress = JobProgress(0, None, unit) if unit not in (None, "merges") else None
            self._time_left = TimeLeft()
            # A job that was committing when its worker died stays what it is until it is committed.
            if phase in _PHASES and lease.job.stage is not Stage.COMMITTING:
                self.retry_while_leased(lambda: leases.advance(lease, _PHASES[phase], self.progress))
        elif (progress := message.get("progress")) is not None:
            self.progress = self.with_rate(JobProgress(**progress))
        elif "ready" in message:
            self.retry_while_leased(lambda: leases.advance(lease, Event.COMMIT))
            self.send("go")
        elif (published := message.get("published")) is not None:
            return Artifact(**published)
        elif (failed := message.get("failed")) is not None:
            return JobError(**failed)
        return None

    def with_rate(self, progress: JobProgress) -> JobProgress:
        """Add how fast the phase goes."""
        now = time.monotonic()
        if self._phase_from is None or progress.done < self._phase_from[1]:
            self._phase_from = now, progress.done
        began, done = self._phase_from
        rate = (progress.done - done) / (now - began) if now > began else None
        left = self._time_left.at(now, progress.done, progress.total, progress.unit)
        return replace(progress, rate=rate, seconds_left=None if left is None else round(left, 1))

    def retry_while_leased(self, write: Callable[[], None]) -> None:
        """Write a change; while the store cannot be reached, try again until the lease runs out."""
        while True:
            try:
                write()
            except JobsUnavailable:
                if time.monotonic() >= self.lease.until:
                    raise
                time.sleep(HEARTBEAT_SECONDS)
            else:
                return

    def send(self, line: str) -> None:
        """Write a line to the process."""
        # A process that does not read ends when its lease does; one that died is seen at its other pipe.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(_pipe(self._process.stdin).fileno(), line.encode("ascii") + b"\n")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all it started, and wait until it is gone."""
    with suppress(ProcessLookupError):
        # The group is there as long as its leader is not waited for, even a dead one.
        os.killpg(process.pid, signal.SIGKILL)
    # A killed process still needs processor time to end, which the lowest priority may not get for long. Only root may
    # raise the priority.
    with suppress(OSError):
        for thread in Path(f"/proc/{process.pid}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), 0)
    process.wait()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("a process was started without its pipes")
    return pipe


def _exit_reason(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"
