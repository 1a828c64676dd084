"""A server whose jobs wait: nobody works on them, so their state is what a test makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import App
from service.auth.identity import Scope
from service.auth.keys import entry, new_key
from service.jobs.store import JobStore
from tests.service.conftest import MakeClient, app_of
from tests.service.problems import assert_problem

TEXTS = ["low lower lowest", "new newer newest", "wide wider widest"]
CORPUS = b"low lower lowest\n" * 100
SETTINGS = {"vocab_size": 260}
BODY = {"corpus": {"texts": TEXTS}, "settings": SETTINGS}


class Board:
    """A client of such a server, and what lies on its disk."""

    def __init__(self, client: TestClient, trained: Path) -> None:
        self.client = client
        self.trained = trained

    @property
    def store(self) -> JobStore:
        assert isinstance(self.client.app, App)
        store = self.client.app.server_state.jobs
        assert isinstance(store, JobStore)
        return store

    def files(self) -> list[str]:
        """Return the directories and files of jobs, by their place below the directory of jobs."""
        root = self.store.directory
        return sorted(str(path.relative_to(root)) for path in root.glob("*/**/*")) if root.exists() else []

    def directories(self) -> list[str]:
        root = self.store.directory
        return sorted(path.name for path in root.iterdir() if path.is_dir()) if root.exists() else []

    def submit(self, body: dict[str, Any] = BODY, **options: Any) -> dict[str, Any]:
        answer = self.client.post("/train-job", json=body, **options)
        assert answer.status_code == 202, answer.text
        job: dict[str, Any] = answer.json()
        assert answer.headers["location"] == f"{app_of(self.client).link_root}/train-job/{job['id']}"
        return job


MakeBoard = Callable[..., Board]


def _make_board(make_client: MakeClient, directory: Path, **settings: Any) -> Board:
    return Board(make_client(**{"trained": str(directory), "min_free_bytes": 0, **settings}), directory)


@pytest.fixture
def make_board(make_client: MakeClient, tmp_path: Path) -> MakeBoard:
    return partial(_make_board, make_client, tmp_path / "trained")


@pytest.fixture(scope="session")
def refusing(make_client: MakeClient, tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A board for what is refused, with a root full of ways out; many tests share it, since none leaves anything."""
    top = tmp_path_factory.mktemp("refusing")
    root = top / "corpora"
    root.mkdir()
    (top / "secret.txt").write_text("secret")
    (top / "corporaS").mkdir()
    (root / "out.txt").symlink_to(top / "secret.txt")
    (root / "out").symlink_to("..")
    (root / "outdir").symlink_to(top)
    return _make_board(make_client, top / "trained", corpus_roots=(str(root),), corpus_schemes=("https", "file"))


@pytest.fixture
def board(make_board: MakeBoard) -> Board:
    return make_board()


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, dict[str, str]]:
    """The headers of two callers who may train and of one who may everything, of the keys in ``keys.toml``."""
    made = {name: new_key() for name in ("ann", "bob", "boss")}
    scopes: dict[str, list[Scope]] = {"ann": ["train"], "bob": ["train"], "boss": ["admin"]}
    text = "".join(entry(name, scopes[name], key) for name, key in made.items())
    (tmp_path / "keys.toml").write_text(text)
    return {name: {"authorization": f"Bearer {key}"} for name, key in made.items()}


def form(*parts: tuple[str, str | None, bytes], boundary: str = "x") -> tuple[bytes, dict[str, str]]:
    """Write a form byte by byte: name, file name, content."""
    body = b""
    for name, filename, content in parts:
        named = "" if filename is None else f'; filename="{filename}"'
        body += f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"{named}\r\n\r\n'.encode()
        body += content + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), {"content-type": f"multipart/form-data; boundary={boundary}"}


def settings_part(**settings: Any) -> tuple[str, str, bytes]:
    return "settings", "settings.json", json.dumps(SETTINGS | settings).encode()


def post(board: Board, *parts: tuple[str, str | None, bytes], **headers: str) -> Any:
    body, kind = form(*parts)
    return board.client.post("/train-job", content=body, headers={**kind, **headers})


def refused(board: Board, answer: Any, code: str, path: str | None = None) -> None:
    assert_problem(answer, code, path)
    assert board.directories() == []


def json_refused(board: Board, body: Any, code: str, path: str | None) -> dict[str, Any]:
    answer = board.client.post("/train-job", json=body)
    problem = assert_problem(answer, code, path)
    assert board.directories() == []
    return problem
