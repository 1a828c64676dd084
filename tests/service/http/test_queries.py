"""Queries where none is taken, and queries that would cost more than they say."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.datastructures import QueryParams

from tests.service.problems import assert_problem


@pytest.mark.parametrize("path", ["/encode", "/decode", "/offsets", "/count", "/render", "/train-job"])
def test_query_of_a_route_that_is_asked_in_its_body_is_refused(client: TestClient, path: str) -> None:
    problem = assert_problem(client.post(f"{path}?return=ids&x", json={}), "unknown_field", "query return")
    assert "'return'" in problem["detail"]


def test_query_is_refused_where_none_is_taken_and_left_alone_where_others_leave_it(client: TestClient) -> None:
    for path in ("/tokenizers", "/tokenizers/bare"):
        assert_problem(client.get(f"{path}?nmae=bare"), "unknown_field", "query nmae")
    for path in ("/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"):
        assert client.get(f"{path}?now=1").status_code == 200
    assert client.post("/tokenize?now=1", json={"prompt": "fox"}).status_code == 200
    assert client.post("/count?", json={"text": "fox"}).status_code == 200


@pytest.mark.parametrize("way", ["GET /train-job", "GET /tokenizers/bare/check", "GET /tokenizers", "POST /encode"])
def test_query_that_would_hold_the_event_loop_up_is_refused_unread(client: TestClient, way: str) -> None:
    method, path = way.split()
    answer = client.request(method, f"{path}?{'state=&' * 600}", json={"text": "fox"} if method == "POST" else None)
    assert_problem(answer, "query_too_large")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"])
def test_query_of_a_route_without_a_key_is_not_taken_apart(
    client: TestClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    class Watched(QueryParams):
        def __init__(self, *given: Any) -> None:
            read.extend(given)
            super().__init__(*given)

    monkeypatch.setattr("starlette.requests.QueryParams", Watched)
    assert client.get(f"{path}?{'%&' * 30_000}").status_code == 200
    assert not any(read)
