"""A disk that is full, read-only or forbidden is told as 507 or 503 with the reason, never as a bug, and leaves nothing
behind; what was served goes on.
"""

from __future__ import annotations

import errno
import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.cli import main
from service.jobs import supervisor
from service.jobs.store import JobStore
from service.jobs.worker import Worker
from service.settings import Settings
from tests.service.conftest import MakeClient, state_of
from tests.service.problems import assert_problem
from tests.service.registry.conftest import add, ids_of, trained_on
from tests.service.registry.test_uploaded_archives import packed_tar, upload
from tests.support.disks import Failing, mounted
from tests.support.paths import ROOT
from tokenizer_core import Tokenizer

NUMBERS = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EROFS: "disk_unwritable",
    errno.EACCES: "disk_unwritable",
    errno.EPERM: "disk_unwritable",
    errno.EIO: "disk_unwritable",
    errno.ENOENT: "disk_unwritable",
}
BASE = (ROOT / "artifacts" / "base" / "tokenizer.json").read_bytes()
REASONS = ("no room", "no space left", "read-only file system", "readonly database", "is full", "unable to open")
JSON = {"content-type": "application/json"}
JOB = {"corpus": {"texts": ["low lower lowest"]}, "settings": {"vocab_size": 260}}

Write = Callable[[TestClient, Path], httpx.Response]

