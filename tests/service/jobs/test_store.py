"""Submitting, finding and cancelling jobs, in SQLite and in Postgres alike."""

from __future__ import annotations

import shutil
import threading
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from service.errors import ServiceError
from service.jobs.errors import IdempotencyConflict, JobFinished, JobsUnavailable, QueueFull, UnknownJob
from service.jobs.job import Job, JobError, JobRequest, JobStatus
from service.jobs.leases import LeaseLost, Leases
from service.jobs.schema import JOBS
from service.jobs.states import Kind, State
from service.jobs.store import FILE, JobStore
from service.setting_values import InvalidSetting
from tests.service.jobs.conftest import SQLITE, MakeSettings

STATUS_FIELDS = [field.name for field in fields(JobStatus)]
RECIPE = {"vocab_size": 300, "corpus": ["naïve \0 \ud800 👍"]}


def submit(store: JobStore, owner: str = "local", **values: Any) -> Job:
    return store.submit(JobRequest(recipe=RECIPE, owner=owner, **values))[0]


def test_a_submitted_job_is_found_as_it_was(store: JobStore) -> None:
    job = submit(store, name="mine")
    assert store.get(job.id, "local") == job
    assert (job.state, job.phase, job.owner, job.name) == (State.QUEUED, None, "local", "mine")
    assert job.recipe == RECIPE
    assert abs(job.created_at - time.time()) < 60
    assert (job.started_at, job.finished_at, job.attempts, job.error, job.artifact) == (None, None, 0, None, None)


def test_jobs_survive_the_store_that_took_them(store: JobStore, make_settings: MakeSettings) -> None:
    job = submit(store)
    store.close()
    again = JobStore.open(make_settings())
    assert again.get(job.id, "local") == job
    again.close()


def test_the_same_key_and_request_are_one_job_and_another_request_is_refused(store: JobStore) -> None:
    first, new = store.submit(JobRequest(recipe=RECIPE, owner="a", idempotency_key="key"))
    assert new
    assert store.submit(JobRequest(recipe=dict(reversed(RECIPE.items())), owner="a", idempotency_key="key")) == (
        first,
        False,
    )
    for other in (
        JobRequest(recipe=RECIPE | {"vocab_size": 301}, owner="a", idempotency_key="key"),
        JobRequest(recipe=RECIPE, owner="a", idempotency_key="key", name="named"),
        JobRequest(recipe=RECIPE, owner="a", idempotency_key="key", fingerprint="of the uploads"),
    ):
        with pytest.raises(IdempotencyConflict):
            store.submit(other)
    assert store.submit(JobRequest(recipe=RECIPE, owner="b", idempotency_key="key"))[1]
    assert store.submit(JobRequest(recipe=RECIPE, owner="a"))[1]


def test_many_at_once_with_one_key_are_one_job(store: JobStore) -> None:
    answers: list[tuple[Job, bool]] = []
    together = threading.Barrier(8)

    def one() -> None:
        together.wait()
        answers.append(store.submit(JobRequest(recipe=RECIPE, owner="a", idempotency_key="key")))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert len({job.id for job, _ in answers}) == 1
    assert sum(new for _, new in answers) == 1


def test_the_queue_is_bounded_and_says_when_to_come_again(make_settings: MakeSettings) -> None:
    store = JobStore.open(make_settings(max_jobs=2))
    first = submit(store, idempotency_key="key")
    submit(store)
    prepared = store.prepare()
    with pytest.raises(QueueFull) as caught:
        submit(store, prepared=prepared)
    assert caught.value.retry_after > 0
    assert dict(caught.value.headers)[b"retry-after"] == b"%d" % caught.value.retry_after
    assert not prepared.directory.exists()
    assert submit(store, idempotency_key="key") == first
    store.cancel(first.id, "local")
    submit(store)
    store.close()


def test_uploads_of_a_request_that_makes_no_new_job_are_removed(store: JobStore) -> None:
    for new in (True, False):
        prepared = store.prepare()
        (prepared.directory / "corpus.txt").write_text("text")
        job = submit(store, prepared=prepared, idempotency_key="key", fingerprint="same")
        assert prepared.directory.exists() is new
        assert (job.id == prepared.id) is new
    prepared = store.prepare()
    with pytest.raises(IdempotencyConflict):
        submit(store, prepared=prepared, idempotency_key="key", fingerprint="other")
    assert not prepared.directory.exists()


