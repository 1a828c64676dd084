"""Where the files of jobs lie is the operator's choice, and what lies there is each caller's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from service.app import App
from service.jobs.job import Job
from service.jobs.worker import Worker
from tests.service.problems import assert_problem
from tests.service.routes.train_job.conftest import SETTINGS, Board, MakeBoard, form, settings_part

PLACES = ["up/../trained", "no/../trained", "link/../trained", "tr[a]ined", "tr*", "tr?ined", "trained"]
WORDS = b"low lower lowest newer newest " * 20


def worked(board: Board, submitted: dict[str, Any]) -> Job:
    """Have one job worked on, and return the one that was submitted."""
    assert isinstance(board.client.app, App)
    worker = Worker(board.client.app.server_state.settings)
    assert worker.work()
    worker.close()
    return board.store.get(submitted["id"], None)


@pytest.mark.nightly
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("relative", [True, False], ids=["relative", "absolute"])
def test_texts_and_uploads_are_read_wherever_the_trained_directory_lies(
    make_board: MakeBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, *, relative: bool
) -> None:
    home = tmp_path / "a" / "b"
    (home / "up").mkdir(parents=True)
    (tmp_path / "deep" / "in").mkdir(parents=True)
    (home / "link").symlink_to(tmp_path / "deep" / "in")
    # What a pattern of that name would find in its place.
    (home / "trained").mkdir()
    monkeypatch.chdir(home)
    board = make_board(trained=place if relative else str(home / place), job_nice=0)
    body, headers = form(("corpus", "a[b]*.txt", WORDS), settings_part(vocab_size=258))
    form_job = board.client.post("/train-job", content=body, headers=headers).json()
    for submitted in (form_job, board.submit()):
        ended = worked(board, submitted)
        assert ended.error is None
    # A link decides where `..` leads, as it does for every other program.
    trained = tmp_path / "deep" / "trained" if place.startswith("link/") else home / place.split("/")[-1]
    assert board.store.directory == trained / ".jobs"


def test_what_is_wrong_in_an_upload_is_told_by_its_place_in_the_request(
    make_board: MakeBoard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    board = make_board(trained="trained", job_nice=0)
    body, headers = form(("corpus", "a.txt", WORDS), ("corpus", "b.jsonl", b"{"), settings_part())
    error = worked(board, board.client.post("/train-job", content=body, headers=headers).json()).error
    assert error is not None
    assert (error.code, error.path) == ("invalid_corpus", "corpus[1]")
    assert str(tmp_path) not in error.message


NAMED = ("ROOT/trained/.jobs", "ROOT/trained/.jobs/*/*.jsonl", "ROOT/trained/.jobs/ID/corpus.jsonl", "ROOT/link/ID")
FOUND = (
    "ROOT/**/*.jsonl",
    "ROOT/trained/.*/*/*.jsonl",
    "ROOT/trained/.j*/*",
    "ROOT/l[i]nk/*/*",
    "ROOT/trained/.?obs/none/*",
)


@pytest.mark.parametrize("name", NAMED + FOUND)
def test_no_job_reads_the_uploads_of_another_or_learns_of_them(
    make_board: MakeBoard, tmp_path: Path, name: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "trained" / ".jobs")
    board = make_board(corpus_roots=(str(tmp_path),), job_nice=0)
    other = board.submit()
    path = name.replace("ROOT", str(tmp_path)).replace("ID", other["id"])
    body = {"corpus": {"files": [path], "format": "text"}, "settings": SETTINGS}
    if name in NAMED:
        answer: Any = board.client.post("/train-job", json=body)
        assert_problem(answer, "path_forbidden", "corpus.files[0]")
        return
    board.client.delete(f"/train-job/{other['id']}")
    # Jobs are worked on in their order: this text is still there when the caller's job reads.
    submitted = board.submit(body)
    later = board.submit()
    error = worked(board, submitted).error
    assert error is not None
    shown = path.removeprefix(f"{tmp_path}/trained/")
    told = f"there is no corpus at {shown}; files end in .txt, .jsonl or .parquet; for others give format"
    assert (error.code, error.message) == ("corpus_not_found", told)
    assert board.store.get(later["id"], None).state == "queued"
