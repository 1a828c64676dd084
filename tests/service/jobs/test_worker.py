"""Workers at work on processes that pretend to train: how jobs end, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from service.jobs.errors import JobFinished, JobsUnavailable
from service.jobs.job import Artifact, JobError, JobRequest
from service.jobs.job_run import WorkerContext, attempt
from service.jobs.leases import Leases
from service.jobs.limits import JobLimits
from service.jobs.schema import JOBS
from service.jobs.states import Kind, Phase, State
from service.jobs.worker import Worker
from tests.service.jobs.conftest import PRETENDER, SQLITE, Bench, MakeSettings
from tests.service.jobs.pretender import PHASES
from tests.support.waiting import is_alive, until

WHOLE = ["start", "counting", "merging", "publishing", "committing", "published"]


def left_over(bench: Bench) -> list[str]:
    """Name what there is of jobs' files."""
    return [path.name for path in bench.store.directory.iterdir() if path.is_dir()]


def test_jobs_are_done_one_after_the_other_and_leave_only_their_artifacts(bench: Bench) -> None:
    jobs = [bench.submit() for _ in range(3)]
    bench.worker()
    for job in jobs:
        done = bench.wait(job)
        assert (done.state, done.phase, done.attempts, done.error) == (State.SUCCEEDED, None, 1, None)
        assert done.artifact == Artifact(f"sha256:{'0' * 64}", "pretended", job.id)
        assert done.started_at is not None
        assert done.finished_at is not None
        assert done.created_at <= done.started_at <= done.finished_at
        assert bench.log(job) == WHOLE
    until(lambda: left_over(bench) == [])
    assert sorted(path.name for path in bench.trained.glob("[!.]*")) == sorted(job.id for job in jobs)


@pytest.mark.parametrize("phase", PHASES[:3])
def test_a_job_is_cancelled_in_any_phase_and_leaves_nothing(bench: Bench, phase: str) -> None:
    job, after = bench.submit(**{phase: "hang"}), bench.submit()
    bench.worker()
    bench.wait_for(job, phase)
    running = until(lambda: (now := bench.store.get(job.id, None)).progress is not None and now)
    assert (running.state, running.phase) == (State.RUNNING, Phase(phase))
    (pid,) = bench.pids(job)
    assert bench.store.cancel(job.id, "local").state is State.CANCELLED
    until(lambda: not is_alive(pid))
    # The worker goes on at once.
    assert bench.wait(after).state is State.SUCCEEDED
    assert bench.store.get(job.id, None).state is State.CANCELLED
    until(lambda: left_over(bench) == [])
    assert [path.name for path in bench.trained.glob("[!.]*")] == [after.id]


def test_a_job_that_puts_its_artifact_into_place_can_no_longer_be_cancelled(bench: Bench) -> None:
    job = bench.submit(committing="hang once")
    worker = bench.worker(job_attempts=9)
    bench.wait_for(job, "committing")
    with pytest.raises(JobFinished, match="about to end"):
        bench.store.cancel(job.id, "local")
    assert bench.store.get(job.id, None).phase is Phase.PUBLISHING
    # Told to end, the worker does not wait for it; the next one ends what was begun.
    worker.stop()
    bench.worker()
    assert bench.wait(job).state is State.SUCCEEDED


@SQLITE
def test_a_failed_job_says_why(bench: Bench) -> None:
    error = {"code": "empty_corpus", "message": "there is no text", "path": "corpus"}
    job = bench.submit(fail=error)
    bench.worker()
    failed = bench.wait(job)
    assert failed.state is State.FAILED
    assert failed.error is not None
    assert (failed.error.code, failed.error.message, failed.error.path) == tuple(error.values())
    until(lambda: left_over(bench) == [])


@SQLITE
@pytest.mark.parametrize("how", ["die", "leave"])
def test_a_job_whose_process_always_dies_fails_after_some_attempts(bench: Bench, how: str) -> None:
    job, after = bench.submit(merging=how), bench.submit()
    bench.worker(job_attempts=3)
    failed = bench.wait(job)
    assert failed.state is State.FAILED
    assert failed.error is not None
    assert failed.error.code == "job_crashed"
    assert {"die": "SIGKILL", "leave": "exit status 3"}[how] in failed.error.message
    assert bench.log(job) == ["start", "counting", "merging"] * 3
    assert bench.wait(after).state is State.SUCCEEDED


