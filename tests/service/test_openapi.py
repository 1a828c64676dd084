"""The documentation runs: every example, every documented status, and a page that needs no other server."""

from __future__ import annotations

import asyncio
import re
import threading
from html import unescape
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from service.http import media
from service.routes.compare import CompareAnswer
from service.routes.compat import (
    anthropic,
    derender_chat,
    derender_completions,
    generation_models,
    openai,
    render_chat,
    render_completions,
    render_messages,
    render_responses,
    sglang,
    vllm,
)
from service.routes.explain import ExplainAnswer
from service.schemas.answers import CountAnswer, DecodeAnswer, EncodeAnswer, OffsetsAnswer, RenderAnswer
from service.schemas.packing import PackAnswer
from service.schemas.parsing import ParseAnswer
from tests.service.conftest import MakeClient

ANSWERS = {
    "/encode": EncodeAnswer,
    "/decode": DecodeAnswer,
    "/offsets": OffsetsAnswer,
    "/count": CountAnswer,
    "/render": RenderAnswer,
    "/parse": ParseAnswer,
    "/explain": ExplainAnswer,
    "/pack": PackAnswer,
    "/compare": CompareAnswer,
}
DROP_IN_REQUESTS = (
    "VllmTokenizeRequest",
    "VllmDetokenizeRequest",
    "SglangTokenizeRequest",
    "SglangDetokenizeRequest",
    "OpenaiCountRequest",
    "AnthropicCountRequest",
)
DROP_INS = {
    "/tokenize": vllm.VllmTokenizeAnswer,
    "/detokenize": vllm.VllmDetokenizeAnswer,
    "/v1/tokenize": sglang.SglangTokenizeAnswer,
    "/v1/detokenize": sglang.SglangDetokenizeAnswer,
    "/v1/responses/input_tokens": openai.OpenaiCountAnswer,
    "/v1/messages/count_tokens": anthropic.AnthropicCountAnswer,
    render_chat.PATH: generation_models.GenerateRequest,
    render_completions.PATH: render_completions.GenerateRequests,
    render_messages.PATH: generation_models.GenerateRequest,
    render_responses.PATH: generation_models.GenerateRequest,
    derender_chat.PATH: derender_chat.VllmDerenderedChat,
    derender_completions.PATH: derender_completions.VllmDerenderedCompletion,
}

PROBES = ("/healthz", "/metrics", "/health", "/ping", "/version", "/_sglang_renderer/ready")
"""What is asked without a key and has no error of its own."""


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/openapi.json").json()
    return found


def test_every_example_gets_the_status_that_it_documents(client: TestClient, document: dict[str, Any]) -> None:
    posted = 0
    for path, model in (ANSWERS | DROP_INS).items():
        examples = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["examples"]
        statuses = {example["x-status"] for example in examples.values()}
        assert statuses == {200, 422} if path in ANSWERS else statuses in ({200, 400}, {200, 404})
        for name, example in examples.items():
            answer = client.post(path, json=example["value"])
            assert answer.status_code == example["x-status"], (path, name, answer.text)
            if answer.status_code == 200:
                model.model_validate_json(answer.content)
            posted += 1
    assert posted >= 12


def test_every_route_has_a_description_and_documents_its_errors(document: dict[str, Any]) -> None:
    names = []
    for path, methods in document["paths"].items():
        for operation in methods.values():
            names.append(operation["operationId"])
            assert operation["description"], path
            assert {"200", "201", "202", "204"} & set(operation["responses"])
            if path in {*DROP_INS, "/v1/models", "/v1/models/{model}"}:
                assert operation["responses"]["4XX"]["content"]["application/json"]["schema"]
            elif path not in PROBES:
                schema = operation["responses"]["4XX"]["content"]["application/problem+json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Problem"}
    assert len(names) == len(set(names))


def test_every_field_of_a_request_is_described(document: dict[str, Any]) -> None:
    for name in ("EncodeRequest", "DecodeRequest", "OffsetsRequest", "CountRequest", *DROP_IN_REQUESTS):
        schema = document["components"]["schemas"][name]
        assert schema.get("additionalProperties", True) is (name in DROP_IN_REQUESTS)
        for field, described in schema["properties"].items():
            assert described.get("description"), (name, field)


def test_every_form_of_a_body_and_of_an_answer_is_declared(document: dict[str, Any]) -> None:
    for path, of_bodies, of_answers in (
        ("/encode", {media.JSON, media.ARROW}, {media.JSON, media.OCTETS, media.ARROW}),
        ("/count", {media.JSON}, {media.JSON}),
    ):
        operation = document["paths"][path]["post"]
        assert operation["requestBody"]["content"].keys() == of_bodies
        assert operation["responses"]["200"]["content"].keys() == of_answers


