"""What is over the limits is refused at once, and what was taken is given back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from service.admission.limits import Limits
from service.routes import count
from service.schemas.inline import INLINE_ITEMS, INLINE_WIDTH
from service.settings import Settings
from tests.service.conftest import MakeClient, state_of
from tests.service.problems import assert_problem
from tokenizer_core import Responder, core_count


class Gate:
    """Holds work in threads until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def wrap(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def held(*arguments: Any, **options: Any) -> Any:
            assert self.opened.wait(60)
            return work(*arguments, **options)

        return held


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Hold texts that are worked on."""
    gate = Gate()
    monkeypatch.setattr(Responder, "answer_texts", gate.wrap(Responder.answer_texts))
    return gate


def drive(client: TestClient, story: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]]) -> None:
    """Run a story with many requests at once against an application."""

    async def tell() -> None:
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as many:
            await story(many)

    asyncio.run(tell())


def test_saturated_server_says_when_to_come_again(make_client: MakeClient, gate: Gate) -> None:
    client = make_client(threads=1, max_queue=1, inline_bytes=0)
    limits = state_of(client).limits

    async def story(many: httpx.AsyncClient) -> None:
        taken = [asyncio.create_task(many.post("/count", json={"text": "fox"})) for _ in range(2)]
        while limits.in_threads < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        refused = await many.post("/count", json={"text": "fox"})
        assert_problem(refused, "saturated")
        assert refused.headers["retry-after"] == "1"
        assert (await many.get("/healthz")).status_code == 200
        gate.opened.set()
        assert [answer.status_code for answer in await asyncio.gather(*taken)] == [200, 200]
        assert (await many.post("/count", json={"text": "fox"})).status_code == 200

    drive(client, story)
    assert (limits.in_threads, limits.requests, limits.held_bytes) == (0, 0, 0)


def test_large_request_does_not_wait_for_a_thread_without_end(make_client: MakeClient, gate: Gate) -> None:
    client = make_client(threads=1, queue_seconds=1, inline_bytes=0)
    limits = state_of(client).limits

    async def story(many: httpx.AsyncClient) -> None:
        taken = asyncio.create_task(many.post("/count", json={"text": "fox"}))
        while limits.in_threads < 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert_problem(await many.post("/count", json={"text": "fox"}), "saturated")
        gate.opened.set()
        assert (await taken).status_code == 200
        assert (await many.post("/count", json={"text": "fox"})).status_code == 200

    drive(client, story)
    assert (limits.in_threads, limits.requests, limits.held_bytes) == (0, 0, 0)


def test_more_requests_at_once_than_allowed_are_refused(make_client: MakeClient, gate: Gate) -> None:
    client = make_client(threads=4, max_requests=2, inline_bytes=0)
    limits = state_of(client).limits

    async def story(many: httpx.AsyncClient) -> None:
        taken = [asyncio.create_task(many.post("/count", json={"text": "fox"})) for _ in range(2)]
        while limits.in_threads < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert_problem(await many.post("/count", json={"text": "fox"}), "saturated")
        assert_problem(await many.get("/readyz"), "saturated")
        assert (await many.get("/healthz")).status_code == 200
        gate.opened.set()
        assert [answer.status_code for answer in await asyncio.gather(*taken)] == [200, 200]
        assert (await many.get("/readyz")).status_code == 200

    drive(client, story)


def test_bytes_held_at_once_are_bounded_and_given_back(make_client: MakeClient, gate: Gate) -> None:
    client = make_client(threads=4, max_body_bytes=1000, max_held_bytes=1500, inline_bytes=0)
    limits = state_of(client).limits

    async def story(many: httpx.AsyncClient) -> None:
        taken = asyncio.create_task(many.post("/count", json={"text": "f" * 900}))
        while limits.in_threads < 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert_problem(await many.post("/count", json={"text": "f" * 900}), "saturated")
        gate.opened.set()
        assert (await taken).status_code == 200
        assert (await many.post("/count", json={"text": "f" * 900})).status_code == 200

    drive(client, story)
    assert limits.held_bytes == 0


def test_everything_is_given_back_after_any_answer(client: TestClient) -> None:
    limits = state_of(client).limits
    for body in ("{", '{"text":7}', '{"text":"a"}', '{"text":"<|eos|>"}', "[" * 100_000):
        client.post("/encode", content=body, headers={"content-type": "application/json"})
    client.post("/encode", content="x" * 10_000, headers={"content-type": "text/plain"})
    client.get("/nowhere")
    assert (limits.requests, limits.held_bytes, limits.in_threads) == (0, 0, 0)


def test_caller_who_goes_away_is_no_error(make_client: MakeClient) -> None:
    app: Any = make_client().app
    sent: list[Any] = []

    async def go_away() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json"), (b"content-length", b"10")]
    scope = {"type": "http", "method": "POST", "path": "/encode", "headers": headers, "query_string": b""}
    asyncio.run(app(scope, go_away, send))
    assert sent == []
    assert app.server_state.limits.held_bytes == 0


def test_padding_is_bounded_and_texts_that_need_none_are_not(make_client: MakeClient) -> None:
    client = make_client(max_ids=4)
    text = "the quick brown fox jumps over the lazy dog"
    assert client.post("/encode", json={"text": [text], "padding": "longest"}).status_code == 200
    answer = client.post("/encode", json={"text": [text, "a"], "padding": "longest"})
    assert_problem(answer, "too_many_ids", "padding")


PADDED = {"text": ["a", "b"], "padding": "max_length"}


@pytest.mark.parametrize(
    ("path", "body", "leaves"),
    [
        ("/count", {"text": ["a"] * INLINE_ITEMS}, False),
        ("/count", {"text": ["a"] * (INLINE_ITEMS + 1)}, True),
        ("/decode", {"ids": [[65]] * INLINE_ITEMS}, False),
        ("/decode", {"ids": [[65]] * (INLINE_ITEMS + 1)}, True),
        ("/encode", PADDED | {"max_length": INLINE_WIDTH // 2}, False),
        ("/encode", PADDED | {"max_length": INLINE_WIDTH // 2 + 1}, True),
    ],
)
def test_what_asks_for_much_leaves_the_event_loop_however_small_it_is(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any], leaves: bool
) -> None:
    left: list[object] = []
    in_thread = Limits.in_thread

    async def noted(self: Limits, work: Callable[..., Any], *arguments: object, until: float) -> Any:
        left.append(work)
        return await in_thread(self, work, *arguments, until=until)

    monkeypatch.setattr(Limits, "in_thread", noted)
    assert client.post(path, json=body).status_code == 200
    assert bool(left) is leaves


def test_threads_are_as_many_as_the_cores_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    async def threads(settings: Settings) -> int:
        limits = Limits(settings)
        limits.close()
        return limits.threads

    assert asyncio.run(threads(Settings())) == core_count()
    monkeypatch.setattr("service.admission.limits.core_count", lambda: 3)
    assert asyncio.run(threads(Settings())) == 3
    assert asyncio.run(threads(Settings(threads=2))) == 2


def test_saturated_chats_are_refused_and_small_texts_are_not(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(threads=1, max_queue=1)
    limits = state_of(client).limits
    gate = Gate()
    monkeypatch.setattr("service.routes.count._count_chats", gate.wrap(count._count_chats))

    async def story(many: httpx.AsyncClient) -> None:
        body = {"messages": [[{"role": "user", "content": "a"}]] * 2}
        taken = [asyncio.create_task(many.post("/count", json=body)) for _ in range(2)]
        while limits.in_threads < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        refused = await many.post("/count", json=body)
        assert_problem(refused, "saturated")
        assert refused.headers["retry-after"] == "1"
        assert (await many.post("/tokenize", json={"messages": body["messages"][0]})).status_code == 200
        assert (await many.post("/count", json={"text": "fox"})).status_code == 200
        gate.opened.set()
        assert [answer.status_code for answer in await asyncio.gather(*taken)] == [200, 200]

    drive(client, story)
    assert limits.in_threads == 0


@pytest.mark.parametrize("route", ["/encode", "/count", "/offsets", "/render", "/tokenize"])
def test_large_chats_are_answered_as_small_ones(make_client: MakeClient, route: str) -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "the fox " * 50}]}
    assert make_client(inline_bytes=10).post(route, json=body).json() == make_client().post(route, json=body).json()
