"""Run one job after another until told to stop."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from service.job_process.control import ignore_hangup
from service.jobs.database import translated
from service.jobs.errors import JobsUnavailable
from service.jobs.helping import help_with, unattended
from service.jobs.job_run import COMMANDS, WorkerContext, attempt
from service.jobs.leases import Leases
from service.jobs.limits import JobLimits
from service.jobs.states import Kind
from service.jobs.store import JobStore, is_id
from service.registry.places import encoded_directory, tokenizers_directory
from service.settings import Settings

IDLE_SECONDS = 0.5
SWEEP_SECONDS = 60.0
_UNREACHABLE_SECONDS = 2.0
_FINISHED_SECONDS = 60.0
"""A job that ended this long ago has nobody left who would remove its files."""

_ABANDONED_SECONDS = 3600.0
"""Files of no job at all are an upload under way, or what is left of one."""

_DAY = 86_400.0
_log = logging.getLogger("tokd.jobs")


class Worker:
    """One worker: it has one job at a time, in a process of its own.

    Args:
        commands: start the process of a job, by its kind.
    """

    def __init__(self, settings: Settings, commands: Mapping[Kind, Sequence[str]] = COMMANDS) -> None:
        self._store = JobStore.open(settings)
        self._leases = Leases(self._store.database, seconds=settings.lease_seconds, max_attempts=settings.job_attempts)
        self._keep_jobs, self._keep_seconds = settings.keep_jobs, settings.keep_days * _DAY
        self._stop = threading.Event()
        # Jobs that this worker failed to help with; those of long ago have ended.
        self._passed_over: deque[str] = deque(maxlen=100)
        self.name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._context = WorkerContext(
            name=self.name,
            leases=self._leases,
            limits=JobLimits(settings),
            files=self._store.directory,
            targets={Kind.TRAIN: tokenizers_directory(settings), Kind.ENCODE: encoded_directory(settings)},
            stopping=self._stop.is_set,
            commands=commands,
        )

    def stop(self) -> None:
        """Release the current job at once, and end."""
        self._stop.set()

    def run(self) -> None:
        """Work until ``stop`` is called."""
        trained = self._context.targets[Kind.TRAIN]
        _log.info("worker %s takes jobs from %s for %s", self.name, self._store.database.name, trained)
        sweep_at = 0.0
        try:
            while not self._stop.is_set():
                try:
                    if time.monotonic() >= sweep_at:
                        sweep_at = time.monotonic() + SWEEP_SECONDS
                        self.sweep()
                    if not self.work():
                        self._stop.wait(IDLE_SECONDS)
                except JobsUnavailable:
                    self._stop.wait(_UNREACHABLE_SECONDS)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of connections."""
        self._store.close()

    def work(self) -> bool:
        """Do one job, or help with one that has parts to share, if there is one.

        Raises:
            JobsUnavailable
        """
        lease = self._leases.take(self.name)
        if lease is None:
            return self._help()
        _log.info("job %s: attempt %d", lease.job.id, lease.job.attempts)
        attempt(self._context, lease)
        return True

    def _help(self) -> bool:
        job = unattended(self._context, self._passed_over)
        if job is None:
            return False
        _log.info("job %s: help", job.id)
        if not help_with(self._context, job):
            self._passed_over.append(job.id)
        return True

    def sweep(self) -> None:
        """Forget jobs that ended long ago, and remove files that no job needs.

        Raises:
            JobsUnavailable
        """
        for job_id in self._leases.forget(keep=self._keep_jobs, seconds=self._keep_seconds):
            # Only the job says where token files are; artifacts are found by their hash.
            shutil.rmtree(self._context.targets[Kind.ENCODE] / job_id, ignore_errors=True)
        directory = self._context.files
        with translated():
            found = {path.name: path for path in directory.iterdir() if is_id(path.name)} if directory.is_dir() else {}
        known = self._leases.finished_ago(found)
        for name, path in found.items():
            ago = known.get(name)
            if _age(path) > _ABANDONED_SECONDS if name not in known else ago is not None and ago > _FINISHED_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def _age(directory: Path) -> float:
    """Return how long ago anything in a directory was written."""
    newest = 0.0
    # ``os.walk`` passes over files that are gone by now, as an upload that was refused; ``Path.rglob`` raises.
    for parent, _, names in os.walk(directory):
        for path in (Path(parent), *(Path(parent, name) for name in names)):
            try:
                newest = max(newest, path.lstat().st_mtime)
            except OSError:
                continue
    return time.time() - newest


def run(settings: Settings) -> None:
    """Work in this process until SIGTERM or SIGINT; SIGHUP is ignored."""
    worker = Worker(settings)
    ignore_hangup(_log)
    before = {number: signal.signal(number, lambda *_: worker.stop()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        worker.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
