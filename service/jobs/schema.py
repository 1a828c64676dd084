"""The table of jobs, the statement that changes a stage there, and the reading of its rows.

Times are the database's: workers on several hosts agree on when a lease has run out, whatever their own clocks say.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    Update,
    and_,
    case,
    or_,
    update,
)
from sqlalchemy.engine import Row
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from service.jobs.job import Artifact, Job, JobError, JobProgress, JobStatus
from service.jobs.states import TRANSITIONS, Event, Kind, Stage

SCHEMA_VERSION = 2
"""Of the tables in a SQLite file, in its ``user_version``; files of before it was written have 0, and those of before
there were kinds of jobs 0 or 1."""

METADATA = MetaData()
JOBS = Table(
    "tokd_jobs",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("kind", String(8), nullable=False, server_default=str(Kind.TRAIN)),
    Column("owner", String, nullable=False),
    Column("name", String),
    Column("stage", String(16), nullable=False),
    Column("version", Integer, nullable=False, default=1),
    # The worker that has it: `fence` grows with every take, so what an earlier worker still wants to write is refused.
    Column("fence", Integer, nullable=False, default=0),
    Column("worker", String),
    Column("lease_until", Float),
    Column("attempts", Integer, nullable=False, default=0),
    Column("idempotency_key", String),
    Column("fingerprint", String, nullable=False),
    Column("progress", Text),
    Column("error", Text),
    Column("artifact", Text),
    Column("created_at", Float, nullable=False),
    Column("started_at", Float),
    Column("finished_at", Float),
    # The last one: SQLite would read all of it to come to a column behind it.
    Column("recipe", Text, nullable=False),
    UniqueConstraint("owner", "idempotency_key"),
    Index("tokd_jobs_by_stage", "stage", "created_at"),
    # All that is asked of jobs that ended, so that to forget some of many reads no row.
    Index("tokd_jobs_by_owner", "owner", "finished_at", "started_at", "id"),
)

STATUS = [column for column in JOBS.c if column.name != "recipe"]
"""The columns of ``status_of``."""


class Now(FunctionElement[float]):
    """Seconds since 1970 by the database's clock."""

    type = Float()
    inherit_cache = True


@compiles(Now, "sqlite")
def _now_in_sqlite(*_: object, **__: object) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(Now, "postgresql")
def _now_in_postgres(*_: object, **__: object) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


def changed(happening: Event, **values: Any) -> Update:
    """Return the compare-and-set of an event: it happens to jobs in whose stage it can, and others stay as they are."""
    ends: dict[Stage, list[ColumnElement[bool]]] = {}
    for kind, events in TRANSITIONS.items():
        for start, end in events.get(happening, {}).items():
            ends.setdefault(end, []).append(and_(JOBS.c.kind == str(kind), JOBS.c.stage == str(start)))
    cases = [(or_(*starts), str(end)) for end, starts in ends.items()]
    return (
        update(JOBS)
        .where(or_(*(where for where, _ in cases)))
        .values(stage=case(*cases), version=JOBS.c.version + 1, **values)
        .returning(JOBS)
    )


def job_of(row: Row[Any]) -> Job:
    """Read a row."""
    return Job(**_status(row), recipe=json.loads(row.recipe))


def status_of(row: Row[Any]) -> JobStatus:
    """Read a row without its recipe."""
    return JobStatus(**_status(row))


def _status(row: Row[Any]) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": Kind(row.kind),
        "owner": row.owner,
        "name": row.name,
        "stage": Stage(row.stage),
        "created_at": row.created_at,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
        "attempts": row.attempts,
        "version": row.version,
        "progress": None if row.progress is None else JobProgress(**json.loads(row.progress)),
        "error": None if row.error is None else JobError(**json.loads(row.error)),
        "artifact": None if row.artifact is None else Artifact(**json.loads(row.artifact)),
    }
