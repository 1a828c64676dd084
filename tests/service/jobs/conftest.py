"""A store in SQLite and in Postgres, and workers that are threads or processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from service.jobs.job import Job, JobRequest
from service.jobs.leases import Leases
from service.jobs.schema import JOBS
from service.jobs.states import Kind, State
from service.jobs.store import JobStore
from service.jobs.worker import Worker
from service.settings import Settings
from tests.support import postgres
from tests.support.paths import ROOT
from tests.support.waiting import children, kill, until

SQLITE = pytest.mark.parametrize("jobs_url", [None], ids=["sqlite"])
"""For what does not depend on the kind of store."""

PRETENDER = {Kind.TRAIN: (sys.executable, "-m", "tests.service.jobs.pretender")}


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Postgres]:
    if postgres.program("initdb") is None:
        pytest.skip("Postgres is not installed")
    with postgres.running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def jobs_url(request: pytest.FixtureRequest) -> str | None:
    if request.param == "sqlite":
        return None
    server: postgres.Postgres = request.getfixturevalue("postgres_server")
    return server.new_url()


MakeSettings = Callable[..., Settings]


@pytest.fixture
def make_settings(tmp_path: Path, jobs_url: str | None) -> MakeSettings:
    """Settings of a server whose jobs live in this test's directory; a job's process has ordinary priority here."""

    def make(**settings: Any) -> Settings:
        chosen = {
            "trained": str(tmp_path / "trained"),
            "jobs_url": jobs_url,
            "job_nice": 0,
            "min_free_bytes": 0,
            # On a machine that is busy with other tests a worker may be silent for long.
            "lease_seconds": 600,
        }
        return Settings(**(chosen | settings))

    return make


@pytest.fixture
def store(make_settings: MakeSettings) -> Iterator[JobStore]:
    store = JobStore.open(make_settings())
    yield store
    store.close()


@pytest.fixture
def leases(store: JobStore) -> Leases:
    return Leases(store.database, seconds=60, max_attempts=3)


class Bench:
    """Submit pretended jobs and run workers on them; at the end no worker is left."""

    def __init__(self, store: JobStore, make_settings: MakeSettings, directory: Path) -> None:
        self.store = store
        self.directory = directory
        self.trained = directory / "trained"
        self._make_settings = make_settings
        self._threads: list[tuple[Worker, threading.Thread]] = []
        self._processes: list[subprocess.Popen[bytes]] = []

    def submit(self, **do: Any) -> Job:
        number = len(list(self.directory.glob("log-*")))
        log = self.directory / f"log-{number}"
        log.touch()
        job, new = self.store.submit(JobRequest(recipe={"log": str(log), "do": do}, owner="local"))
        assert new
        return job

    def log(self, job: Job) -> list[str]:
        """Return what the processes of a job wrote, without their ids."""
        return [" ".join(word for word in line.split() if not word.isdigit()) for line in self.lines(job)]

    def lines(self, job: Job) -> list[str]:
        return Path(job.recipe["log"]).read_text().splitlines()

    def pids(self, job: Job) -> list[int]:
        return [int(line.split()[1]) for line in self.lines(job) if line.startswith("start ")]

    def worker(self, **settings: Any) -> Worker:
        """Run a worker in a thread."""
        worker = Worker(self._make_settings(**settings), PRETENDER)
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        self._threads.append((worker, thread))
        return worker

    def worker_process(self, **settings: Any) -> subprocess.Popen[bytes]:
        """Run a worker as a process that can be killed."""
        code = "import sys; from tests.service.jobs.conftest import work; work()"
        env = {**os.environ, "PYTHONPATH": str(ROOT), **self._make_settings(**settings).environment()}
        process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=env)
        self._processes.append(process)
        return process

    def expire_leases(self) -> None:
        """Let every lease run out now."""
        with self.store.database.write() as connection:
            connection.execute(update(JOBS).where(JOBS.c.lease_until.is_not(None)).values(lease_until=0.0))

    def wait(self, job: Job, *states: State) -> Job:
        """Wait until a job is in one of some states; by default until it has ended."""
        wanted = states or (State.SUCCEEDED, State.FAILED, State.CANCELLED)

        def there() -> Job | None:
            now = self.store.get(job.id, None)
            return now if now.state in wanted else None

        return until(there)

    def wait_for(self, job: Job, line: str, times: int = 1) -> None:
        """Wait until the job's processes wrote a line."""
        until(lambda: self.log(job).count(line) >= times)

    def close(self) -> None:
        for worker, _ in self._threads:
            worker.stop()
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(60)
        for _, thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def bench(store: JobStore, make_settings: MakeSettings, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(store, make_settings, tmp_path)
    yield bench
    bench.close()


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a command of tokd, behind words that say where it runs; in the end it and what it started are gone."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(command: str, settings: Settings, *where: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": str(ROOT), **settings.environment()}
        process = subprocess.Popen(
            [*where, sys.executable, "-m", "service.cli", command],
            env=env,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        below = [each for child in children(process.pid) for each in (child, *children(child))]
        kill(process.pid, *below)
        process.wait(60)


def work() -> None:
    """Run a worker whose jobs only pretend to train: the program of a test's worker process."""
    worker = Worker(Settings.load(flags={}), PRETENDER)
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    worker.run()