def test_jobs_of_others_are_as_if_they_were_not(store: JobStore) -> None:
    job = submit(store, owner="a")
    for call in (
        lambda owner: store.get(job.id, owner),
        lambda owner: store.cancel(job.id, owner),
        lambda owner: store.status(job.id, owner),
    ):
        with pytest.raises(UnknownJob) as caught:
            call("b")
        assert caught.value.detail == UnknownJob(job.id).detail
    assert store.list(owner="b").jobs == ()
    assert store.get(job.id, None) == job
    assert store.list(owner=None).jobs == (store.status(job.id, None),)


@pytest.mark.parametrize("job_id", ["", "x", "\0" * 32, "é" * 32, "0" * 32, "'; DROP TABLE tokd_jobs; --", "f" * 5000])
def test_what_is_no_id_finds_no_job(store: JobStore, job_id: str) -> None:
    submit(store)
    with pytest.raises(UnknownJob):
        store.get(job_id, None)
    with pytest.raises(UnknownJob):
        store.cancel(job_id, None)


def test_pages_hold_every_job_once_newest_first(store: JobStore) -> None:
    made = [submit(store, owner="ab"[number % 2]).id for number in range(7)]
    for owner, expected in ((None, made), ("a", made[::2])):
        found, cursor = [], None
        while True:
            page = store.list(owner=owner, before=cursor, limit=2)
            found += [job.id for job in page.jobs]
            if (cursor := page.next) is None:
                break
            assert len(page.jobs) == 2
        assert found == sorted(expected, reverse=True)
    with pytest.raises(ServiceError, match="cursor"):
        store.list(owner=None, before="\0")


def test_a_list_can_be_of_some_states(store: JobStore, leases: Leases) -> None:
    ids = [submit(store).id for _ in range(3)]
    store.cancel(ids[2], None)
    taken = leases.take("w")
    assert taken is not None
    assert taken.job.id == ids[0]

    def listed(*states: State) -> list[str]:
        return [job.id for job in store.list(owner=None, states=states).jobs]

    assert listed(State.QUEUED) == [ids[1]]
    assert listed(State.RUNNING) == [ids[0]]
    assert listed(State.CANCELLED, State.QUEUED) == sorted(ids[1:], reverse=True)
    assert listed(State.FAILED) == []
    assert {state: count for (kind, state), count in store.counts().items() if kind is Kind.TRAIN} == {
        State.QUEUED: 1,
        State.RUNNING: 1,
        State.SUCCEEDED: 0,
        State.FAILED: 0,
        State.CANCELLED: 1,
    }


def test_cancelling_again_changes_nothing_and_what_has_ended_is_refused(store: JobStore, leases: Leases) -> None:
    job = submit(store)
    cancelled = store.cancel(job.id, "local")
    assert cancelled.state is State.CANCELLED
    assert cancelled.finished_at is not None
    assert store.cancel(job.id, "local") == cancelled
    submit(store)
    lease = leases.take("w")
    assert lease is not None
    leases.fail(lease, JobError("code", "message"))
    with pytest.raises(JobFinished, match="has failed"):
        store.cancel(lease.job.id, "local")


def test_cancelling_a_queued_job_removes_its_uploads(store: JobStore) -> None:
    prepared = store.prepare()
    job = submit(store, prepared=prepared)
    store.cancel(job.id, "local")
    assert not prepared.directory.exists()


def test_cancelling_a_job_that_a_worker_has_leaves_its_files_to_the_worker(store: JobStore, leases: Leases) -> None:
    prepared = store.prepare()
    store.submit(JobRequest(recipe={}, owner="local", prepared=prepared))
    assert leases.take("worker") is not None
    store.cancel(prepared.id, "local")
    assert prepared.directory.is_dir()


def test_every_change_of_a_job_raises_its_version(store: JobStore, leases: Leases) -> None:
    job = submit(store)
    told = store.status(job.id, "local")
    assert {name: getattr(job, name) for name in STATUS_FIELDS} == {name: getattr(told, name) for name in STATUS_FIELDS}
    assert store.status(job.id, "local") == told
    leases.take("w")
    changed = store.status(job.id, "local")
    assert (changed.state, changed.version > told.version) == (State.RUNNING, True)


def test_a_recipe_is_read_where_it_is_shown_and_nowhere_else(store: JobStore) -> None:
    job = submit(store)
    with store.database.write() as connection:
        connection.execute(update(JOBS).values(recipe="no JSON"))
    assert [each.id for each in store.list(owner=None).jobs] == [job.id]
    assert store.status(job.id, None).version == job.version
    assert store.counts()[Kind.TRAIN, State.QUEUED] == 1
    with pytest.raises(ValueError, match="Expecting value"):
        store.get(job.id, None)


