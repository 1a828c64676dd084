"""Jobs that make several sizes: killed while these go into place, cancelled before, and with sizes that cannot be."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from service.jobs.job import Job, JobRequest
from service.jobs.states import Kind, State
from service.jobs.store import JobStore
from service.jobs.worker import Worker
from tests.service.jobs.conftest import SQLITE, MakeSettings
from tests.support.waiting import until
from tokenizer_core import Recipe, Tokenizer, TrainingRun

TEXTS = ["low lower lowest", "new newer newest", "wide wider widest"]

DYING = """
import os, signal, sys
from pathlib import Path

import service.job_process.training as training

put, placed = training.put_into_place, []

def dies_after_one(made, place):
    if placed and not Path({marker!r}).exists():
        Path({marker!r}).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    placed.append(place)
    return put(made, place)

training.put_into_place = dies_after_one
sys.exit(training.main())
"""

WAITING = """
import sys, time
from pathlib import Path

import service.job_process.training as training

def waits(report, order):
    Path({marker!r}).touch()
    time.sleep(600)

training._short = waits
sys.exit(training.main())
"""


def recipe(**settings: Any) -> dict[str, Any]:
    return {"corpus": {"texts": TEXTS}, "vocab_size": 270, "sizes": [260, 265], **settings}


def submit(store: JobStore, **settings: Any) -> Job:
    return store.submit(JobRequest(recipe=recipe(**settings), owner="local"))[0]


def published(trained: Path) -> list[str]:
    return sorted(path.name for path in trained.iterdir() if not path.name.startswith("."))


@SQLITE
@pytest.mark.parametrize("name", [None, "mine"])
def test_a_process_that_dies_between_two_places_is_followed_by_one_that_fills_the_others(
    make_settings: MakeSettings, tmp_path: Path, name: str | None
) -> None:
    settings, trained = make_settings(), tmp_path / "trained"
    program = (sys.executable, "-c", DYING.format(marker=str(tmp_path / "died")))
    store, worker = JobStore.open(settings), Worker(settings, {Kind.TRAIN: program})
    job = submit(store, name=name)
    assert worker.work()
    assert store.get(job.id, None).state is State.RUNNING
    assert len(published(trained)) == 1
    assert worker.work()
    done = store.get(job.id, None).artifact
    assert done is not None
    truth = TrainingRun(tmp_path / "run", Recipe.from_dict(recipe(name=name))).publish_under(tmp_path / "made")
    assert [done.directory, *(one.directory for one in done.sizes)] == [path.name for path in truth]
    assert published(trained) == sorted(path.name for path in truth)
    for path in truth:
        for file in path.iterdir():
            assert (trained / path.name / file.name).read_bytes() == file.read_bytes()
    assert [one.size for one in done.sizes] == [260, 265]
    assert [one.name for one in done.sizes] == ([f"{name}-260", f"{name}-265"] if name else ["trained"] * 2)
    worker.close()
    store.close()


@SQLITE
def test_a_job_that_is_cancelled_before_its_sizes_are_in_place_leaves_none(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    settings, made = make_settings(), tmp_path / "made"
    store = JobStore.open(settings)
    worker = Worker(settings, {Kind.TRAIN: (sys.executable, "-c", WAITING.format(marker=str(made)))})
    thread = threading.Thread(target=worker.work)
    job = submit(store)
    thread.start()
    until(made.exists)
    assert store.cancel(job.id, None).state is State.CANCELLED
    thread.join(60)
    assert not thread.is_alive()
    assert published(tmp_path / "trained") == []
    worker.close()
    store.close()


@SQLITE
def test_sizes_beyond_an_exhausted_corpus_are_one_artifact_with_a_name_each(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    settings, trained = make_settings(), tmp_path / "trained"
    store, worker = JobStore.open(settings), Worker(settings)
    nameless, named = submit(store, sizes=[5000, 270]), submit(store, sizes=[5000], vocab_size=6000, name="mine")
    assert worker.work()
    assert worker.work()
    one, other = (store.get(job.id, None).artifact for job in (nameless, named))
    assert one is not None
    assert other is not None
    assert one.sizes[1].directory == one.directory
    assert one.report["sizes"][0] == {"wanted": 5000, "vocab_size": other.report["vocab_size"], "hash": other.hash}
    assert other.sizes[0].hash == other.hash
    assert Tokenizer.open(trained / other.sizes[0].directory).name == "mine-5000"
    assert len(published(trained)) == 4
    worker.close()
    store.close()


@SQLITE
def test_a_size_that_the_corpus_alphabet_does_not_fit_into_is_an_error_with_its_place(
    make_settings: MakeSettings,
) -> None:
    settings = make_settings()
    store, worker = JobStore.open(settings), Worker(settings)
    job = store.submit(
        JobRequest(
            recipe={"corpus": {"texts": TEXTS}, "model": "unigram", "vocab_size": 20, "sizes": [5]}, owner="local"
        )
    )[0]
    assert worker.work()
    error = store.get(job.id, None).error
    assert error is not None
    assert (error.code, error.path) == ("invalid_option", "settings.sizes"), error
    worker.close()
    store.close()
