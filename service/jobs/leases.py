"""Operations of a worker on jobs: take one, renew its lease, move the job on, release it.

A worker holds a job under a fencing number that grows with every take. Every statement names it, so a worker that wakes
after its lease ran out changes nothing: it gets ``LeaseLost``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass

from sqlalchemy import ColumnElement, and_, case, delete, exists, func, or_, select, update

from service.jobs.database import Database
from service.jobs.job import Artifact, Job, JobError, JobProgress
from service.jobs.schema import JOBS, Now, changed, job_of
from service.jobs.states import FINISHED, RUNNING, Event, Kind, Stage

_RUNNING = JOBS.c.stage.in_([str(stage) for stage in RUNNING])
_QUEUED = JOBS.c.stage == str(Stage.QUEUED)
_FINISHED = JOBS.c.stage.in_([str(stage) for stage in FINISHED])


_PROGRESS_BYTES = 640
"""JSON may end in spaces. SQLite changes a row that stays as long as it is in its place; of any other it writes all
pages anew, those of the recipe among them: two megabytes for one of a megabyte."""

_FORGOTTEN_AT_ONCE = 500
"""Jobs in one transaction: nobody else writes meanwhile in SQLite."""


class LeaseLost(Exception):
    """The job is another worker's by now, or it was cancelled."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A job in a worker's hands until ``until`` by this host's monotonic clock, unless it is renewed."""

    job: Job
    fence: int
    until: float


