"""The vectors about services: bodies that break others, ids that are none, names that are paths."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.service.problems import assert_problem
from tests.support.data import PRESENT, needs_data, vectors

pytestmark = needs_data
JSON = {"content-type": "application/json"}
CASES = vectors() if PRESENT else ()
BODIES = [
    case for case in CASES if isinstance(case["input"], dict) and {"http_body", "http_body_utf8"} & set(case["input"])
]
IDS = [case for case in CASES if case["id"].startswith("dec-bad")]
NAMES = [case for case in CASES if isinstance(case["input"], dict) and "artifact_name" in case["input"]]


def allowed(expected: Any) -> set[int]:
    text = expected["status"] if isinstance(expected, dict) else expected
    return {int(status) for status in re.findall(r"\b[45]\d\d\b", str(text))} - set(range(500, 600))


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case["id"])
def test_body_is_refused_as_expected(client: TestClient, case: dict[str, Any]) -> None:
    body = case["input"].get("http_body") or case["input"]["http_body_utf8"]
    if body.endswith("...5000 digits"):
        body = '{"ids":[' + "9" * 5000 + "]}"
    answer = client.post("/decode" if '"ids"' in body else "/encode", content=body.encode(), headers=JSON)
    assert answer.status_code in allowed(case["expected"]), answer.text
    problem = assert_problem(answer, answer.json()["code"], answer.json()["path"])
    if "ud" in body:
        assert problem["code"] == "invalid_unicode"


@pytest.mark.parametrize("case", IDS, ids=lambda case: case["id"])
def test_what_is_no_id_is_refused_with_its_index(client: TestClient, case: dict[str, Any]) -> None:
    answer = client.post("/decode", json={"ids": case["input"]["ids"]})
    assert answer.status_code in allowed(case["expected"])
    assert answer.json()["path"] == "ids[0]"


@pytest.mark.parametrize("case", NAMES, ids=lambda case: case["id"])
def test_name_that_is_no_name_is_refused(client: TestClient, case: dict[str, Any]) -> None:
    answer = client.post("/count", json={"text": "a", "tokenizer": case["input"]["artifact_name"]})
    assert_problem(answer, "invalid_name", "tokenizer")


def test_vectors_are_found() -> None:
    assert len(BODIES) >= 7
    assert len(IDS) >= 3
    assert len(NAMES) >= 10
