"""An answer counts as held while it is made, and takes little more memory than its bytes."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient
from starlette.types import Receive, Scope, Send

from service.admission.limits import Limits
from service.errors import ServiceError
from service.http.asgi_request import IS_GONE
from service.request_log import LogEntry
from service.routes.encode import encode
from service.schemas.requests import EncodeRequest
from service.settings import Settings
from tests.core.chat.test_budget import SLOW
from tests.service.conftest import MakeClient, state_of
from tests.service.problems import assert_problem
from tokenizer_core import ChatRenderer, Message, RenderedChat, Tokenizer

EVERYTHING = ("ids", "count", "tokens", "spans", "attention_mask", "special_tokens_mask", "position_ids", "labels")
NO_WORDS = "\u2620\u2621\u2622"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/encode", {"text": NO_WORDS * 100, "return": EVERYTHING}),
        ("/encode", {"text": [NO_WORDS] * 100, "return": EVERYTHING}),
        ("/encode", {"messages": [{"role": "user", "content": NO_WORDS * 100}], "return": EVERYTHING}),
        ("/offsets", {"text": NO_WORDS * 100, "tokens": True}),
        ("/encode", {"text": NO_WORDS * 400}),
        # The answer exceeds the limit only together with the rows that it is made of.
        ("/encode", {"text": NO_WORDS * 200, "return": ["truncated"]}),
        ("/encode", {"text": [NO_WORDS] * 600, "return": ["count", "labels"], "max_length": 1}),
        ("/encode", {"messages": [{"role": "user", "content": NO_WORDS * 200}], "return": ["truncated"]}),
        ("/offsets", {"messages": [{"role": "user", "content": NO_WORDS * 90}]}),
    ],
)
def test_answer_that_can_never_be_held_is_refused(make_client: MakeClient, path: str, body: dict[str, object]) -> None:
    client = make_client(max_body_bytes=16_000, max_held_bytes=16_000, inline_bytes=0)
    assert_problem(client.post(path, json=body), "answer_too_large")
    assert state_of(client).limits.held_bytes == 0
    assert client.post("/count", json={"text": NO_WORDS * 100}).json()["count"] >= 900


def test_the_count_of_a_chat_is_made_without_rows_that_could_be_too_much(make_client: MakeClient) -> None:
    client = make_client(max_body_bytes=16_000, max_held_bytes=16_000, inline_bytes=0)
    chat = [{"role": "user", "content": NO_WORDS * 200}]
    counted = client.post("/encode", json={"messages": chat, "return": ["count"]})
    whole = make_client().post("/encode", json={"messages": chat})
    assert counted.json()["count"] == len(whole.json()["ids"])


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of all chats that are rendered from now on."""
    texts: list[str] = []
    render = ChatRenderer.render

    def note(renderer: ChatRenderer, messages: Sequence[Message]) -> RenderedChat:
        chat = render(renderer, messages)
        texts.append(chat.text)
        return chat

    monkeypatch.setattr(ChatRenderer, "render", note)
    return texts


@pytest.fixture(scope="module")
def repeats(framed: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An artifact whose template writes what all chats of a request share with each of them."""
    path = tmp_path_factory.mktemp("repeats") / "repeats"
    template = "{{ documents[0].text }}{% for m in messages %}{{ m.content }}{% endfor %}"
    framed.with_template(template).save(path)
    return str(path)


@pytest.mark.parametrize("path", ["/render", "/encode", "/offsets"])
def test_rendered_text_counts_as_held_as_it_is_made(
    make_client: MakeClient, rendered: list[str], repeats: str, path: str
) -> None:
    """A request of 200 KB made 1.3 GB of text before any of it was counted."""
    client = make_client(max_body_bytes=100_000, max_held_bytes=200_000, artifacts=(repeats,))
    shared = "a" * 4_000 + "🙂"
    body = {"messages": [[{"content": "a"}]] * 100, "documents": [{"text": shared}]}
    assert_problem(client.post(path, json=body), "answer_too_large")
    assert 4 * sum(map(len, rendered)) < 200_000 + 20_000
    assert state_of(client).limits.held_bytes == 0


def test_chats_that_are_counted_are_not_kept(make_client: MakeClient, rendered: list[str], repeats: str) -> None:
    client = make_client(max_body_bytes=100_000, max_held_bytes=200_000, artifacts=(repeats,))
    body = {"messages": [[{"content": "a"}]] * 100, "documents": [{"text": "a" * 4_000 + "🙂"}]}
    counts = client.post("/count", json=body).json()["count"]
    assert (len(counts), len(set(counts)), len(rendered)) == (100, 1, 100)


@pytest.mark.parametrize("path", ["/render", "/encode", "/offsets", "/count"])
def test_the_next_chat_of_a_caller_who_is_gone_is_not_rendered(
    make_client: MakeClient, rendered: list[str], path: str
) -> None:
    client = make_client()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {IS_GONE: {"ask": lambda: len(rendered) > 3}}
        await client.app(scope, receive, send)

    async def ask() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as many:
            await many.post(path, json={"messages": [[{"role": "user", "content": "a"}]] * 100})

    with pytest.raises(AssertionError):
        # There is no answer.
        asyncio.run(ask())
    assert len(rendered) == 4
    assert state_of(client).limits.held_bytes == 0


@pytest.mark.parametrize("path", ["/render", "/encode", "/offsets", "/count"])
def test_chats_of_one_request_have_one_budget(
    make_client: MakeClient, framed: Tokenizer, tmp_path: Path, path: str
) -> None:
    """Each had its own: 48 KB kept a core busy for half a minute."""
    framed.with_template(SLOW).save(tmp_path / "slow")
    client = make_client(artifacts=(str(tmp_path / "slow"),))
    chat = [{"role": "user", "content": "a"}]
    assert client.post(path, json={"messages": [chat]}).status_code == 200
    assert client.post(path, json={"messages": [chat] * 2}).status_code == 200
    refused = client.post(path, json={"messages": [chat] * 50})
    assert "send fewer chats" in assert_problem(refused, "template_limit", "messages[3]")["detail"]


def test_of_answers_that_grow_together_the_others_go_on_once_one_is_refused() -> None:
    limits = Limits(Settings(max_body_bytes=10, max_held_bytes=100))
    first, second = LogEntry("POST"), LogEntry("POST")
    limits.grow(60, first)
    limits.grow(30, second)
    with pytest.raises(ServiceError, match="holds 100 bytes") as refused:
        limits.grow(30, second)
    assert refused.value.code == "saturated"
    limits.grow(40, first)
    with pytest.raises(ServiceError) as alone:
        limits.grow(1, first)
    assert alone.value.code == "answer_too_large"
    for exchange in (first, second):
        limits.hold(-exchange.held_bytes, exchange)
    assert limits.held_bytes == 0


def test_answer_with_everything_takes_little_more_than_its_bytes(client: TestClient) -> None:
    state = state_of(client)
    request = EncodeRequest.model_validate({"text": NO_WORDS * 40_000, "return": EVERYTHING})
    encode(state, request)
    tracemalloc.start()
    try:
        answer = encode(state, request)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = sum(map(len, answer.blocks))
    assert peak < 1.75 * size
