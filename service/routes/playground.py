"""``GET /``: the page for people, with its scripts, and ``GET /client.js``, which programs may use as well.

The files are read when the server starts: nothing that a request names is looked for on the disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import orjson
from fastapi import FastAPI, Request
from fastapi.responses import Response

from service.errors import from_status
from service.state import ServerState
from tokenizer_core import ARTICLE_1

FOLDER = Path(__file__).parents[1] / "playground"
"""The files of the page."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy of the page: only its own files are loaded, and it speaks to this server alone."""

TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".ts": "text/plain",
    ".svg": "image/svg+xml",
}


class File(NamedTuple):
    """A file of the page."""

    body: bytes
    media_type: str
    etag: str


def read_files() -> dict[str, File]:
    """Read the files of the page by name, with the sentence in many languages that it compares tokenizers on."""
    files = {
        path.name: _file(path.read_bytes(), TYPES[path.suffix]) for path in FOLDER.iterdir() if path.suffix in TYPES
    }
    return {**files, "languages.json": _file(orjson.dumps(ARTICLE_1), "application/json")}


def _file(body: bytes, media_type: str) -> File:
    return File(body, media_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def mount(app: FastAPI, _: ServerState) -> None:
    """Declare the routes."""
    files = read_files()

    def send(request: Request, name: str) -> Response:
        file = files[name]
        headers = {"etag": file.etag, "cache-control": "no-cache", "x-content-type-options": "nosniff"}
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        if name == "index.html":
            headers |= {"content-security-policy": POLICY, "referrer-policy": "no-referrer"}
        return Response(file.body, headers=headers, media_type=file.media_type)

    def fixed(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def give(request: Request) -> Response:
            return send(request, name)

        return give

    async def part(request: Request, name: str) -> Response:
        if name not in files:
            raise from_status(404, request.url.path, (), ())
        return send(request, name)

    for path, name in (("/", "index.html"), ("/client.js", "client.js"), ("/client.d.ts", "client.d.ts")):
        app.get(path, include_in_schema=False, name=name)(fixed(name))
    app.get("/playground/{name}", include_in_schema=False)(part)
