"""Jobs that really encode, by workers that share their parts: killed, cancelled, and always with the same bytes."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from service.jobs.job import Job, JobRequest
from service.jobs.states import FINISHED, Kind, State
from service.jobs.store import JobStore
from service.settings import Settings
from tests.service.jobs.conftest import SQLITE, MakeSettings, Start
from tests.support import postgres
from tests.support.network import Host, hosts
from tests.support.waiting import children, is_alive, kill, until
from tokenizer_core import Tokenizer, base_artifact, encode_corpus

KILLS = int(os.environ.get("TOKD_TEST_KILLS", "4"))
SETTINGS: dict[str, Any] = {"format": "ds", "eos": "none", "shuffle": 5, "shard_bytes": 100_000}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of 48 parts."""
    directory, dice = tmp_path_factory.mktemp("corpus"), random.Random(3)
    words = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(4000)]
    for number in range(3):
        with (directory / f"{number}.jsonl").open("w") as file:
            while file.tell() < 1_550_000:
                file.write(json.dumps({"text": " ".join(dice.choices(words, k=300))}) + "\n")
    return directory


@pytest.fixture(scope="module")
def undisturbed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the library writes."""
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    options = {**SETTINGS}
    encode_corpus(corpus, Tokenizer.open(base_artifact()), out, layout=options.pop("format"), **options)
    return contents(out)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def submit(store: JobStore, corpus: Path) -> Job:
    tokenizer = base_artifact()
    recipe = {
        "corpus": {"paths": [str(corpus)]},
        "settings": SETTINGS,
        "tokenizer": Tokenizer.open(tokenizer).hash,
        "tokenizer_path": str(Path(tokenizer).absolute()),
    }
    return store.submit(JobRequest(kind=Kind.ENCODE, recipe=recipe, owner="local"))[0]


def settings_of(make_settings: MakeSettings, corpus: Path, **more: Any) -> Settings:
    return make_settings(
        **{"lease_seconds": 4, "job_attempts": 10_000, "corpus_roots": (str(corpus),), "job_threads": 1, **more}
    )


def parts(store: JobStore, job: Job) -> dict[str, tuple[bool, int | None]]:
    """Return the parts of a job: whether each is done, and who has it."""
    folder = store.directory / job.id / ".tokens.parts"
    found = {}
    with suppress(FileNotFoundError):
        for key in json.loads((folder / "plan.json").read_bytes()):
            owner = None
            with suppress(FileNotFoundError):
                owner = json.loads((folder / f"{key}.claim").read_bytes())["process"]
            found[key] = (folder / f"{key}.json").exists(), owner
    return found


def processes_of(store: JobStore, job: Job) -> set[int]:
    return {process for _, process in parts(store, job).values() if process is not None}


def stopped_with_a_part(store: JobStore, job: Job, process: int) -> int | None:
    """Stop a process, and return who has its part; it goes on if it was between two parts."""
    os.kill(process, signal.SIGSTOP)
    # What it said before is answered still.
    time.sleep(0.6)
    holders = processes_of(store, job)
    if not holders:
        os.kill(process, signal.SIGCONT)
        time.sleep(0.05)
    return next(iter(holders), None)


def keep_claims(store: JobStore, job: Job) -> bool:
    """Touch all claims: on a busy machine a process is stopped for longer than the minute after which it loses its."""
    for claim in (store.directory / job.id / ".tokens.parts").glob("*.claim"):
        with suppress(FileNotFoundError):
            os.utime(claim)
    return True


def has_ended(store: JobStore, job: Job) -> bool:
    return store.get(job.id, None).stage in FINISHED


def check_end(store: JobStore, job: Job, trained: Path, undisturbed: dict[str, bytes]) -> None:
    done = store.get(job.id, None)
    assert done.state is State.SUCCEEDED, done.error
    assert done.artifact is not None
    assert contents(trained / ".encoded" / done.artifact.directory) == undisturbed


def test_workers_share_the_parts_of_a_job(
    make_settings: MakeSettings, start: Start, corpus: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    settings = settings_of(make_settings, corpus, lease_seconds=600)
    store = JobStore.open(settings)
    first = start("worker", settings)
    job = submit(store, corpus)
    progress = until(lambda: store.get(job.id, None).progress)
    (process,) = children(first.pid)
    holder = until(lambda: stopped_with_a_part(store, job, process))
    helpers = [start("worker", settings) for _ in range(2)]
    # Its own part waits for it, and they do all others.
    until(lambda: keep_claims(store, job) and [own for done, own in parts(store, job).values() if not done] == [holder])
    total = sum(path.stat().st_size for path in corpus.iterdir())
    assert (progress.total, progress.unit) == (total, "bytes")
    assert progress.done <= total
    os.kill(process, signal.SIGCONT)
    until(lambda: has_ended(store, job))
    check_end(store, job, tmp_path / "trained", undisturbed)
    until(lambda: not any(children(helper.pid) for helper in helpers))
    until(lambda: not (store.directory / job.id).exists())
    store.close()


@pytest.mark.nightly
def test_killed_workers_cost_their_part_alone_and_the_bytes_are_the_same(
    make_settings: MakeSettings, start: Start, corpus: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    settings = settings_of(make_settings, corpus)
    store = JobStore.open(settings)
    seed = random.randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    dice, left = random.Random(seed), KILLS
    workers = [start("worker", settings) for _ in range(2)]
    job = submit(store, corpus)
    while left:
        until(lambda job=job: processes_of(store, job) or has_ended(store, job))
        time.sleep(dice.random() * 0.5)
        before = {key for key, (done, _) in parts(store, job).items() if done}
        number = dice.randrange(len(workers))
        below = children(workers[number].pid)
        if dice.random() < 0.5:
            kill(*below)
        else:
            kill(workers[number].pid, *(below if dice.random() < 0.5 else ()))
            workers[number].wait(60)
            workers[number] = start("worker", settings)
        left -= 1
        # What was done stays done.
        assert before <= {key for key, (done, _) in parts(store, job).items() if done} or has_ended(store, job)
        if has_ended(store, job):
            check_end(store, job, tmp_path / "trained", undisturbed)
            job = submit(store, corpus)
    until(lambda: has_ended(store, job))
    check_end(store, job, tmp_path / "trained", undisturbed)
    store.close()


def test_a_cancelled_job_stops_all_its_workers_and_leaves_nothing(
    make_settings: MakeSettings, start: Start, corpus: Path, tmp_path: Path
) -> None:
    settings = settings_of(make_settings, corpus, lease_seconds=600)
    store = JobStore.open(settings)
    workers = [start("worker", settings) for _ in range(2)]
    job = submit(store, corpus)
    until(lambda: processes_of(store, job))
    assert store.cancel(job.id, None).state is State.CANCELLED
    until(lambda: not any(children(worker.pid) for worker in workers))
    until(lambda: not (store.directory / job.id).exists())
    assert list((tmp_path / "trained" / ".encoded").iterdir()) == []
    # They take the next one.
    job = submit(store, corpus)
    until(lambda: has_ended(store, job))
    assert store.get(job.id, None).state is State.SUCCEEDED
    store.close()


@pytest.mark.nightly
@SQLITE
def test_a_killed_server_is_followed_by_another_that_ends_its_jobs(
    make_settings: MakeSettings, start: Start, corpus: Path, undisturbed: dict[str, bytes], tmp_path: Path
) -> None:
    settings = settings_of(
        make_settings, corpus, uds=str(tmp_path / "s"), artifacts=(str(Path(base_artifact()).absolute()),)
    )
    store = JobStore.open(settings)
    job = submit(store, corpus)
    server = start("serve", settings)
    until(lambda: any(done for done, _ in parts(store, job).values()))
    below = children(server.pid)
    kill(server.pid)
    server.wait(60)
    until(lambda: not any(map(is_alive, below)))
    done = {key for key, (is_done, _) in parts(store, job).items() if is_done}
    start("serve", settings)
    until(lambda: has_ended(store, job))
    check_end(store, job, tmp_path / "trained", undisturbed)
    assert done
    store.close()


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    if postgres.program("initdb") is None:
        pytest.skip("needs Postgres")
    with hosts(1) as (made,):
        yield made


@SQLITE
def test_a_host_that_is_cut_off_delays_a_job_and_works_again_when_its_link_is_back(
    make_settings: MakeSettings,
    start: Start,
    corpus: Path,
    undisturbed: dict[str, bytes],
    tmp_path: Path,
    host: Host,
) -> None:
    seed = random.randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    dice = random.Random(seed)
    with postgres.running_postgres(host.near) as server:
        settings = settings_of(make_settings, corpus, jobs_url=server.new_url())
        store = JobStore.open(settings)
        # The worker beyond the link holds the job, and one on this side helps.
        far = start("worker", settings, *host.enter)
        job = submit(store, corpus)
        until(lambda: processes_of(store, job))
        near = start("worker", settings)
        time.sleep(dice.random() * 2)
        host.set_link("down")
        if dice.random() < 0.5:
            time.sleep(dice.random() * 6)
        else:
            until(lambda: has_ended(store, job))
        host.set_link("up")
        until(lambda: has_ended(store, job))
        check_end(store, job, tmp_path / "trained", undisturbed)
        kill(near.pid, *children(near.pid))
        again = submit(store, corpus)
        until(lambda: has_ended(store, again))
        check_end(store, again, tmp_path / "trained", undisturbed)
        assert far.poll() is None
        assert len(list((tmp_path / "trained" / ".encoded").iterdir())) == 2
        store.close()