@SQLITE
@pytest.mark.parametrize("phase", PHASES)
def test_a_process_that_died_once_is_followed_by_another(bench: Bench, phase: str) -> None:
    job = bench.submit(**{phase: "die once"})
    bench.worker()
    done = bench.wait(job)
    assert (done.state, done.attempts) == (State.SUCCEEDED, 2)


@SQLITE
@pytest.mark.parametrize(
    ("limit", "do", "code"),
    [
        ({"job_seconds": 1}, {"counting": "hang"}, "job_timeout"),
        ({"job_memory_bytes": 60 << 20}, {"merging": "eat"}, "job_memory"),
        ({"min_free_bytes": 1 << 52}, {"counting": "hang"}, "disk_full"),
    ],
)
def test_a_job_over_a_limit_fails_by_its_name(
    bench: Bench, limit: dict[str, int], do: dict[str, str], code: str
) -> None:
    job = bench.submit(**do)
    bench.worker(**limit)
    failed = bench.wait(job)
    assert failed.state is State.FAILED
    assert failed.error is not None
    assert failed.error.code == code
    assert not any(map(is_alive, bench.pids(job)))
    until(lambda: left_over(bench) == [])


def test_a_worker_that_is_told_to_end_gives_its_job_back_at_once(bench: Bench) -> None:
    job = bench.submit(counting="hang once")
    first = bench.worker_process()
    bench.wait_for(job, "counting")
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0
    assert not any(map(is_alive, bench.pids(job)))
    given = bench.store.get(job.id, None)
    assert (given.state, given.attempts, given.progress) == (State.QUEUED, 0, None)
    # Its lease would have gone on for minutes.
    bench.worker()
    assert bench.wait(job).attempts == 1


def test_the_process_of_a_killed_worker_ends_with_it_and_the_job_goes_on_elsewhere(bench: Bench) -> None:
    job = bench.submit(merging="hang once")
    first = bench.worker_process()
    bench.wait_for(job, "merging")
    first.kill()
    (pid,) = bench.pids(job)
    until(lambda: not is_alive(pid))
    bench.expire_leases()
    bench.worker()
    done = bench.wait(job)
    assert (done.state, done.attempts) == (State.SUCCEEDED, 2)
    assert bench.log(job) == ["start", "counting", "merging", *WHOLE]


def test_a_worker_that_was_asleep_finds_its_job_another_s_and_never_trains_beside_it(bench: Bench) -> None:
    job = bench.submit(counting="hang once")
    asleep = bench.worker_process(lease_seconds=4)
    bench.wait_for(job, "counting")
    asleep.send_signal(signal.SIGSTOP)
    bench.worker()
    done = bench.wait(job)
    asleep.send_signal(signal.SIGCONT)
    # It noticed, goes on, and can do the next job.
    after = bench.submit()
    assert bench.wait(after).state is State.SUCCEEDED
    assert asleep.poll() is None
    assert "start overlap" not in bench.log(job)
    assert bench.log(job)[-len(WHOLE) :] == WHOLE
    assert bench.log(job).count("published") == 1
    assert bench.store.get(job.id, None) == done


def test_workers_on_one_store_never_have_one_job_at_once(bench: Bench) -> None:
    jobs = [bench.submit() for _ in range(6)]
    for _ in range(3):
        bench.worker()
    for job in jobs:
        assert bench.wait(job).state is State.SUCCEEDED
        assert bench.log(job) == WHOLE


@SQLITE
def test_a_job_whose_process_spawned_others_leaves_none(bench: Bench) -> None:
    job = bench.submit(counting="spawn and hang")
    bench.worker()
    grandchild = int(until(lambda: [line for line in bench.lines(job) if line.startswith("spawned")])[0].split()[1])
    bench.store.cancel(job.id, None)
    until(lambda: not is_alive(grandchild))


@SQLITE
def test_the_sweep_removes_what_no_job_needs(bench: Bench, make_settings: MakeSettings) -> None:
    waiting, prepared = bench.store.prepare(), bench.store.prepare()
    abandoned = bench.store.prepare()
    (abandoned.directory / "upload").write_text("half")
    for path in (abandoned.directory / "upload", abandoned.directory):
        os.utime(path, (1, 1))
    stranger = bench.store.directory / "not-a-job"
    stranger.mkdir()
    os.utime(stranger, (1, 1))
    bench.store.submit(JobRequest(recipe={}, owner="local", prepared=waiting))
    os.utime(waiting.directory, (1, 1))
    worker = Worker(make_settings(), PRETENDER)
    worker.sweep()
    worker.close()
    assert sorted(left_over(bench)) == sorted([waiting.id, prepared.id, "not-a-job"])


