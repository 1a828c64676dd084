"""Jobs that really train: killed at random moments, on a full disk, and found by a server that runs."""

from __future__ import annotations

import logging
import os
import random
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from service.jobs.job import EXTENDS_AS, Artifact, Job, JobRequest
from service.jobs.states import FINISHED, RUNNING, Kind, Stage, State
from service.jobs.store import JobStore
from service.jobs.worker import Worker
from service.registry.artifact_dirs import first_of, put_into_place
from service.registry.served import IdOptions
from service.registry.trained_tokenizers import Trained
from tests.service.jobs.conftest import SQLITE, MakeSettings, Start
from tests.support.waiting import children, is_alive, kill, until
from tokenizer_core import Recipe, Tokenizer, TrainingRun, train

KILLS = int(os.environ.get("TOKD_TEST_KILLS", "25"))
"""How often the test of kills kills; 50 and more take minutes."""

RECIPE = {"vocab_size": 600, "special_tokens": ["<|end|>"], "name": "killed"}


def words(seed: int) -> str:
    """Make a text that has something to learn in it."""
    dice = random.Random(seed)
    stems = ["".join(dice.choices("etaoinshrdlu", k=dice.randint(2, 9))) for _ in range(400)]
    return " ".join(dice.choice(stems) for _ in range(20_000))


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    for number in range(3):
        (directory / f"{number}.txt").write_text(words(number))
    return directory


@pytest.fixture(scope="module")
def undisturbed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of a run that nobody disturbs."""
    directory = tmp_path_factory.mktemp("undisturbed")
    return TrainingRun(directory / "run", Recipe.from_dict(recipe(corpus))).publish_under(directory / "made")[0]


def recipe(corpus: Path) -> dict[str, Any]:
    return {"corpus": {"paths": [str(corpus)]}, **RECIPE}


def submit(store: JobStore, corpus: Path) -> Job:
    return store.submit(JobRequest(recipe=recipe(corpus), owner="local", name="killed"))[0]


def artifacts(trained: Path) -> list[str]:
    """Name everything but the jobs' own files."""
    return sorted(path.name for path in trained.iterdir() if path.name != ".jobs")


def stage_of(store: JobStore, job: Job) -> Stage:
    return store.get(job.id, None).stage


def wait_for_moment(store: JobStore, job: Job, dice: random.Random) -> None:
    """Wait until a job is in a phase that the dice choose, or beyond, and a little more."""
    wanted = RUNNING.index(dice.choice(RUNNING[:3]))
    later = {*RUNNING[wanted:], *FINISHED}
    until(lambda: stage_of(store, job) in later)
    time.sleep(dice.random() * 0.2)


def test_killed_at_random_moments_every_job_ends_once_with_the_same_bytes(
    make_settings: MakeSettings, start: Start, corpus: Path, undisturbed: Path, tmp_path: Path
) -> None:
    settings = make_settings(lease_seconds=2, job_attempts=10_000, corpus_roots=(str(corpus),))
    store = JobStore.open(settings)
    seed = random.randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    dice = random.Random(seed)
    trained = tmp_path / "trained"
    worker, job, left = start("worker", settings), submit(store, corpus), KILLS
    while left:
        wait_for_moment(store, job, dice)
        below = children(worker.pid)
        target = dice.choice(("process", "worker", "both"))
        kill(*(below if target != "worker" else ()), *([worker.pid] if target != "process" else ()))
        left -= 1
        if target != "process":
            worker.wait(60)
            worker = start("worker", settings)
        if stage_of(store, job) in FINISHED:
            check_end(store, job, trained, undisturbed)
            job = submit(store, corpus)
    until(lambda: stage_of(store, job) in FINISHED)
    check_end(store, job, trained, undisturbed)
    until(lambda: all(stage in FINISHED for stage in (each.stage for each in store.list(owner=None).jobs)))
    store.close()


def check_end(store: JobStore, job: Job, trained: Path, undisturbed: Path) -> None:
    done = store.get(job.id, None)
    assert done.state is State.SUCCEEDED, done.error
    assert done.artifact is not None
    assert artifacts(trained) == [undisturbed.name] == [done.artifact.directory]
    assert contents(trained / done.artifact.directory) == contents(undisturbed)


@pytest.mark.nightly
@SQLITE
def test_a_killed_server_is_followed_by_another_that_ends_its_jobs(
    make_settings: MakeSettings, start: Start, corpus: Path, undisturbed: Path, tmp_path: Path
) -> None:
    settings = make_settings(
        lease_seconds=2,
        artifacts=(str(undisturbed),),
        uds=str(tmp_path / "s"),
        job_attempts=10_000,
        corpus_roots=(str(corpus),),
    )
    store = JobStore.open(settings)
    jobs = [submit(store, corpus) for _ in range(3)]
    for job, with_its_worker in zip(jobs, (False, True), strict=False):
        server = start("serve", settings)
        until(lambda job=job: stage_of(store, job) in (*RUNNING, *FINISHED))
        workers = children(server.pid)
        kill(server.pid, *(workers if with_its_worker else ()))
        server.wait(60)
        # The worker does not outlive its server.
        until(lambda workers=workers: not any(map(is_alive, workers)))
    start("serve", settings)
    for job in jobs:
        until(lambda job=job: stage_of(store, job) in FINISHED)
        check_end(store, job, tmp_path / "trained", undisturbed)
    assert len(store.list(owner=None).jobs) == 3
    store.close()


