"""A server on the loopback that answers as the Hugging Face hub does, for one repository."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.core.formats.small import document

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "tokenizer.json": json.dumps(document()).encode(),
    "chat_template.jinja": b"{{ messages[0].content }}",
    "model.safetensors": b"weights",
    "tokenization_made.py": b"raise SystemExit",
}


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
def hub(tmp_path: Path) -> Iterator[tuple[dict[str, str], list[str]]]:
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
