"""Nothing is computed for a caller that has given up: deadlines end waiting and work, on both routes alike."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from service.admission.deadline import MAX_MILLISECONDS
from service.routes import chats
from tests.service.conftest import MakeClient, RunServer, state_of
from tests.service.problems import assert_problem
from tokenizer_core import Responder

HEADER = "x-request-deadline-ms"


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "", "soon", "0x10", "٣", str(MAX_MILLISECONDS + 1), "9" * 5000])
def test_a_deadline_that_cannot_be_read_is_refused_on_every_route(run_server: RunServer, value: str) -> None:
    with run_server(worker=False) as server:
        for route, body in (("/count", {"text": "fox"}), ("/decode", {"ids": [1]}), ("/tokenize", {"prompt": "fox"})):
            refused = server.client.post(route, json=body, headers={HEADER: value.encode()})
            assert refused.status_code in (400, 422), (route, refused.text)
            assert "86400000" in refused.text


def test_a_request_with_time_is_answered_as_without(client: TestClient) -> None:
    for value in ("1000", "0001000", str(MAX_MILLISECONDS)):
        answer = client.post("/encode", json={"text": "fox"}, headers={HEADER: value})
        assert answer.json() == client.post("/encode", json={"text": "fox"}).json()


def test_the_fast_path_takes_requests_with_a_deadline(run_server: RunServer) -> None:
    with run_server(worker=False) as server:
        plain = server.client.post("/count", json={"text": "fox"})
        hurried = server.client.post("/count", json={"text": "fox"}, headers={HEADER: "1000"})
        assert (hurried.content, list(hurried.headers)) == (plain.content, list(plain.headers))


def test_a_request_that_waits_for_a_thread_is_refused_at_its_deadline(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = threading.Event()
    answer_texts: Callable[..., Any] = Responder.answer_texts

    def held(*arguments: Any, **options: Any) -> Any:
        assert opened.wait(60)
        return answer_texts(*arguments, **options)

    monkeypatch.setattr(Responder, "answer_texts", held)
    client = make_client(threads=1, queue_seconds=60, inline_bytes=0)
    limits = state_of(client).limits

    async def story() -> None:
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as many:
            taken = asyncio.create_task(many.post("/count", json={"text": "fox"}))
            while limits.in_threads < 1:  # noqa: ASYNC110
                await asyncio.sleep(0)
            started = time.monotonic()
            refused = await many.post("/count", json={"text": "fox"}, headers={HEADER: "50"})
            assert 0.05 <= time.monotonic() - started < 10
            assert_problem(refused, "deadline_exceeded")
            assert refused.headers["retry-after"] == "1"
            opened.set()
            assert (await taken).status_code == 200

    asyncio.run(story())
    assert (limits.in_threads, limits.requests, limits.held_bytes) == (0, 0, 0)


def test_work_stops_at_the_deadline_between_two_chats(make_client: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[str] = []
    size: Callable[..., int] = chats.size

    def slow(*arguments: Any) -> int:
        time.sleep(0.02)
        rendered.append("chat")
        return size(*arguments)

    monkeypatch.setattr(chats, "size", slow)
    many = [[{"role": "user", "content": "fox"}]] * 200
    refused = make_client(inline_bytes=0).post("/render", json={"messages": many}, headers={HEADER: "200"})
    assert_problem(refused, "deadline_exceeded")
    assert 0 < len(rendered) < 100
