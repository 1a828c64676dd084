"""The parts of jobs that encode, in the jobs' database: which worker works on which, and how far all of them are.

The worker that holds a job writes its parts down. It and workers that have no job of their own claim them one by one,
each under a lease that ends when its worker falls silent. What is finished is known from the files alone: these rows
only divide the work, and two workers that do one part for all that make the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from sqlalchemy import ColumnElement, and_, bindparam, case, delete, exists, func, insert, or_, select, update

from service.jobs.database import Database
from service.jobs.job import Job
from service.jobs.leases import Lease, LeaseLost, held
from service.jobs.schema import JOBS, PARTS, Now, job_of
from service.jobs.states import FINISHED, Kind, Stage

_QUEUED = exists().where(JOBS.c.stage == str(Stage.QUEUED))


class Claim(StrEnum):
    """The answer to whoever wants to work on a part."""

    YES = "yes"
    NO = "no"
    LEAVE = "leave"
    """A helper is needed elsewhere, or has found other parts than the job has."""


class Parts:
    """One worker's side of the table.

    Args:
        worker: its name, which no other has.
        seconds: how long a worker may be silent.
    """

    def __init__(self, database: Database, worker: str, *, seconds: float) -> None:
        self._database, self._worker, self._seconds = database, worker, seconds

    def plan(self, lease: Lease, parts: Mapping[str, tuple[int, bool]]) -> None:
        """Write down the parts of a job: by key, their sizes, and whether they are done already.

        The first that is left is this worker's at once: a job of one part needs no help.

        Raises:
            LeaseLost
        """
        job_id = lease.job.id
        with self._database.write() as connection:
            if connection.execute(select(JOBS.c.id).where(held(lease)).with_for_update()).first() is None:
                raise LeaseLost
            known = connection.scalars(select(PARTS.c.key).where(PARTS.c.job_id == job_id).order_by(PARTS.c.number))
            if list(known) != list(parts):
                connection.execute(delete(PARTS).where(PARTS.c.job_id == job_id))
                rows = [
                    {"job_id": job_id, "number": number, "key": key, "size": size, "is_done": done}
                    for number, (key, (size, done)) in enumerate(parts.items())
                ]
                connection.execute(insert(PARTS), rows)
            else:
                done = [{"done": key} for key, (_, is_done) in parts.items() if is_done]
                marked = update(PARTS).where(PARTS.c.job_id == job_id, PARTS.c.key == bindparam("done"))
                if done:
                    connection.execute(marked.values(is_done=True, read=0), done)
            left = select(PARTS.c.key).where(PARTS.c.job_id == job_id, self._is_free, ~PARTS.c.is_done)
            first = connection.scalars(left.order_by(PARTS.c.number).limit(1)).first()
            if first is not None:
                connection.execute(update(PARTS).where(_named(job_id, first)).values(**self._mine))

    def claim(self, job_id: str, key: str, *, helping: bool) -> Claim:
        """Claim a part, unless a worker that is not silent has it."""
        part = _named(job_id, key)
        with self._database.write() as connection:
            if helping:
                encoding = exists().where(JOBS.c.id == job_id, JOBS.c.stage == str(Stage.ENCODING))
                known = exists().where(part)
                if connection.scalar(select(or_(_QUEUED, ~encoding, ~known))):
                    return Claim.LEAVE
            claimed = update(PARTS).where(part, self._is_free).values(is_done=False, read=0, **self._mine)
            return Claim.YES if connection.execute(claimed).rowcount else Claim.NO

    def release(self, job_id: str, key: str, *, done: bool) -> None:
        """Give a part back, finished or not."""
        given = {"worker": None, "lease_until": None, "is_done": done, "read": 0}
        with self._database.write() as connection:
            connection.execute(update(PARTS).where(_named(job_id, key), self._is_mine).values(**given))

    def release_all(self, job_id: str) -> None:
        """Give back whatever this worker has of a job."""
        given = {"worker": None, "lease_until": None, "read": 0}
        with self._database.write() as connection:
            connection.execute(update(PARTS).where(PARTS.c.job_id == job_id, self._is_mine).values(**given))

    def renew(self, job_id: str, read: int) -> None:
        """Keep the part in work for another while, and write down how much of it is read."""
        alive = {"lease_until": Now() + self._seconds, "read": read}
        with self._database.write() as connection:
            connection.execute(update(PARTS).where(PARTS.c.job_id == job_id, self._is_mine).values(**alive))

    def require_work(self, job_id: str) -> None:
        """Require that there can be parts to do.

        Raises:
            LeaseLost: the job has ended, or is about to.
        """
        stages = [str(stage) for stage in (*FINISHED, Stage.COMMITTING)]
        with self._database.read() as connection:
            working = select(JOBS.c.id).where(JOBS.c.id == job_id, JOBS.c.stage.not_in(stages))
            if connection.execute(working).first() is None:
                raise LeaseLost

    def progress(self, job_id: str) -> tuple[int, int] | None:
        """Return the bytes that all workers have read, and those that there are; ``None`` before there are parts."""
        read = func.sum(func.coalesce(_read(), 0))
        sums = select(read, func.sum(PARTS.c.size)).where(PARTS.c.job_id == job_id)
        with self._database.read() as connection:
            done, total = connection.execute(sums).one()
        return None if total is None else (int(done), int(total))

    def unattended(self, passed_over: Collection[str]) -> Job | None:
        """Return a job with parts that nobody works on, unless it is passed over; ``None`` if there is none."""
        if not self._database.exists:
            return None
        left = exists().where(PARTS.c.job_id == JOBS.c.id, ~PARTS.c.is_done, self._is_free)
        is_encoding = and_(JOBS.c.kind == str(Kind.ENCODE), JOBS.c.stage == str(Stage.ENCODING))
        wanted = select(JOBS).where(is_encoding, left, JOBS.c.id.not_in(list(passed_over)))
        with self._database.read() as connection:
            row = connection.execute(wanted.order_by(JOBS.c.created_at, JOBS.c.id).limit(1)).one_or_none()
        return None if row is None else job_of(row)

    def sweep(self) -> None:
        """Delete the parts of jobs that have ended or are forgotten."""
        if not self._database.exists:
            return
        alive = select(JOBS.c.id).where(JOBS.c.stage.not_in([str(stage) for stage in FINISHED]))
        with self._database.write() as connection:
            connection.execute(delete(PARTS).where(PARTS.c.job_id.not_in(alive)))

    @property
    def _is_mine(self) -> ColumnElement[bool]:
        return PARTS.c.worker == self._worker

    @property
    def _is_free(self) -> ColumnElement[bool]:
        return or_(PARTS.c.worker.is_(None), self._is_mine, PARTS.c.lease_until < Now())

    @property
    def _mine(self) -> dict[str, object]:
        return {"worker": self._worker, "lease_until": Now() + self._seconds}


def _named(job_id: str, key: str) -> ColumnElement[bool]:
    return and_(PARTS.c.job_id == job_id, PARTS.c.key == key)


def _read() -> ColumnElement[int]:
    return case((PARTS.c.is_done, PARTS.c.size), (PARTS.c.read > PARTS.c.size, PARTS.c.size), else_=PARTS.c.read)
