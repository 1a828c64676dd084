"""What OpenAI's and Anthropic's clients ask beside the counting routes: one model, and routes that are not there."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

ANTHROPIC = {"anthropic-version": "2023-06-01"}


def test_one_model_is_as_in_the_list(counting: TestClient) -> None:
    listed = counting.get("/v1/models").json()["data"]
    for model in listed:
        assert counting.get(f"/v1/models/{model['id']}").json() == model
    assert counting.get("/v1/models/gpt-x").json()["id"] == "gpt-x"
    missing = counting.get("/v1/models/org/nobody")
    assert (missing.status_code, missing.headers["content-type"]) == (404, "application/json")
    error = missing.json()["error"]
    assert (error["code"], error["param"], error["type"]) == ("model_not_found", "model", "invalid_request_error")
    assert error["message"].startswith("The model `org/nobody` does not exist.")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/v1/chat/completions", 404, "not_found"),
        ("POST", "/v1/embeddings", 404, "not_found"),
        ("GET", "/v1", 404, "not_found"),
        ("POST", "/v1/models", 405, "method_not_allowed"),
        ("GET", "/v1/responses/input_tokens", 405, "method_not_allowed"),
    ],
)
def test_what_is_not_there_is_told_in_the_shape_of_the_client(
    counting: TestClient, method: str, path: str, status: int, code: str
) -> None:
    answer = counting.request(method, path, json={} if method == "POST" else None)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
    assert (answer.json()["error"]["code"], answer.json()["error"]["type"]) == (code, "invalid_request_error")


def test_anthropics_client_gets_its_own_shape(counting: TestClient) -> None:
    for path in ("/v1/messages", "/v1/complete", "/v1/messages/batches"):
        answer = counting.post(path, json={}, headers=ANTHROPIC)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")
        assert answer.json()["type"] == "error"
        assert answer.json()["error"]["type"] == "not_found_error"
        assert path in answer.json()["error"]["message"]


def test_other_routes_that_are_not_there_are_problems(counting: TestClient) -> None:
    for path in ("/v2/models", "/v1x", "/nothing"):
        assert counting.get(path, headers=ANTHROPIC).headers["content-type"] == "application/problem+json"