@SQLITE
@pytest.mark.parametrize("name", ["q?x", "a#b", "50%20", "user:word@host", "mode=ro&uri=true", "ä ö"])
def test_a_directory_of_any_name_holds_the_file(tmp_path: Path, make_settings: MakeSettings, name: str) -> None:
    trained = tmp_path / name
    store = JobStore.open(make_settings(jobs_url=None, trained=str(trained)))
    job = submit(store)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert [path.name for path in store.directory.iterdir()] == [FILE]
    again = JobStore.open(make_settings(jobs_url=None, trained=str(trained)))
    assert again.get(job.id, None) == job
    assert again.database.name.startswith("sqlite:///")
    again.close()


def test_questions_make_no_file(tmp_path: Path, make_settings: MakeSettings) -> None:
    store = JobStore.open(make_settings(jobs_url=None))
    assert store.list(owner=None).jobs == ()
    assert set(store.counts().values()) == {0}
    with pytest.raises(UnknownJob):
        store.get("0" * 32, None)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_reached_is_told_as_such(make_settings: MakeSettings, tmp_path: Path) -> None:
    stores = [
        JobStore.open(make_settings(jobs_url="postgresql://nobody@/none?host=/nowhere")),
        JobStore.open(make_settings(jobs_url=None, trained=str(tmp_path / "file"))),
    ]
    (tmp_path / "file").write_text("no directory")
    for store in stores:
        with pytest.raises(JobsUnavailable) as caught:
            submit(store)
        assert dict(caught.value.headers)[b"retry-after"]
        store.close()


@pytest.mark.parametrize("kept", [10, 100, 5000])
def test_a_store_that_is_damaged_is_refused_and_not_begun_anew(
    make_settings: MakeSettings, tmp_path: Path, kept: int
) -> None:
    settings = make_settings(jobs_url=f"sqlite:///{tmp_path / 'jobs.sqlite'}")
    store = JobStore.open(settings)
    submit(store)
    store.close()
    JobStore.open(settings).close()
    damaged = (tmp_path / "jobs.sqlite").read_bytes()[:kept]
    (tmp_path / "jobs.sqlite").write_bytes(damaged)
    with pytest.raises(InvalidSetting, match=r"jobs_url sqlite:.* is not a store of jobs: .*; put back a copy"):
        JobStore.open(settings)
    assert (tmp_path / "jobs.sqlite").read_bytes() == damaged


def remove(file: Path) -> None:
    for path in file.parent.glob(f"{file.name}*"):
        path.unlink()


@SQLITE
def test_a_store_whose_file_is_removed_begins_anew_and_the_log_says_so(
    store: JobStore, make_settings: MakeSettings, leases: Leases, caplog: pytest.LogCaptureFixture
) -> None:
    lost, file = submit(store), store.directory / FILE
    lease = leases.take("worker")
    assert lease is not None
    remove(file)
    with pytest.raises(UnknownJob):
        store.get(lost.id, "local")
    assert store.list(owner=None).jobs == ()
    assert caplog.messages == [
        f"the store of jobs: sqlite:///{file} is gone or another file by now; jobs that only it held are lost"
    ]
    job = submit(store)
    with pytest.raises(LeaseLost):
        leases.renew(lease, None)
    again = JobStore.open(make_settings())
    assert [each.id for each in again.list(owner=None).jobs] == [job.id]
    again.close()


@SQLITE
def test_a_copy_that_is_put_back_under_a_running_server_is_the_store(
    store: JobStore, tmp_path: Path, make_settings: MakeSettings
) -> None:
    first, file = submit(store), store.directory / FILE
    store.close()
    shutil.copy(file, tmp_path / "copy")
    submit(store)
    remove(file)
    (tmp_path / "copy").rename(file)
    second = submit(store)
    assert [each.id for each in store.list(owner=None).jobs] == [second.id, first.id]
    (tmp_path / "empty").touch()
    remove(file)
    (tmp_path / "empty").rename(file)
    assert store.list(owner=None).jobs == ()
    third = submit(store)
    assert [each.id for each in store.list(owner=None).jobs] == [third.id]


@SQLITE
def test_what_was_written_into_a_file_that_is_gone_is_no_job(store: JobStore) -> None:
    submit(store)
    with pytest.raises(JobsUnavailable), store.database.write():
        remove(store.directory / FILE)
    submit(store)
    assert len(store.list(owner=None).jobs) == 1


@pytest.mark.parametrize(
    "url", ["", "mysql://host/db", "sqlite://", "sqlite:///:memory:", "nonsense", "://", "a" * 300]
)
def test_a_url_of_another_kind_is_refused_by_name(make_settings: MakeSettings, url: str) -> None:
    with pytest.raises(InvalidSetting, match="jobs_url"):
        JobStore.open(make_settings(jobs_url=url))
