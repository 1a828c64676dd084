"""The one statement that changes a job's stage: a compare-and-set in the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Update, and_, case, or_, update

from service.jobs.schema import JOBS
from service.jobs.states import TRANSITIONS, Event, Stage


def changed(happening: Event, **values: Any) -> Update:
    """Return the statement that makes an event happen to jobs in whose stage it can; all others stay as they are."""
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
