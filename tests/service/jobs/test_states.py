"""The table of transitions, walked whole: what it allows happens in storage, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import update

from service.jobs.errors import JobFinished
from service.jobs.job import Artifact, Job, JobError, JobRequest
from service.jobs.leases import Lease, LeaseLost, Leases
from service.jobs.schema import JOBS
from service.jobs.states import (
    FINISHED,
    RUNNING,
    TRANSITIONS,
    Event,
    Kind,
    Phase,
    Stage,
    State,
    diagram,
    phase_of,
    stages_of,
    state_of,
)
from service.jobs.store import JobStore
from tests.service.jobs.conftest import ROOT

Act = Callable[[JobStore, Leases, Job], object]


def held(job: Job) -> Lease:
    return Lease(job, 0, 0.0)


ACTS: dict[Event, Act] = {
    Event.TAKE: lambda store, leases, job: leases.take("w"),
    Event.RETAKE: lambda store, leases, job: leases.take("w"),
    Event.MERGE: lambda store, leases, job: leases.advance(held(job), Event.MERGE),
    Event.PUBLISH: lambda store, leases, job: leases.advance(held(job), Event.PUBLISH),
    Event.COMMIT: lambda store, leases, job: leases.advance(held(job), Event.COMMIT),
    Event.SUCCEED: lambda store, leases, job: leases.succeed(held(job), Artifact("sha256:0", "a", "b")),
    Event.FAIL: lambda store, leases, job: leases.fail(held(job), JobError("code", "message")),
    Event.GIVE_BACK: lambda store, leases, job: leases.give_back(held(job), crashed=False),
    Event.CANCEL: lambda store, leases, job: store.cancel(job.id, None),
}


def put(store: JobStore, stage: Stage, kind: Kind = Kind.TRAIN) -> Job:
    """Make a job that is in a stage, with a lease that ran out if it has one."""
    job, _ = store.submit(JobRequest(recipe={}, owner="local", kind=kind))
    lease = {"lease_until": 0.0, "worker": "gone"} if stage in RUNNING else {}
    with store.database.write() as connection:
        connection.execute(update(JOBS).where(JOBS.c.id == job.id).values(stage=str(stage), attempts=1, **lease))
    return store.get(job.id, None)


@pytest.mark.parametrize("kind", Kind)
def test_every_event_happens_where_the_table_says_and_nowhere_else(store: JobStore, leases: Leases, kind: Kind) -> None:
    table = TRANSITIONS[kind]
    for event, act in ACTS.items():
        for stage in Stage:
            job = put(store, stage, kind)
            end = table.get(event, {}).get(stage)
            if event in (Event.TAKE, Event.RETAKE):
                # The same call leads to either, depending on the stage.
                end = table[Event.TAKE].get(stage) or table[Event.RETAKE].get(stage)
            try:
                act(store, leases, job)
                done = True
            except (LeaseLost, JobFinished):
                done = False
            after = store.get(job.id, None)
            if end is None:
                assert after.stage is stage, (event, stage)
                assert after.version == job.version
                assert not done or event in (Event.TAKE, Event.RETAKE) or (event, stage) == (Event.CANCEL, after.stage)
            else:
                assert done
                assert after.stage is end, (event, stage)
                assert after.version == job.version + 1
            with store.database.write() as connection:
                connection.execute(JOBS.delete())


def test_every_event_has_a_row_and_every_stage_but_the_ends_a_way_out() -> None:
    assert {event for table in TRANSITIONS.values() for event in table} == set(Event) == set(ACTS)
    met = set[Stage]()
    for table in TRANSITIONS.values():
        left = {stage for row in table.values() for stage in row}
        reached = {Stage.QUEUED} | {stage for row in table.values() for stage in row.values()}
        assert reached - left == set(FINISHED)
        assert left <= reached
        met |= reached
    assert met == set(Stage)


def test_stages_are_what_callers_see() -> None:
    assert {stage for state in State for stage in stages_of(state)} == set(Stage)
    for stage in Stage:
        assert (phase_of(stage) is None) == (state_of(stage) is not State.RUNNING)
    assert {phase_of(stage) for stage in RUNNING} == set(Phase)
    cancelled = {stage for table in TRANSITIONS.values() for stage in table[Event.CANCEL]}
    assert cancelled == set(Stage) - set(FINISHED) - {Stage.COMMITTING}


def test_the_drawn_table_is_the_real_one() -> None:
    assert diagram(Kind.TRAIN) in (ROOT / "service" / "jobs" / "states.md").read_text("utf-8")


@pytest.mark.parametrize("stage", FINISHED)
def test_what_has_ended_never_changes(store: JobStore, leases: Leases, stage: Stage) -> None:
    job = put(store, stage)
    with pytest.raises(LeaseLost):
        leases.renew(held(job), None)
    assert leases.take("w") is None
    assert store.get(job.id, None) == job
