"""The one shape that every error has."""

from __future__ import annotations

from typing import Any

import httpx

from service.errors import PROBLEMS


def assert_problem(answer: httpx.Response, code: str, path: str | None = None) -> dict[str, Any]:
    """Hold an answer against the shape, and against the status of its code."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text[:500]
    assert len(answer.content) <= 4096
    assert answer.content.isascii()
    body: dict[str, Any] = answer.json()
    assert list(body)[:6] == ["type", "title", "status", "detail", "code", "path"]
    assert (body["code"], body["path"]) == (code, path), body
    assert body["status"] == answer.status_code == PROBLEMS[code].status
    assert body["title"] == PROBLEMS[code].title
    assert body["type"] == f"/docs#{code}"
    assert body["detail"]
    return body