def test_what_a_request_is_about_is_told_first(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in ("EncodeRequest", "CountRequest", "OffsetsRequest"):
        words = ["words"] if name == "EncodeRequest" else []
        first = ["text", "text_pair", "messages", *words, "tokenizer", "special_tokens", "add_special_tokens"]
        assert list(schemas[name]["properties"])[: len(first)] == first, name
    assert list(schemas["RenderRequest"]["properties"])[:2] == ["messages", "tokenizer"]
    assert list(schemas["DecodeRequest"]["properties"])[:2] == ["ids", "tokenizer"]


def test_limits_of_the_server_stand_in_its_schema(make_client: MakeClient) -> None:
    schemas = make_client(max_items=3, max_ids=5).get("/openapi.json").json()["components"]["schemas"]
    assert schemas["EncodeRequest"]["properties"]["text"]["anyOf"][1]["maxItems"] == 3
    flat, nested = schemas["DecodeRequest"]["properties"]["ids"]["anyOf"]
    assert (flat["maxItems"], nested["maxItems"], nested["items"]["maxItems"]) == (5, 3, 5)


def test_document_is_written_once_and_not_for_everybody_who_asks(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client()
    pages = {path: client.get(path).content for path in ("/openapi.json", "/docs")}
    monkeypatch.setattr(client.app, "openapi", None)
    assert {path: client.get(path).content for path in pages} == pages


@pytest.mark.parametrize("path", ["/openapi.json", "/docs"])
def test_others_are_answered_while_the_document_is_written(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    client = make_client()
    write, others_are_answered = client.app.openapi, threading.Event()

    def held() -> Any:
        assert others_are_answered.wait(10)
        return write()

    monkeypatch.setattr(client.app, "openapi", held)

    async def story() -> tuple[int, int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(client.app), base_url="http://localhost") as caller:
            reader = asyncio.create_task(caller.get(path))
            await asyncio.sleep(0)
            other = await caller.get("/healthz")
            others_are_answered.set()
            return other.status_code, (await reader).status_code

    assert asyncio.run(story()) == (200, 200)


def test_page_loads_nothing_from_elsewhere_and_runs_no_script_of_its_own(client: TestClient) -> None:
    answer = client.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert not re.findall(r"(?:src|href|action)\s*=\s*['\"]?(?:https?:)?//", answer.text)
    assert "https://" not in answer.text
    assert re.findall(r"<script[^>]*>(.*?)</script>", answer.text) == [""]
    assert len(answer.content) < 135_000


def test_page_holds_every_route_field_and_example(client: TestClient, document: dict[str, Any]) -> None:
    page = client.get("/docs").text
    for path in document["paths"]:
        assert path in page
    schemas = document["components"]["schemas"]
    for name in ("EncodeRequest", "DecodeRequest", "OffsetsRequest", "CountRequest"):
        for field in schemas[name]["properties"]:
            assert f"<code>{field}</code>" in page
    for field in schemas["CorpusRequest"]["properties"]:
        assert f"<code>corpus.{field}</code>" in page
    for field in schemas["TrainingSettings"]["properties"]:
        assert f"<code>settings.{field}</code>" in page
    assert page.count("<textarea") >= 12


def test_page_tells_types_defaults_and_what_a_query_may_ask(client: TestClient) -> None:
    page = unescape(client.get("/docs").text)
    for row in (
        "<code>settings</code><td>object<td><td>The settings of <code>train</code>.",
        "<code>settings.vocab_size</code><td>integer<td class=default>32000<td>",
        "<code>settings.max_token_length</code><td>integer or null<td class=default>null<td>",
        "<code>text</code><td>string or list of (string)<td><td>",
        "<code>ids</code><td>list of (integer) or list of (list of (integer))<td>required<td>",
        "<code>query limit</code><td>integer<td class=default>50<td>Most jobs of a page.",
        "<code>query state</code><td>list of (queued, running, succeeded, failed, cancelled)<td class=default>[]<td>",
        "<code>query embedding_rows</code><td>integer or null<td class=default>null<td>",
        "<code>path ref</code><td>string<td>required<td>",
        "<code>header last-event-id</code><td>string or null<td class=default>null<td>",
    ):
        assert row in page, row


def test_page_leads_to_every_route_and_each_place_of_it_has_a_name_of_its_own(client: TestClient) -> None:
    page = unescape(client.get("/docs").text)
    names = re.findall(r"<[a-z0-9]+ id='?([^'> ]+)", page)
    assert len(names) == len(set(names))
    assert "post-train-job" in names
    assert set(re.findall(r"href='?#([^'>]+)", page)) == {name for name in names if "-" in name} | {"errors"}
