"""Whatever schemathesis makes up from the OpenAPI document is answered as the document says, and never with 5xx."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from schemathesis import GenerationMode, checks
from schemathesis.python import asgi

from tests.service.conftest import MakeClient

pytestmark = [pytest.mark.nightly, pytest.mark.slow]

POSTS = (
    "/encode",
    "/decode",
    "/offsets",
    "/count",
    "/render",
    "/parse",
    "/explain",
    "/pack",
    "/compare",
    "/tokenize",
    "/detokenize",
    "/v1/tokenize",
    "/v1/detokenize",
    "/v1/responses/input_tokens",
    "/v1/messages/count_tokens",
    "/v1/chat/completions/derender",
    "/v1/completions/derender",
    "/train-job",
    "/encode-job",
)
GETS = (
    "/train-job",
    "/train-job/{id}",
    "/encode-job",
    "/encode-job/{id}",
    "/tokenizers",
    "/tokenizers/{ref}",
    "/healthz",
    "/readyz",
    "/metrics",
)
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
CONFIG = {"checks": {"negative_data_rejection": {"expected-statuses": ["400", "404", "413", "415", "422"]}}}


@pytest.fixture
def schema(make_client: MakeClient) -> Any:
    """Read the document of a new server: schemathesis ends the one it asked, and with it its threads."""
    app = make_client(max_body_bytes=1 << 16, max_items=8, max_ids=64, allowed_hosts=(asgi.HOST,)).app
    config = schemathesis.Config.from_dict(CONFIG)
    return schemathesis.openapi.from_asgi("/openapi.json", app, config=config)


def hold(operation: Any, mode: GenerationMode, wanted: list[Any]) -> None:
    @seed(2)
    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy(generation_mode=mode))
    def answer(case: Any) -> None:
        case.call_and_validate(checks=wanted)

    answer()


@pytest.mark.parametrize("route", POSTS)
def test_bodies_as_documented_are_answered_as_documented(schema: Any, route: str) -> None:
    hold(schema[route]["POST"], GenerationMode.POSITIVE, CHECKS)


@pytest.mark.parametrize("route", POSTS)
def test_bodies_that_break_the_document_are_refused(schema: Any, route: str) -> None:
    hold(schema[route]["POST"], GenerationMode.NEGATIVE, [*CHECKS, checks.negative_data_rejection])


@pytest.mark.parametrize("route", GETS)
def test_questions_are_answered_as_documented(schema: Any, route: str) -> None:
    hold(schema[route]["GET"], GenerationMode.POSITIVE, CHECKS)


@pytest.mark.parametrize("route", ["/tokenizers", "/tokenizers/framed", "/healthz", "/readyz", "/metrics", "/docs"])
def test_head_is_get_without_the_body(make_client: MakeClient, route: str) -> None:
    client = make_client()
    asked, head = client.get(route), client.head(route)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == asked.headers["content-type"]
    assert client.head("/nowhere").status_code == 404
    assert client.head("/encode").status_code == 405
    assert (
        'tokd_requests_total{code="",route="/healthz",status="200"}' in client.get("/metrics").text
        or route != "/healthz"
    )
