"""Leases: one worker a job, and nothing from a worker that lost it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.event import listen

from service.jobs.job import Artifact, JobError, JobProgress, JobRequest
from service.jobs.leases import Lease, LeaseLost, Leases
from service.jobs.schema import JOBS
from service.jobs.states import Event, Stage, State
from service.jobs.store import JobStore
from tests.service.jobs.conftest import SQLITE


def submit(store: JobStore, count: int = 1) -> list[str]:
    return [store.submit(JobRequest(recipe={}, owner="local"))[0].id for _ in range(count)]


def expire(store: JobStore) -> None:
    """Let every lease run out."""
    with store.database.write() as connection:
        connection.execute(update(JOBS).where(JOBS.c.lease_until.is_not(None)).values(lease_until=0.0))


def taken(leases: Leases) -> Lease:
    lease = leases.take("w")
    assert lease is not None
    return lease


def test_jobs_are_taken_once_each_oldest_first(store: JobStore, leases: Leases) -> None:
    ids = submit(store, 3)
    assert [taken(leases).job.id for _ in ids] == ids
    assert leases.take("w") is None


@SQLITE
def test_a_heartbeat_does_not_write_the_recipe_again(store: JobStore, leases: Leases) -> None:
    store.submit(JobRequest(recipe={"name": "x" * 500_000}, owner="local"))
    # It goes from nothing to its width once.
    lease = leases.renew(taken(leases), JobProgress(0, None, "bytes"))
    log = next(Path(str(store.database.name).removeprefix("sqlite:///")).parent.glob("*-wal"))
    with store.database.read() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    for power in range(19):
        lease = leases.renew(
            lease,
            JobProgress(
                *(10**power, 10**18, "merges", 1 / 3**power, 1 / 7**power),
                newest=["\U0001f642" * min(power, 15)] * 5,
                seconds_left=round(3.3**power, 1),
            ),
        )
    assert 0 < log.stat().st_size < 250_000


def test_many_workers_at_once_take_every_job_once(store: JobStore, leases: Leases) -> None:
    ids = submit(store, 12)
    got: list[str] = []
    together = threading.Barrier(4)

    def work() -> None:
        together.wait()
        while (lease := leases.take("w")) is not None:
            got.append(lease.job.id)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Postgres lets a worker pass over a row that another holds, so one may have found nothing before the end.
    while (lease := leases.take("w")) is not None:
        got.append(lease.job.id)
    assert sorted(got) == sorted(ids)


def test_a_lease_that_ran_out_is_another_s_and_the_first_can_write_nothing(store: JobStore, leases: Leases) -> None:
    submit(store)
    first = taken(leases)
    assert leases.take("other") is None
    expire(store)
    second = taken(leases)
    assert (second.job.id, second.job.attempts) == (first.job.id, 2)
    assert second.job.started_at == first.job.started_at
    before = store.get(first.job.id, None)
    for write in (
        lambda: leases.renew(first, None),
        lambda: leases.advance(first, Event.MERGE),
        lambda: leases.succeed(first, Artifact("sha256:0", "a", "b")),
        lambda: leases.fail(first, JobError("code", "message")),
        lambda: leases.give_back(first, crashed=True),
    ):
        with pytest.raises(LeaseLost):
            write()
    assert store.get(first.job.id, None) == before
    leases.advance(second, Event.MERGE)


def test_a_renewed_lease_is_kept_and_progress_is_a_change_only_when_there_is_some(
    store: JobStore, leases: Leases
) -> None:
    submit(store)
    lease = taken(leases)
    expire(store)
    renewed = leases.renew(lease, JobProgress(1, 10, "bytes", 0.5, seconds_left=18.0))
    assert renewed.until >= lease.until
    assert leases.take("other") is None
    first = store.get(lease.job.id, None)
    assert first.progress == JobProgress(1, 10, "bytes", 0.5, seconds_left=18.0)
    leases.renew(lease, JobProgress(1, 10, "bytes", 0.5, seconds_left=18.0))
    assert store.get(lease.job.id, None) == first
    leases.renew(lease, JobProgress(2, 10, "bytes", 0.5))
    assert store.get(lease.job.id, None).version == first.version + 1


def test_a_cancelled_job_is_lost_to_its_worker(store: JobStore, leases: Leases) -> None:
    submit(store)
    lease = taken(leases)
    store.cancel(lease.job.id, None)
    with pytest.raises(LeaseLost):
        leases.renew(lease, None)
    expire(store)
    assert leases.take("w") is None


def test_what_is_given_back_is_taken_at_once_and_only_a_crash_is_an_attempt(store: JobStore, leases: Leases) -> None:
    submit(store)
    attempts = []
    for crashed in (False, True, False, True):
        lease = taken(leases)
        attempts.append(lease.job.attempts)
        leases.give_back(lease, crashed=crashed)
        assert store.get(lease.job.id, None).state is State.QUEUED
    assert attempts == [1, 1, 2, 2]


def test_a_job_whose_workers_always_die_fails_with_a_reason(store: JobStore, leases: Leases) -> None:
    (job_id,) = submit(store)
    for _ in range(leases.max_attempts):
        taken(leases)
        expire(store)
    assert leases.take("w") is None
    job = store.get(job_id, None)
    assert job.state is State.FAILED
    assert job.error is not None
    assert job.error.code == "job_crashed"
    assert job.finished_at is not None


def test_a_job_that_was_committing_stays_so_for_the_next_worker(store: JobStore, leases: Leases) -> None:
    submit(store)
    lease = taken(leases)
    for event in (Event.MERGE, Event.PUBLISH, Event.COMMIT):
        leases.advance(lease, event)
    leases.give_back(lease, crashed=False)
    again = taken(leases)
    assert again.job.stage is Stage.COMMITTING
    leases.advance(again, Event.COMMIT)
    leases.succeed(again, Artifact("sha256:0", "a", "b"))
    job = store.get(lease.job.id, None)
    assert (job.state, job.artifact) == (State.SUCCEEDED, Artifact("sha256:0", "a", "b"))


def test_old_jobs_are_forgotten_and_living_ones_never(store: JobStore, leases: Leases) -> None:
    ids = submit(store, 6)
    for job_id in ids[:4]:
        store.cancel(job_id, None)
    taken(leases)
    leases.forget(keep=10, seconds=3600)
    assert len(store.list(owner=None).jobs) == 6
    leases.forget(keep=3, seconds=3600)
    assert {job.id for job in store.list(owner=None).jobs} == set(ids[1:])
    with store.database.write() as connection:
        connection.execute(update(JOBS).where(JOBS.c.id == ids[2]).values(finished_at=1.0))
    leases.forget(keep=3, seconds=3600)
    assert {job.id for job in store.list(owner=None).jobs} == {ids[1], *ids[3:]}
    leases.forget(keep=0, seconds=3600)
    assert {job.id for job in store.list(owner=None).jobs} == set(ids[4:])


def test_what_one_owner_submits_drives_out_no_job_of_another(store: JobStore, leases: Leases) -> None:
    (alices,) = submit(store)
    leases.fail(taken(leases), JobError("internal", "a bug"))
    bobs = [store.submit(JobRequest(recipe={}, owner="bob"))[0].id for _ in range(5)]
    for job_id in bobs:
        store.cancel(job_id, "bob")
    leases.forget(keep=3, seconds=3600)
    assert [job.id for job in store.list(owner="local").jobs] == [alices]
    assert len(store.list(owner="bob").jobs) == 3


def test_what_was_cancelled_before_it_began_is_forgotten_before_results(store: JobStore, leases: Leases) -> None:
    begun = submit(store, 2)
    leases.fail(taken(leases), JobError("internal", "a bug"))
    taken(leases)
    store.cancel(begun[1], None)
    never = submit(store, 3)
    for job_id in never:
        store.cancel(job_id, None)
    leases.forget(keep=3, seconds=3600)
    kept = {job.id for job in store.list(owner=None).jobs}
    assert len(kept) == 3
    assert set(begun) < kept
    leases.forget(keep=1, seconds=3600)
    assert [job.id for job in store.list(owner=None).jobs] == begun[1:]


@SQLITE
def test_to_forget_reads_no_row_also_in_a_store_from_before_its_index(store: JobStore, leases: Leases) -> None:
    submit(store)
    with store.database.write() as connection:
        connection.exec_driver_sql("DROP INDEX tokd_jobs_by_owner")
    store.close()
    asked: list[tuple[str, Any]] = []
    with store.database.read() as connection:
        listen(connection.engine, "before_cursor_execute", lambda *given: asked.append((given[2], given[3])))
    leases.forget(keep=0, seconds=3600)
    with store.database.read() as connection:
        plans = [
            step.detail
            for statement, parameters in asked.copy()
            for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        ]
    reads = [step for step in plans if "tokd_jobs" in step]
    assert reads
    assert all("COVERING INDEX tokd_jobs_by_owner" in step for step in reads)
