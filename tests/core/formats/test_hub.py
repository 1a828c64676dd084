"""``hf:ORG/NAME`` fetches the tokenizer's files alone, from a server that answers as the hub does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.core.formats.small import document
from tests.support.paths import ROOT

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "tokenizer.json": json.dumps(document()).encode(),
    "chat_template.jinja": b"{{ messages[0].content }}",
    "model.safetensors": b"weights",
    "tokenization_made.py": b"raise SystemExit",
}
PROGRAM = """
import json, sys
from tokenizer_core import TokdError, Tokenizer
try:
    found = Tokenizer.load(sys.argv[1])
    origin = found.provenance["imported_from"]
    ids = found.encode("hello").tolist()
    print(json.dumps({"name": found.name, "ids": ids, "template": found.template_hash, **origin}))
except TokdError as error:
    print(json.dumps({"code": error.code, "message": error.message}))
"""


class Hub(BaseHTTPRequestHandler):
    """Answer for the repository ``org/made``; ``org/closed`` is gated."""

    asked: list[str]

    def do_HEAD(self) -> None:
        self.answer(send_body=False)

    def do_GET(self) -> None:
        self.answer(send_body=True)

    def answer(self, *, send_body: bool) -> None:
        path = self.path.partition("?")[0]
        self.asked.append(path)
        rows = [
            {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
            for name, data in FILES.items()
        ]
        body, headers, status = b"", {}, 200
        name = path.rpartition(f"/resolve/{COMMIT}/")[2]
        if "org/closed" in path:
            status, headers = 403, {"X-Error-Code": "GatedRepo", "X-Error-Message": "closed"}
        elif path in ("/api/models/org/made/revision/main", "/api/models/org/made/revision/v1"):
            siblings = [{"rfilename": name} for name in FILES]
            body = json.dumps({"id": "org/made", "sha": COMMIT, "siblings": siblings}).encode()
        elif path.startswith("/api/models/org/made/tree/"):
            body = json.dumps(rows).encode()
        elif name in FILES and path.startswith("/org/made/"):
            body = FILES[name]
            headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(body).hexdigest()}"'}
        else:
            status, headers = 404, {"X-Error-Code": "RepoNotFound", "X-Error-Message": "no such repository"}
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), "Content-Type": "application/json", **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if send_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub(tmp_path) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Start a hub; yield the environment that leads to it, and the paths that it was asked for."""
    handler = type("Handler", (Hub,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        variables = {
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}",
            "HF_HOME": str(tmp_path / "cache"),
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
        }
        yield variables, handler.asked
        server.shutdown()


def load(reference: str, variables: dict[str, str]) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, reference],
        env={"PATH": os.environ["PATH"], **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.process
def test_the_files_of_the_tokenizer_are_fetched_alone_and_the_commit_is_kept(hub):
    variables, asked = hub
    found = load("hf:org/made", variables)
    assert (found["name"], found["repository"], found["commit"]) == ("made", "org/made", COMMIT)
    assert found["template"] is not None
    assert found["files"].keys() == {"tokenizer.json", "chat_template.jinja"}
    assert not any("safetensors" in path or path.endswith(".py") for path in asked)
    assert load("hf:org/made@v1", variables)["commit"] == COMMIT
    # Offline, what is in the cache is enough, and the hub is not asked.
    before = len(asked)
    assert load("hf:org/made", {**variables, "HF_HUB_OFFLINE": "1"})["ids"] == found["ids"]
    assert len(asked) == before


@pytest.mark.process
@pytest.mark.parametrize(
    ("reference", "code", "word"),
    [
        ("hf:org/none", "artifact_not_found", "org/none"),
        ("hf:org/closed", "artifact_not_found", "HF_TOKEN"),
        ("hf:a/b/c", "invalid_option", "hf:ORG/NAME"),
        ("hf:", "invalid_option", "hf:ORG/NAME"),
    ],
)
def test_what_cannot_be_fetched_is_refused_with_the_way_out(hub, reference, code, word):
    found = load(reference, hub[0])
    assert found["code"] == code
    assert word in found["message"]