CHANGES: dict[str, Write] = {
    "a source": lambda client, sources: add(client, "mine", sources / "two"),
    "an archive": lambda client, sources: upload(client, packed_tar(sources / "two")),
    "an alias": lambda client, _: client.put("/tokenizers/live", json={"tokenizer": "one"}),
    "a removal": lambda client, _: client.delete("/tokenizers/gone"),
    "an alias less": lambda client, _: client.delete("/tokenizers/org/one"),
}
UNDONE: dict[str, Write] = {
    "a source": lambda client, _: client.delete("/tokenizers/mine"),
    "an archive": lambda client, _: client.delete("/tokenizers/mine"),
    "an alias": lambda client, _: client.delete("/tokenizers/live"),
    "a removal": lambda client, sources: add(client, "gone", sources / "one"),
    "an alias less": lambda client, _: client.put("/tokenizers/org/one", json={"tokenizer": "one"}),
}
WRITES: dict[str, Write] = {
    **CHANGES,
    "a job with texts": lambda client, _: client.post("/train-job", json=JOB),
    "a job with a file": lambda client, _: client.post(
        "/train-job", files={"corpus": ("a.txt", b"low lower lowest\n" * 99)}, data={"settings": '{"vocab_size": 260}'}
    ),
    "a check": lambda client, _: client.post("/check", content=BASE, headers=JSON),
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "disk"


@pytest.fixture
def client(make_client: MakeClient, sources: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    return prepared(make_client, sources, directory, monkeypatch)


def prepared(make_client: MakeClient, sources: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A server that keeps all it writes in one directory, with two tokenizers and an alias that were added."""
    (directory / "tmp").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(directory / "tmp"))
    trained, roots = str(directory / "trained"), (str(sources),)
    client = make_client(trained=trained, tokenizer_roots=roots, check_uploads=True, min_free_bytes=0)
    for name in ("one", "gone"):
        assert add(client, name, sources / "one").status_code == 201
    assert client.put("/tokenizers/org/one", json={"tokenizer": "one"}).status_code == 200
    return client


def left(directory: Path) -> set[str]:
    """Return what lies there, but for the jobs' database, and for what a server makes once and keeps."""
    found = {str(path.relative_to(directory)) for path in directory.rglob("*")}
    return {name for name in found if "jobs.sqlite" not in name and name not in ("filler", "trained/.jobs")}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sources")
    for name, text in (("one", "the quick the quick brown "), ("two", "fox fox café café naïve ")):
        trained_on(text * 9).save(root / name, name=name)
    return root


@pytest.mark.nightly
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("what", WRITES)
def test_a_write_that_fails_is_told_with_its_reason(
    client: TestClient, directory: Path, sources: Path, monkeypatch: pytest.MonkeyPatch, what: str, number: int
) -> None:
    expected, before = ids_of(client, "org/one"), left(directory)
    failing = Failing(directory, monkeypatch)
    failing.fail(number)
    answer = WRITES[what](client, sources)
    assert failing.calls > 0
    code = answer.json()["code"]
    if what.startswith("a job") and code == "jobs_unavailable":
        assert answer.status_code == 503
    else:
        assert_problem(answer, NUMBERS[number])
    assert "no room" in answer.json()["detail"] or os.strerror(number).lower() in answer.json()["detail"]
    assert str(directory) not in answer.text
    failing.fail(0)
    assert left(directory) == before
    assert ids_of(client, "org/one") == expected
    assert WRITES[what](client, sources).status_code < 300


@pytest.mark.nightly
@pytest.mark.parametrize("what", CHANGES)
def test_whichever_write_of_a_change_fails_nothing_is_left_and_nothing_lost(
    client: TestClient, directory: Path, sources: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    failing = Failing(directory, monkeypatch)
    expected, before = ids_of(client, "one"), left(directory)
    for step in range(200):
        failing.fail(errno.ENOSPC, lambda call, step=step: call == step)  # type: ignore[misc]
        answer = CHANGES[what](client, sources)
        failing_calls = failing.calls
        failing.fail(0)
        if failing_calls <= step:
            break
        if answer.status_code < 300:
            # A directory that is there already, or the tidying behind the change.
            assert UNDONE[what](client, sources).status_code < 300
        else:
            assert_problem(answer, "disk_full")
        assert left(directory) == before
        assert ids_of(client, "one") == ids_of(client, "gone") == ids_of(client, "org/one") == expected
    assert step >= 3


@pytest.mark.process
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_every_write_to_a_real_disk_is_told_and_works_once_the_disk_does(
    make_client: MakeClient, sources: Path, directory: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with mounted(directory, kind) as disk:
        client = prepared(make_client, sources, directory, monkeypatch)
        before, expected = left(directory), ids_of(client, "one")
        for has_jobs in (False, True):
            state_of(client).jobs.close()
            disk.spoil()
            done = []
            for what, write in WRITES.items():
                answer = write(client, sources)
                if answer.status_code < 300:
                    # It needs no room, or has that of what it removes.
                    assert (kind, what) in (("full", "a removal"), ("full", "an alias less"))
                    disk.spoil()
                    done.append(what)
                    continue
                assert answer.status_code in (503, 507), (what, answer.text)
                assert any(reason in answer.json()["detail"] for reason in REASONS), (what, answer.text)
            assert client.get("/train-job").status_code in (200, 503)
            assert client.get("/metrics").status_code == 200
            assert ids_of(client, "one") == expected
            disk.mend()
            assert left(directory) <= before
            for what in done:
                assert UNDONE[what](client, sources).status_code < 300
            assert has_jobs or client.post("/check", content=BASE, headers=JSON).status_code == 200
            if not has_jobs:
                # From now on there is a database.
                job = client.post("/train-job", json=JOB).json()
                assert client.delete(f"/train-job/{job['id']}").status_code == 200
        assert add(client, "mine", sources / "two").status_code == 201


@pytest.mark.process
def test_a_server_starts_and_serves_on_a_read_only_disk(
    artifacts: tuple[str, str], sources: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mounted(directory, "read-only") as disk:
        disk.spoil()
        settings = Settings(artifacts=artifacts, trained=str(directory / "trained"), tokenizer_roots=(str(sources),))
        with TestClient(create_app(settings), base_url="http://localhost") as client:
            assert client.post("/count", json={"text": "a fox"}).status_code == 200
            assert_problem(add(client, "mine", sources / "one"), "disk_unwritable")
            assert_problem(client.post("/train-job", json=JOB), "jobs_unavailable")
            assert client.get("/train-job").json() == {"jobs": [], "next": None}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_forbidden_directory_is_told(client: TestClient, directory: Path, sources: Path) -> None:
    for path in directory.rglob("*"):
        if path.is_dir():
            path.chmod(0o500)
    try:
        for what, write in WRITES.items():
            answer = write(client, sources)
            assert answer.status_code == 503, (what, answer.text)
            assert "permission denied" in answer.json()["detail"] or "unable" in answer.json()["detail"]
    finally:
        for path in directory.rglob("*"):
            if path.is_dir():
                path.chmod(0o700)


def test_a_directory_of_jobs_that_may_not_be_looked_into_ends_no_worker(
    make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(path: Path, **_: Any) -> os.stat_result:
        if ".jobs" in str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path)

    stat = Path.stat
    settings = Settings(artifacts=("artifacts/base",), trained=str(tmp_path), worker=True)
    client, worker = make_client(trained=str(tmp_path)), Worker(settings)
    monkeypatch.setattr(Path, "stat", forbidden)
    problem = assert_problem(client.get("/train-job"), "jobs_unavailable")
    assert "permission denied" in problem["detail"]
    with pytest.raises(Exception, match="permission denied"):
        worker.sweep()
    worker.close()
    waits: list[float] = []

    class Ending:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return len(waits) == 3

        def is_set(self) -> bool:
            return True

    monkeypatch.setattr(JobStore, "open", lambda _: worker._store)
    supervisor._supervise(settings, Ending())  # type: ignore[arg-type]
    assert waits == [0.0, 5, 5]


def test_several_processes_without_a_directory_for_their_numbers_are_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unusable(**_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", unusable)
    monkeypatch.chdir(ROOT)
    before = dict(os.environ)
    try:
        assert main(["serve", "--workers", "2", "--port", "0", "--trained", str(tmp_path)]) == 2
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert "needs a directory for temporary files: No usable temporary directory" in capsys.readouterr().err


def test_a_key_that_the_disk_takes_only_the_beginning_of_changes_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "keys.toml"
    command = ["key", "new", "--name", "a", "--scope", "encode", "--file", str(file)]
    assert main(command) == 0
    before = file.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, limits[1]))
    try:
        assert main(command) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "unwritable_output: " in capsys.readouterr().err
    assert file.read_bytes() == before
    assert main(command) == 0


@pytest.mark.process
def test_a_socket_on_a_read_only_disk_is_named(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    with mounted(directory, "read-only") as disk:
        disk.spoil()
        assert main(["serve", "--uds", str(directory / "s"), "--trained", str(tmp_path), "--worker", "false"]) == 2
    assert f"{directory / 's'}: read-only file system" in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_a_cache_of_the_hub_that_cannot_be_written_is_no_fault_of_the_tokenizer(
    client: TestClient, sources: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def download(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "/cache")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert_problem(add(client, "mine", "hf:org/name"), NUMBERS[number])
    number = errno.ECONNREFUSED
    assert_problem(add(client, "mine", "hf:org/name"), "artifact_unusable", path="source")


def test_a_source_that_cannot_be_looked_at_is_refused(
    client: TestClient, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = sources / "loop"
    loop.symlink_to(loop)
    for source in (f"{sources}/{'a' * 300}", loop):
        assert_problem(add(client, "mine", source), "path_forbidden", path="source")
    loop.unlink()

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Tokenizer, "open", forbidden)
    problem = assert_problem(add(client, "mine", sources / "one"), "artifact_unusable", path="source")
    assert "permission denied" in problem["detail"]
