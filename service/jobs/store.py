"""Submit, read and cancel jobs: the interface of routes, on the table.

Every call may block on a disk or a database: make it in a thread. Any can raise ``JobsUnavailable``.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import stat
import time
from collections.abc import Collection, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Column, Table, func, insert, select
from sqlalchemy.engine import Connection, Row

from service.errors import ServiceError, quote
from service.jobs.database import Database, translated
from service.jobs.errors import IdempotencyConflict, JobFinished, QueueFull, UnknownJob
from service.jobs.job import Job, JobRequest, JobStatus, Page, Prepared
from service.jobs.schema import JOBS, STATUS, Now, changed, job_of, status_of
from service.jobs.states import Event, Kind, Stage, State, stages_of, state_of
from service.registry.places import jobs_directory, tokenizers_directory
from service.setting_values import InvalidSetting
from service.settings import Settings

FILE = "jobs.sqlite"
QUEUE_RETRY_SECONDS = 30


class JobStore:
    """The jobs of a server, as their callers see them: an owner of ``None`` sees all; of another kind a job is unknown.

    Args:
        directory: holds a directory for each job that is prepared, queued or running.
        max_queued: jobs that may wait.
    """

    def __init__(self, database: Database, directory: Path, *, max_queued: int) -> None:
        self.database = database
        self.directory = directory
        self._max_queued = max_queued

    @classmethod
    def open(cls, settings: Settings) -> JobStore:
        """Find the store that the settings name; nothing is made, and no server asked, before the first job.

        Raises:
            InvalidSetting: the URL is that of no store, the file is damaged, or a path is not a directory.
        """
        for root in settings.corpus_roots:
            _require_directory("corpus_roots", Path(root))
        # Told as it was given, not as the absolute path that it becomes.
        name = "trained" if settings.trained is not None else "tokenizers"
        given = getattr(settings, name)
        _require_directory(name, tokenizers_directory(settings) if given is None else Path(given))
        directory = jobs_directory(settings)
        # Not written out: what follows a `?` in the name of a directory would be no part of the path.
        own = URL.create("sqlite", database=str(directory / FILE))
        database = Database(own if settings.jobs_url is None else settings.jobs_url)
        database.verify()
        return cls(database, directory, max_queued=settings.max_jobs)

    def prepare(self) -> Prepared:
        """Make a directory for the uploads of a job that will be submitted; without a job it is removed in time."""
        job_id = new_id()
        directory = self.directory / job_id
        with translated():
            directory.mkdir(parents=True)
        return Prepared(job_id, directory)

    def discard(self, prepared: Prepared) -> None:
        """Remove what was prepared, since it is not submitted."""
        shutil.rmtree(prepared.directory, ignore_errors=True)

    def submit(self, request: JobRequest) -> tuple[Job, bool]:
        """Queue a job and return whether it is new: the same request under the same key gives the job there is.

        What was prepared for a request that makes no new job is removed.

        Raises:
            IdempotencyConflict, QueueFull
        """
        try:
            with self.database.write() as connection:
                self.database.lock(connection)
                job, new = self._submit(connection, request)
        except BaseException:
            if request.prepared is not None:
                self.discard(request.prepared)
            raise
        if not new and request.prepared is not None:
            self.discard(request.prepared)
        return job, new

    def _submit(self, connection: Connection, request: JobRequest) -> tuple[Job, bool]:
        digest = request.digest()
        if request.idempotency_key is not None:
            mine = (JOBS.c.owner == request.owner) & (JOBS.c.idempotency_key == request.idempotency_key)
            found = connection.execute(select(JOBS).where(mine)).one_or_none()
            if found is not None:
                if found.fingerprint != digest:
                    raise IdempotencyConflict
                return job_of(found), False
        queued = select(func.count()).select_from(JOBS).where(JOBS.c.stage == str(Stage.QUEUED))
        waiting = connection.execute(queued).scalar_one()
        if waiting >= self._max_queued:
            raise QueueFull(waiting, QUEUE_RETRY_SECONDS)
        row = connection.execute(
            insert(JOBS)
            .values(
                id=new_id() if request.prepared is None else request.prepared.id,
                kind=str(request.kind),
                owner=request.owner,
                name=request.name,
                stage=str(Stage.QUEUED),
                idempotency_key=request.idempotency_key,
                fingerprint=digest,
                recipe=json.dumps(dict(request.recipe)),
                created_at=Now(),
            )
            .returning(JOBS)
        ).one()
        return job_of(row), True

    def get(self, job_id: str, owner: str | None, kind: Kind | None = None) -> Job:
        """Return a job.

        Raises:
            UnknownJob
        """
        return job_of(self._row(job_id, owner, kind, JOBS))

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
        if not self.database.exists:
            return Page((), None)
        # An id begins with the time it was made at.
        wanted = select(*STATUS).order_by(JOBS.c.id.desc()).limit(limit + 1)
        if owner is not None:
            wanted = wanted.where(JOBS.c.owner == owner)
        if kind is not None:
            wanted = wanted.where(JOBS.c.kind == str(kind))
        if states:
            wanted = wanted.where(JOBS.c.stage.in_([str(stage) for state in states for stage in stages_of(state)]))
        if before is not None:
            if not is_id(before):
                raise ServiceError(
                    "invalid_value", f"{quote(before)} is not a cursor; take next of the page before", "query before"
                )
            wanted = wanted.where(JOBS.c.id < before)
        with self.database.read() as connection:
            jobs = tuple(map(status_of, connection.execute(wanted)))
        return Page(jobs[:limit], jobs[limit - 1].id if len(jobs) > limit else None)

    def cancel(self, job_id: str, owner: str | None, kind: Kind | None = None) -> Job:
        """Cancel a job, again and again if need be; its worker sees it at the next heartbeat and ends its process.

        Raises:
            UnknownJob, JobFinished
        """
        self.status(job_id, owner, kind)
        with self.database.write() as connection:
            before = connection.execute(select(JOBS.c.worker).where(JOBS.c.id == job_id)).scalar_one_or_none()
            cancelled = changed(Event.CANCEL, finished_at=Now(), lease_until=None, worker=None)
            row = connection.execute(cancelled.where(JOBS.c.id == job_id)).one_or_none()
        if row is None:
            job = self.get(job_id, owner)
            if job.state is State.CANCELLED:
                return job
            raise JobFinished(job)
        if before is None:
            # No worker has it, so none will remove its files.
            shutil.rmtree(self.directory / job_id, ignore_errors=True)
        return job_of(row)

    def status(self, job_id: str, owner: str | None, kind: Kind | None = None) -> JobStatus:
        """Return the present state of a job without its request; never wait for a change.

        Raises:
            UnknownJob
        """
        return status_of(self._row(job_id, owner, kind, *STATUS))

    def counts(self) -> Mapping[tuple[Kind, State], int]:
        """Count the jobs that are kept, by kind and state."""
        found = dict.fromkeys(product(Kind, State), 0)
        if self.database.exists:
            grouped = select(JOBS.c.kind, JOBS.c.stage, func.count()).group_by(JOBS.c.kind, JOBS.c.stage)
            with self.database.read() as connection:
                for kind, stage, count in connection.execute(grouped):
                    found[Kind(kind), state_of(Stage(stage))] += count
        return found

    def close(self) -> None:
        """Close the connections."""
        self.database.close()

    def _row(self, job_id: str, owner: str | None, kind: Kind | None, *columns: Column[Any] | Table) -> Row[Any]:
        if is_id(job_id) and self.database.exists:
            with self.database.read() as connection:
                row = connection.execute(select(*columns).where(JOBS.c.id == job_id)).one_or_none()
            if row is not None and owner in (None, row.owner) and kind in (None, row.kind):
                return row
        raise UnknownJob(job_id, kind)


def _require_directory(setting: str, path: Path) -> None:
    """Refuse what can be none; one that is not there may come, or lie on the hosts of workers."""
    try:
        is_directory = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidSetting(setting, f"{quote(path)}: {error.strerror}; name a directory") from None
    if not is_directory:
        raise InvalidSetting(setting, f"{quote(path)} is not a directory; name one")


def is_id(word: str) -> bool:
    """Tell whether a word can be the id of a job."""
    return re.fullmatch(r"[0-9a-f]{32}", word) is not None


def new_id() -> str:
    """Make an id that nobody can guess and that sorts by time."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"
