"""Jobs that encode and cannot: each ends with a code that says why, leaves nothing, and the same job works later."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from service.jobs.job import Job, JobRequest
from service.jobs.states import Kind, State
from service.jobs.store import JobStore
from service.jobs.worker import Worker
from tests.service.jobs.conftest import SQLITE, MakeSettings
from tests.support.tiny_ranks import BYTES, write_ranks
from tokenizer_core import Tokenizer, base_artifact, check_token_files

pytestmark = SQLITE

MISHAP = """
import errno, os, sys
from pathlib import Path
import service.job_process.encoding
import tokenizer_core.token_files.run as run
import tokenizer_core.token_files.store as store

what, number, corpus = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
close, encode, writes = store.HashedFile.close, run.TaskEncoder.encode, iter(range(1000))

def fail(file):
    # Some parts are there already.
    if next(writes) == 4:
        raise OSError(int(number), os.strerror(int(number)))
    close(file)

def change(encoder, task):
    encode(encoder, task)
    with next(iter(sorted(Path(corpus).iterdir()))).open("a") as file:
        file.write('{"text": "more"}' + chr(10))

if what == "disk":
    store.HashedFile.close = fail
if what == "change":
    run.TaskEncoder.encode = change
sys.exit(service.job_process.encoding.main())
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [json.dumps({"text": f"the quick fox {number} " * 9}) + "\n" for number in range(300)]
    (folder / "a.jsonl").write_text("".join(rows))
    return folder


def submit(store: JobStore, corpus: Path, artifact: Path, **settings: Any) -> Job:
    recipe = {
        "corpus": {"paths": [str(corpus)]},
        "settings": {"format": "ds", "eos": "none", "shard_bytes": 4096, **settings},
        "tokenizer": Tokenizer.open(artifact).hash,
        "tokenizer_path": str(artifact.absolute()),
    }
    return store.submit(JobRequest(kind=Kind.ENCODE, recipe=recipe, owner="local"))[0]


def check_nothing_is_left(store: JobStore, trained: Path) -> None:
    assert [path for path in store.directory.iterdir() if path.is_dir()] == []
    assert list((trained / ".encoded").iterdir()) == []


@pytest.mark.parametrize(
    ("mishap", "number", "code", "told"),
    [
        ("disk", errno.ENOSPC, "disk_full", "the disk is full"),
        ("disk", errno.EROFS, "disk_unwritable", "read-only file system"),
        ("change", 0, "invalid_corpus", "a.jsonl changed while it was read"),
    ],
)
def test_a_mishap_in_the_middle_is_told_and_the_same_job_works_later(
    make_settings: MakeSettings, corpus: Path, tmp_path: Path, mishap: str, number: int, code: str, told: str
) -> None:
    settings, base = make_settings(corpus_roots=(str(corpus),)), Path(base_artifact())
    command = (sys.executable, "-c", MISHAP, mishap, str(number), str(corpus))
    store, worker = JobStore.open(settings), Worker(settings, {Kind.ENCODE: command})
    job = submit(store, corpus, base)
    assert worker.work()
    failed = store.get(job.id, None)
    assert failed.error is not None
    assert (failed.state, failed.error.code, failed.attempts) == (State.FAILED, code, 1)
    assert told in failed.error.message
    check_nothing_is_left(store, tmp_path / "trained")
    worker.close()
    worker = Worker(settings)
    again = submit(store, corpus, base)
    assert worker.work()
    done = store.get(again.id, None)
    assert done.state is State.SUCCEEDED, done.error
    assert done.artifact is not None
    written = tmp_path / "trained" / ".encoded" / done.artifact.directory
    assert check_token_files(written, Tokenizer.open(base)).ok
    worker.close()
    store.close()


def test_a_corrupt_line_far_inside_and_an_id_beyond_the_type_are_named(
    make_settings: MakeSettings, corpus: Path, tmp_path: Path
) -> None:
    with (corpus / "a.jsonl").open("a") as file:
        file.write('{"text": "fine"}\n' * 50 + '{"text": \n' + '{"text": "fine"}\n' * 500)
    settings, base = make_settings(corpus_roots=(str(corpus),)), Path(base_artifact())
    large = tmp_path / "large"
    ranks = write_ranks(tmp_path / "ranks", BYTES)
    Tokenizer.from_tiktoken(ranks, pattern="gpt2", special_tokens={"<|far|>": 70_000}).save(large)
    store, worker = JobStore.open(settings), Worker(settings)
    for artifact, options, code, told, path in (
        (base, {}, "invalid_corpus", f"line 351 of {corpus / 'a.jsonl'}", "line 351"),
        (large, {"dtype": "uint16"}, "invalid_option", "does not fit into uint16", "settings.dtype"),
    ):
        job = submit(store, corpus, artifact, **options)
        assert worker.work()
        error = store.get(job.id, None).error
        assert error is not None
        assert (error.code, error.path) == (code, path)
        assert told in error.message
        check_nothing_is_left(store, tmp_path / "trained")
    worker.close()
    store.close()
