"""The one statement that changes a job's stage: a compare-and-set in the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Update, case, literal, update

from service.jobs.schema import JOBS
from service.jobs.states import TRANSITIONS, Event, Stage


def changed(happening: Event, **values: Any) -> Update:
    """Return the statement that makes an event happen to jobs in whose stage it can; all others stay as they are."""
    row = TRANSITIONS[happening]
    return (
        update(JOBS)
        .where(JOBS.c.stage.in_([str(stage) for stage in row]))
        .values(stage=_next(row), version=JOBS.c.version + 1, **values)
        .returning(JOBS)
    )


def _next(row: Mapping[Stage, Stage]) -> Any:
    ends = set(row.values())
    if len(ends) == 1:
        return literal(str(ends.pop()))
    return case({str(start): str(end) for start, end in row.items()}, value=JOBS.c.stage)