def test_the_name_of_an_artifact_lies_on_the_disk_before_its_job_has_succeeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").mkdir()
    waited_for: list[tuple[str, list[str]]] = []

    def noted(descriptor: int) -> None:
        synced = Path(f"/proc/self/fd/{descriptor}").readlink()
        waited_for.append((synced.name, [path.name for path in synced.iterdir()]))

    monkeypatch.setattr(os, "fsync", noted)
    put_into_place(tmp_path / "made", tmp_path / "place")
    assert waited_for == [(tmp_path.name, ["place"])]


@SQLITE
@pytest.mark.parametrize("damage", ["changed", "incomplete", "file"])
def test_what_is_damaged_in_the_place_of_an_artifact_is_put_aside(
    make_settings: MakeSettings, corpus: Path, undisturbed: Path, tmp_path: Path, damage: str
) -> None:
    settings, trained = make_settings(corpus_roots=(str(corpus),)), tmp_path / "trained"
    place = trained / undisturbed.name
    if damage == "file":
        trained.mkdir()
        place.write_text("no directory")
    else:
        shutil.copytree(undisturbed, place)
        (place / "manifest.json").unlink() if damage == "incomplete" else (place / "tokenizer.json").write_text("{}")
    store, worker = JobStore.open(settings), Worker(settings)
    job = submit(store, corpus)
    assert worker.work()
    assert store.get(job.id, None).state is State.SUCCEEDED
    assert contents(place) == contents(undisturbed)
    (aside,) = trained.glob(".*.damaged-*")
    assert aside.is_file() == (damage == "file")
    worker.close()
    store.close()


def test_what_is_made_again_for_a_damaged_artifact_is_still_the_first_of_its_hash(tmp_path: Path) -> None:
    tokenizer = train(iter(["low lower"]), 260)
    place = tmp_path / tokenizer.hash.removeprefix("sha256:")

    def put(tokenizer: Tokenizer) -> Path:
        tokenizer.save(tmp_path / "made", name="trained")
        return put_into_place(tmp_path / "made", place)

    assert put(tokenizer) == place
    long_ago = (place / "manifest.json").stat().st_mtime_ns - 10**12
    os.utime(place / "manifest.json", ns=(long_ago, long_ago))
    assert put(tokenizer.with_template("{{ messages }}")) != place
    (place / "tokenizer.json").write_text("{}")
    assert put(tokenizer) == place
    assert first_of(tmp_path, place.name) == place
    assert Tokenizer.open(place).template_hash is None


@SQLITE
@pytest.mark.parametrize("named", [{}, {"name": "mine"}], ids=["no name", "named"])
def test_jobs_of_equal_ids_keep_the_template_roles_and_corpus_that_each_asked_for(
    make_settings: MakeSettings, corpus: Path, tmp_path: Path, named: dict[str, str]
) -> None:
    settings, trained = make_settings(corpus_roots=(str(corpus.parent),)), tmp_path / "trained"
    store, worker = JobStore.open(settings), Worker(settings)
    more = corpus.parent / f"{corpus.name}-more"
    shutil.copytree(corpus, more, dirs_exist_ok=True)
    (more / "0.txt").write_text((corpus / "0.txt").read_text() + " ")
    plain = {"corpus": {"paths": [str(corpus)]}, "vocab_size": 300, "special_tokens": ["<a>", "<b>"], **named}
    asked = [
        plain | {"pad": "<a>", "chat_template": "A{{ messages[0].content }}"},
        plain | {"pad": "<b>", "chat_template": "B{{ messages[0].content }}"},
        plain | {"corpus": {"paths": [str(more)]}},
    ]

    def done(recipe: dict[str, Any]) -> Artifact:
        job = store.submit(JobRequest(recipe=recipe, owner="local"))[0]
        assert worker.work()
        ended = store.get(job.id, None)
        assert ended.artifact is not None, ended.error
        return ended.artifact

    made = [done(recipe) for recipe in asked]
    assert len({artifact.hash for artifact in made}) == 1
    opened = [Tokenizer.open(trained / artifact.directory) for artifact in made]
    assert [tokenizer.settings.pad for tokenizer in opened] == ["<a>", "<b>", None]
    assert [tokenizer.settings.chat_template for tokenizer in opened] == [each.get("chat_template") for each in asked]
    assert len({str(tokenizer.provenance["corpus"]) for tokenizer in opened}) == 2
    # Each has one place, however often it is made: the first copy stays.
    assert [done(recipe).directory for recipe in asked] == [artifact.directory for artifact in made]
    assert artifacts(trained) == sorted(artifact.directory for artifact in made)
    tokenizers = Trained(trained, 4, 0, IdOptions())
    for reference in (None, named.get("name")):
        found = tokenizers.open(reference, made[0].hash)
        assert found is not None
        assert found.tokenizer.settings.pad == "<a>"
    worker.close()
    store.close()