@SQLITE
def test_the_sweep_goes_on_when_an_upload_goes_away_meanwhile(
    bench: Bench, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.submit()
    refused = bench.store.prepare()
    list_directory = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path) == refused.directory and refused.directory.exists():
            refused.directory.rmdir()
        return list_directory(path)

    monkeypatch.setattr(os, "scandir", scandir)
    worker = Worker(make_settings(), PRETENDER)
    worker.sweep()
    worker.close()
    assert left_over(bench) == []


@SQLITE
def test_the_sweep_removes_what_is_left_of_a_job_that_ended_a_while_ago(
    bench: Bench, leases: Leases, make_settings: MakeSettings
) -> None:
    jobs = [bench.submit(), bench.submit()]
    for job in jobs:
        lease = leases.take("worker")
        assert lease is not None
        leases.fail(lease, JobError("code", "message"))
        (bench.store.directory / job.id).mkdir(parents=True)
    with bench.store.database.write() as connection:
        ended = update(JOBS).where(JOBS.c.id == jobs[0].id)
        connection.execute(ended.values(finished_at=JOBS.c.finished_at - 61))
    worker = Worker(make_settings(), PRETENDER)
    worker.sweep()
    worker.close()
    assert left_over(bench) == [jobs[1].id]


@SQLITE
def test_a_worker_outlives_a_store_that_is_away(
    bench: Bench, make_settings: MakeSettings, caplog: pytest.LogCaptureFixture
) -> None:
    file = bench.store.directory.with_name("away")
    worker = Worker(make_settings(jobs_url=f"sqlite:///{file}/jobs.sqlite"), PRETENDER)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.mkdir()
    (file / "jobs.sqlite").write_text("this is no database, and was long enough to be taken for one " * 20)
    thread = threading.Thread(target=worker.run)
    thread.start()
    until(lambda: "the store of jobs: file is not a database" in caplog.text)
    assert thread.is_alive()
    worker.stop()
    thread.join(60)
    assert not thread.is_alive()


@SQLITE
def test_a_job_goes_on_while_the_store_is_away_for_a_moment(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    away = {"renew": 1, "advance": 2, "succeed": 1}

    def sometimes(name: str) -> Callable[..., Any]:
        whole = getattr(Leases, name)

        def call(*given: Any) -> Any:
            if away[name]:
                away[name] -= 1
                raise JobsUnavailable(1)
            return whole(*given)

        return call

    for name in away:
        monkeypatch.setattr(Leases, name, sometimes(name))
    job = bench.submit()
    bench.worker()
    done = bench.wait(job)
    assert (done.state, done.attempts) == (State.SUCCEEDED, 1)
    assert set(away.values()) == {0}
    assert bench.log(job) == WHOLE


@SQLITE
def test_a_job_is_let_go_of_when_the_store_stays_away_longer_than_the_lease(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = threading.Event()
    renew = Leases.renew

    def while_there(self: Leases, *given: Any) -> Any:
        if away.is_set():
            raise JobsUnavailable(1)
        return renew(self, *given)

    monkeypatch.setattr(Leases, "renew", while_there)
    job = bench.submit(counting="hang once")
    bench.worker(lease_seconds=4)
    bench.wait_for(job, "counting")
    away.set()
    until(lambda: not any(map(is_alive, bench.pids(job))))
    away.clear()
    assert bench.wait(job).state is State.SUCCEEDED
    assert "start overlap" not in bench.log(job)


@SQLITE
def test_a_process_is_told_to_end_before_its_lease_does(
    bench: Bench, leases: Leases, make_settings: MakeSettings, tmp_path: Path
) -> None:
    """So that it is gone when another worker takes the job, however late either is woken."""
    bench.submit()
    lease = leases.take("worker")
    assert lease is not None
    copied = tmp_path / "order.json"
    command = (sys.executable, "-c", f"import shutil, sys; shutil.copy(sys.argv[1], {str(copied)!r})")
    limits = JobLimits(make_settings())
    context = WorkerContext(
        name="w",
        leases=leases,
        limits=limits,
        files=bench.store.directory,
        targets={Kind.TRAIN: bench.trained},
        stopping=lambda: False,
        commands={Kind.TRAIN: command},
    )
    attempt(context, lease)
    assert json.loads(copied.read_text())["until"] <= lease.until - leases.seconds / 10