class Leases:
    """The worker's side of the table.

    Args:
        seconds: how long a worker may be silent.
        max_attempts: how often a job is begun whose process or worker dies.
    """

    def __init__(self, database: Database, *, seconds: float, max_attempts: int) -> None:
        self.database = database
        self.seconds = seconds
        self.max_attempts = max_attempts

    def take(self, worker: str) -> Lease | None:
        """Take the job that waits longest, or whose worker is silent; ``None`` if there is none."""
        if not self.database.exists:
            return None
        left = _RUNNING & (JOBS.c.lease_until < Now())
        with self.database.read() as connection:
            if connection.execute(select(JOBS.c.id).where(or_(_QUEUED, left)).limit(1)).first() is None:
                return None
        self._fail_poisonous(left)
        begun = time.monotonic()
        return self._take(Event.RETAKE, left, worker, begun) or self._take(Event.TAKE, _QUEUED, worker, begun)

    def _take(self, event: Event, which: ColumnElement[bool], worker: str, begun: float) -> Lease | None:
        first = select(JOBS.c.id).where(which).order_by(JOBS.c.created_at, JOBS.c.id).limit(1)
        taken = changed(
            event,
            worker=worker,
            fence=JOBS.c.fence + 1,
            attempts=JOBS.c.attempts + 1,
            lease_until=Now() + self.seconds,
            started_at=func.coalesce(JOBS.c.started_at, Now()),
            progress=None,
        ).where(JOBS.c.id == first.with_for_update(skip_locked=True).scalar_subquery(), which)
        with self.database.write() as connection:
            row = connection.execute(taken).one_or_none()
        return None if row is None else Lease(job_of(row), row.fence, begun + self.seconds)

    def _fail_poisonous(self, left: ColumnElement[bool]) -> None:
        """End jobs whose workers died with them again and again."""
        error = self.crashed("its worker or their host died each time")
        failed = changed(Event.FAIL, error=json.dumps(asdict(error)), finished_at=Now(), lease_until=None, worker=None)
        with self.database.write() as connection:
            connection.execute(failed.where(left, JOBS.c.attempts >= self.max_attempts))

    def crashed(self, how: str) -> JobError:
        """Say that a job was begun as often as it may be."""
        return JobError(
            "job_crashed",
            f"the job was begun {self.max_attempts} times and its process died; {how}; submit a smaller one, or give "
            "the worker more memory",
        )

    def renew(self, lease: Lease, progress: JobProgress | None) -> Lease:
        """Keep the job for another while, and write down how far it is.

        Raises:
            LeaseLost
        """
        begun = time.monotonic()
        written = _written(progress)
        news = case((JOBS.c.progress.is_distinct_from(written), 1), else_=0)
        kept = (
            update(JOBS)
            .where(held(lease), _RUNNING)
            .values(
                lease_until=Now() + self.seconds,
                progress=written,
                version=JOBS.c.version + news,
            )
        )
        with self.database.write() as connection:
            if connection.execute(kept).rowcount != 1:
                raise LeaseLost
        return Lease(lease.job, lease.fence, begun + self.seconds)

    def advance(self, lease: Lease, event: Event, progress: JobProgress | None = None) -> None:
        """Go to the next phase.

        Raises:
            LeaseLost
        """
        self._change(lease, event, progress=_written(progress))

    def succeed(self, lease: Lease, artifact: Artifact) -> None:
        """End the job: its artifact is in its place.

        Raises:
            LeaseLost
        """
        self._change(lease, Event.SUCCEED, artifact=json.dumps(asdict(artifact)), **_ENDED)

    def fail(self, lease: Lease, error: JobError) -> None:
        """End the job without an artifact.

        Raises:
            LeaseLost
        """
        self._change(lease, Event.FAIL, error=json.dumps(asdict(error)), **_ENDED)

    def give_back(self, lease: Lease, *, crashed: bool) -> None:
        """Let another worker have the job at once; only what crashed counts as an attempt.

        Raises:
            LeaseLost
        """
        attempts = JOBS.c.attempts - (0 if crashed else 1)
        self._change(lease, Event.GIVE_BACK, attempts=attempts, worker=None, lease_until=0.0, progress=None)

    def finished_ago(self, ids: Collection[str]) -> dict[str, float | None]:
        """Return by id how many seconds ago jobs ended: ``None`` if not yet, and no entry for an unknown one."""
        if not self.database.exists:
            return {}
        with self.database.read() as connection:
            ages = select(JOBS.c.id, (Now() - JOBS.c.finished_at).label("ago")).where(JOBS.c.id.in_(list(ids)))
            return {row.id: row.ago for row in connection.execute(ages)}

    def encoding(self, passed_over: Collection[str]) -> list[Job]:
        """Return the jobs whose parts are being encoded, those that are passed over left out."""
        if not self.database.exists:
            return []
        stage = and_(JOBS.c.kind == str(Kind.ENCODE), JOBS.c.stage == str(Stage.ENCODING))
        wanted = select(JOBS).where(stage, JOBS.c.id.not_in(list(passed_over))).order_by(JOBS.c.created_at, JOBS.c.id)
        with self.database.read() as connection:
            return [job_of(row) for row in connection.execute(wanted)]

    def may_help(self, job_id: str) -> bool:
        """Tell whether a helper of a job goes on when its part is done: it leaves for one that waits.

        Raises:
            LeaseLost: the job has ended, or is about to.
        """
        ending = [str(stage) for stage in (*FINISHED, Stage.COMMITTING)]
        alive = exists().where(JOBS.c.id == job_id, JOBS.c.stage.not_in(ending))
        encoding = exists().where(JOBS.c.id == job_id, JOBS.c.stage == str(Stage.ENCODING))
        with self.database.read() as connection:
            is_alive, goes_on = connection.execute(select(alive, and_(encoding, ~exists().where(_QUEUED)))).one()
        if not is_alive:
            raise LeaseLost
        return bool(goes_on)

    def forget(self, *, keep: int, seconds: float) -> list[str]:
        """Delete jobs that ended long ago, and all but ``keep`` that ended of each owner; return their ids.

        Of one owner those go first that were cancelled before they began, then those that ended first. So nobody's jobs
        drive out another's, and jobs that never ran do not drive out results.
        """
        if not self.database.exists:
            return []
        ended = JOBS.c.finished_at.is_not(None)
        many = select(JOBS.c.owner).where(ended).group_by(JOBS.c.owner).having(func.count() > keep)
        order = (JOBS.c.started_at.is_(None), JOBS.c.finished_at.desc(), JOBS.c.id.desc())
        place = func.row_number().over(partition_by=JOBS.c.owner, order_by=order).label("place")
        ranked = select(JOBS.c.id, place).where(ended, JOBS.c.owner.in_(many)).subquery()
        with self.database.read() as connection:
            old = list(connection.scalars(select(JOBS.c.id).where(JOBS.c.finished_at < Now() - seconds)))
            old += connection.scalars(select(ranked.c.id).where(ranked.c.place > keep))
        forgotten: list[str] = []
        for start in range(0, len(old), _FORGOTTEN_AT_ONCE):
            with self.database.write() as connection:
                some = old[start : start + _FORGOTTEN_AT_ONCE]
                forgotten += connection.scalars(delete(JOBS).where(_FINISHED, JOBS.c.id.in_(some)).returning(JOBS.c.id))
        return forgotten

    def _change(self, lease: Lease, event: Event, **values: object) -> None:
        with self.database.write() as connection:
            if connection.execute(changed(event, **values).where(held(lease))).one_or_none() is None:
                raise LeaseLost


def _written(progress: JobProgress | None) -> str | None:
    return None if progress is None else _padded(json.dumps(asdict(progress), ensure_ascii=False))


def _padded(text: str) -> str:
    return text + " " * (_PROGRESS_BYTES - len(text.encode()))


_ENDED = {"finished_at": Now(), "worker": None, "lease_until": None, "progress": None}


def held(lease: Lease) -> ColumnElement[bool]:
    """Return what is true of the job of a lease that nobody else has taken since."""
    return and_(JOBS.c.id == lease.job.id, JOBS.c.fence == lease.fence)
