"""The archive of an artifact: the same bytes every time, and a tokenizer when it is unpacked."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from service.jobs.job import Artifact
from service.jobs.leases import Leases
from service.jobs.states import Event
from service.routes.train_job.archive import _tar, archive, verified_files
from tests.service.problems import assert_problem
from tests.service.routes.train_job.conftest import Board
from tests.support.damages import DAMAGES
from tokenizer_core import Tokenizer


def publish(board: Board, artifact: str, *, named: bool = True) -> str:
    """Let a job have published a copy of an artifact."""
    tokenizer = Tokenizer.open(artifact)
    directory = tokenizer.hash.removeprefix("sha256:") + f"-{tokenizer.name}" * named
    shutil.copytree(artifact, board.trained / directory)
    job = board.submit()["id"]
    leases = Leases(board.store.database, seconds=60, max_attempts=5)
    lease = leases.take("worker")
    assert lease is not None
    for happening in (Event.MERGE, Event.PUBLISH, Event.COMMIT):
        leases.advance(lease, happening)
    leases.succeed(lease, Artifact(tokenizer.hash, tokenizer.name, directory))
    return str(job)


def test_archive_unpacks_to_the_tokenizer(board: Board, artifacts: tuple[str, str], tmp_path: Path) -> None:
    job = publish(board, artifacts[0])
    answer = board.client.get(f"/train-job/{job}/artifact")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/gzip"
    tokenizer = Tokenizer.open(artifacts[0])
    assert answer.headers["etag"] == f'"{tokenizer.hash}"'
    name = answer.headers["content-disposition"].split('"')[1]
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as packed:
        assert {member.name.split("/")[0] for member in packed.getmembers()} == {name.removesuffix(".tar.gz")}
        packed.extractall(tmp_path / "unpacked", filter="data")
    assert Tokenizer.open(tmp_path / "unpacked" / name.removesuffix(".tar.gz")).hash == tokenizer.hash
    assert board.client.get(f"/train-job/{job}/artifact").content == answer.content


def test_a_job_tells_the_name_by_which_its_artifact_is_found(board: Board, artifacts: tuple[str, str]) -> None:
    for artifact, named in zip(artifacts, (True, False), strict=True):
        made = board.client.get(f"/train-job/{publish(board, artifact, named=named)}").json()["artifact"]
        assert made["name"] == (Tokenizer.open(artifact).name if named else None)
        found = made["name"] or made["tokenizer"]
        assert board.client.get(f"/tokenizers/{found}").json()["tokenizer"] == made["tokenizer"]


def test_bytes_know_nothing_of_times_owners_order_or_links(artifacts: tuple[str, str], tmp_path: Path) -> None:
    hashes = verified_files(Path(artifacts[0]), Tokenizer.open(artifacts[0]).hash)
    first = b"".join(archive(Path(artifacts[0]), "a", hashes))
    other = tmp_path / "other"
    other.mkdir()
    for path in sorted(Path(artifacts[0]).iterdir(), reverse=True):
        (other / path.name).write_bytes(path.read_bytes())
        os.utime(other / path.name, (1, 1))
        (other / path.name).chmod(0o600)
    (other / "link").symlink_to("/etc/passwd")
    (other / "directory").mkdir()
    assert b"".join(archive(other, "a", hashes)) == first
    with tarfile.open(fileobj=io.BytesIO(first)) as packed:
        for member in packed.getmembers():
            assert (member.mtime, member.uid, member.gid, member.uname, member.mode) == (0, 0, 0, "", 0o644)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 1 << 20])
def test_content_of_any_size_comes_back(tmp_path: Path, size: int) -> None:
    directory = tmp_path / "artifact"
    directory.mkdir()
    content = os.urandom(size)
    (directory / "manifest.json").write_bytes(content)
    hashes = {"manifest.json": f"sha256:{hashlib.sha256(content).hexdigest()}"}
    with tarfile.open(fileobj=io.BytesIO(b"".join(archive(directory, "a", hashes)))) as packed:
        member = packed.extractfile("a/manifest.json")
        assert member is not None
        assert member.read() == content


def test_job_without_an_artifact_says_so(board: Board, artifacts: tuple[str, str]) -> None:
    waiting = board.submit()["id"]
    problem = assert_problem(board.client.get(f"/train-job/{waiting}/artifact"), "no_artifact")
    assert "queued" in problem["detail"]
    board.client.delete(f"/train-job/{waiting}")
    job = publish(board, artifacts[1])
    for path in board.trained.iterdir():
        if path.name != ".jobs":
            shutil.rmtree(path)
    assert_problem(board.client.get(f"/train-job/{job}/artifact"), "no_artifact")


@pytest.mark.parametrize(
    "put",
    [
        lambda path: path.write_text("no directory"),
        lambda path: path.mkdir(),
        lambda path: os.mkfifo(path),
        lambda path: path.symlink_to(path),
    ],
    ids=["file", "empty directory", "pipe", "link to itself"],
)
def test_what_is_no_artifact_where_one_was_is_not_packed(
    board: Board, artifacts: tuple[str, str], put: Callable[[Path], None]
) -> None:
    job = publish(board, artifacts[1])
    (place,) = (path for path in board.trained.iterdir() if path.name != ".jobs")
    shutil.rmtree(place)
    put(place)
    assert_problem(board.client.get(f"/train-job/{job}/artifact"), "no_artifact")


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_byte_of_a_damaged_artifact_is_sent(board: Board, artifacts: tuple[str, str], damage: str) -> None:
    job = publish(board, artifacts[0])
    (place,) = (path for path in board.trained.iterdir() if path.name != ".jobs")
    DAMAGES[damage][0](place)
    answer = board.client.get(f"/train-job/{job}/artifact")
    problem = assert_problem(answer, "no_artifact" if damage == "no manifest" else "artifact_damaged")
    assert str(place) not in problem["detail"]


def test_the_archive_of_another_artifact_is_not_sent(board: Board, artifacts: tuple[str, str]) -> None:
    job = publish(board, artifacts[0])
    (place,) = (path for path in board.trained.iterdir() if path.name != ".jobs")
    shutil.rmtree(place)
    shutil.copytree(artifacts[1], place)
    assert_problem(board.client.get(f"/train-job/{job}/artifact"), "artifact_damaged")


@pytest.mark.parametrize("changed", [b"x" * 10, b"x" * 99 + b"y", b"x" * 101])
def test_file_that_changes_ends_the_archive_with_an_error(tmp_path: Path, changed: bytes) -> None:
    """What is packed then must not look whole."""
    (tmp_path / "a.json").write_bytes(b"x" * 100)
    parts = _tar(tmp_path, "mine", {"a.json": f"sha256:{hashlib.sha256(b'x' * 100).hexdigest()}"})
    if len(changed) > 100:
        (tmp_path / "a.json").write_bytes(changed)
    assert len(next(parts)) == tarfile.BLOCKSIZE
    (tmp_path / "a.json").write_bytes(changed)
    with pytest.raises(OSError, match="changed while it was read"):
        list(parts)