@SQLITE
def test_a_job_extends_what_its_submitter_named_or_fails(
    make_settings: MakeSettings, corpus: Path, undisturbed: Path, tmp_path: Path
) -> None:
    settings = make_settings(corpus_roots=(str(corpus),))
    store, worker = JobStore.open(settings), Worker(settings)
    start, named = tmp_path / "start", Tokenizer.open(undisturbed)
    named.save(start)
    recipe = {"corpus": {"paths": [str(corpus)]}, "vocab_size": 700}
    pinned = Recipe.from_dict({**recipe, "extends": str(start)}).pinned().to_dict()
    pinned[EXTENDS_AS] = "start"
    train(iter(["low lower"]), 260).save(start)
    job = store.submit(JobRequest(recipe=pinned, owner="local"))[0]
    assert worker.work()
    error = store.get(job.id, None).error
    assert error is not None
    assert (error.code, error.path) == ("hash_mismatch", "settings.extends")
    assert error.message.startswith("start holds sha256:")
    named.save(start)
    job = store.submit(JobRequest(recipe=pinned, owner="local"))[0]
    assert worker.work()
    assert store.get(job.id, None).state is State.SUCCEEDED
    worker.close()
    store.close()


FULL = """
import errno, os, sys
from pathlib import Path
import tokenizer_core.formats.publish as publish
import service.job_process.training

write = publish.write_new
marker = Path(sys.argv[-1]).parent.parent / "was-full"

def full(path, parts):
    if path.name == "tokenizer_config.json" and not marker.exists():
        marker.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    write(path, parts)

publish.write_new = full
sys.exit(service.job_process.training.main())
"""


@SQLITE
def test_a_full_disk_while_publishing_fails_with_a_reason_leaves_nothing_and_a_retry_works(
    make_settings: MakeSettings, corpus: Path, undisturbed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tokd.jobs")
    settings = make_settings(corpus_roots=(str(corpus),))
    store, worker = JobStore.open(settings), Worker(settings, {Kind.TRAIN: (sys.executable, "-c", FULL)})
    job = submit(store, corpus)
    assert worker.work()
    failed = store.get(job.id, None)
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (State.FAILED, "disk_full")
    assert artifacts(tmp_path / "trained") == []
    again = submit(store, corpus)
    assert worker.work()
    assert caplog.messages[-1] == f"job {again.id} has succeeded: sha256:{undisturbed.name.partition('-')[0]}"
    check_end(store, again, tmp_path / "trained", undisturbed)
    assert [path for path in store.directory.iterdir() if path.is_dir()] == []
    worker.close()
    store.close()


@SQLITE
def test_no_job_reads_what_was_uploaded_for_another(make_settings: MakeSettings, tmp_path: Path) -> None:
    settings = make_settings(corpus_roots=(str(tmp_path),))
    store, worker = JobStore.open(settings), Worker(settings)
    (store.directory / "other").mkdir(parents=True)
    (store.directory / "other" / "0.txt").write_text("secret")
    recipe = {"corpus": {"paths": [f"{store.directory}/*/*.txt"]}, "vocab_size": 300}
    job, _ = store.submit(JobRequest(recipe=recipe, owner="local"))
    assert worker.work()
    failed = store.get(job.id, None)
    assert failed.error is not None
    assert failed.error.code == "path_forbidden"
    worker.close()
    store.close()


@SQLITE
@pytest.mark.parametrize(
    ("corpus_of", "code"),
    [
        ({"texts": [""]}, "empty_corpus"),
        ({"paths": ["nowhere.txt"]}, "corpus_not_found"),
        ({"paths": ["/etc/passwd"], "format": "text"}, "path_forbidden"),
        ({"paths": ["../other/corpus.txt"]}, "path_forbidden"),
        ({"paths": ["file:///etc/passwd"], "format": "text"}, "path_forbidden"),
        ({"paths": ["https://example.com/corpus.txt"]}, "scheme_forbidden"),
    ],
)
def test_what_cannot_be_trained_on_fails_with_the_code_of_the_library(
    make_settings: MakeSettings, corpus_of: dict[str, Any], code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tokd.jobs")
    settings = make_settings()
    store, worker = JobStore.open(settings), Worker(settings)
    job, _ = store.submit(JobRequest(recipe={"corpus": corpus_of, "vocab_size": 300}, owner="local"))
    assert worker.work()
    failed = store.get(job.id, None)
    assert failed.error is not None
    assert (failed.state, failed.error.code, failed.attempts) == (State.FAILED, code, 1)
    assert str(store.directory) not in failed.error.message
    assert caplog.messages[-1] == f"job {job.id} has failed: {code}"
    worker.close()
    store.close()
