"""``POST /check``: off by default; what is sent is audited in a process that bounds it, and nothing of it is left."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.job_process import auditing
from service.registry.incoming import CHECKS, incoming
from service.routes import check as check_route
from tests.service.conftest import MakeClient
from tests.support.paths import ROOT
from tokenizer_core import Tokenizer, check

BASE = ROOT / "artifacts" / "base" / "tokenizer.json"
JSON = {"content-type": "application/json"}


@pytest.fixture
def client(make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A server that takes uploads, and puts them where the test can see what is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return make_client(check_uploads=True)


@pytest.fixture(autouse=True)
def leaves_nothing(tmp_path: Path) -> Any:
    yield
    assert list(tmp_path.iterdir()) == []


def send(client: TestClient, body: bytes) -> Any:
    return client.post("/check", content=body, headers=JSON)


def of_base(**changes: Any) -> bytes:
    return json.dumps({**json.loads(BASE.read_bytes()), **changes}).encode()


def test_the_route_is_there_only_if_the_operator_allows_it(make_client: MakeClient) -> None:
    answer = send(make_client(), b"{}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "/check" not in make_client().get("/openapi.json").json()["paths"]


def test_an_upload_is_audited_as_the_library_audits_it(
    client: TestClient, tmp_path_factory: pytest.TempPathFactory
) -> None:
    answer = send(client, BASE.read_bytes())
    assert answer.status_code == 200, answer.text
    # The file alone is uploaded; beside it the library would read its template, too.
    alone = Path(shutil.copy(BASE, tmp_path_factory.mktemp("alone")))
    told, expected = answer.json(), check(Tokenizer.from_hf(alone)).to_dict()
    assert told["tokenizer"] == expected["tokenizer"]
    assert told["name"] == "uploaded"
    assert [(point["name"], point["status"]) for point in told["points"]] == [
        (point["name"], point["status"]) for point in expected["points"]
    ]
    assert client.get(f"/tokenizers/{told['tokenizer']}").status_code == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "invalid_file"),
        (b"[]", "invalid_file"),
        (b"\xff\xfe", "invalid_file"),
        (b'{"model": ' + b"[" * 200_000, "invalid_file"),
        (of_base(model={"type": "Nonsense"}), "unsupported"),
        (of_base(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(("}, "behavior": "Isolated"}), "pre_tokenizer"),
        (of_base(added_tokens=[{"id": 4_000_000_000, "content": "x"}]), ""),
    ],
)
def test_what_is_no_tokenizer_is_refused_by_its_fault_and_without_a_place_of_the_server(
    client: TestClient, tmp_path: Path, body: bytes, words: str
) -> None:
    answer = send(client, body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_tokenizer"), answer.text
    assert words in answer.json()["detail"]
    assert str(tmp_path) not in answer.text


def program(tmp_path_factory: pytest.TempPathFactory, source: str) -> tuple[str, ...]:
    """Return the command of a process that does what a hostile file might bring about."""
    path = tmp_path_factory.mktemp("program") / "hostile.py"
    path.write_text(f"from service.job_process.auditing import confine\nconfine()\n{source}\n", "utf-8")
    return (check_route.AUDITING[0], str(path))


@pytest.mark.process
@pytest.mark.parametrize(
    "source",
    [
        "import time\ntime.sleep(600)",
        "while True: pass",
        "kept = []\nwhile True: kept.append(bytearray(1 << 28))",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
        "import sys\nopen(sys.argv[1] + '.more', 'wb').write(b'x')",
    ],
    ids=["sleeps", "spins", "takes memory", "crashes", "writes a file"],
)
def test_a_process_that_takes_too_much_is_ended_and_told_so(
    client: TestClient, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(check_route, "AUDITING", program(tmp_path_factory, source))
    monkeypatch.setattr(check_route, "SECONDS", 3)
    answer = send(client, b"{}")
    assert (answer.status_code, answer.json()["code"]) == (422, "check_limit")
    assert client.get("/healthz").status_code == 200


def test_what_a_killed_process_left_is_swept_and_what_another_one_checks_stays(
    client: TestClient, tmp_path: Path
) -> None:
    (tmp_path / "tokd-check-dead" / "uploaded").mkdir(parents=True)
    with incoming(tmp_path, CHECKS) as living:
        assert send(client, b"{}").status_code == 422
        assert list(tmp_path.iterdir()) == [living]


def test_a_body_that_is_too_large_or_not_json_is_refused_before_it_is_read(make_client: MakeClient) -> None:
    client = make_client(check_uploads=True, max_body_bytes=100)
    assert send(client, b" " * 101).json()["code"] == "body_too_large"
    assert client.post("/check", content=b"{}").json()["code"] == "unsupported_media_type"


def test_the_bounds_leave_room_for_the_largest_tokenizers() -> None:
    assert auditing.MEMORY_BYTES >= 4 << 30
    assert auditing.SECONDS >= 60
