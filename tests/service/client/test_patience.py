"""What a client does when a service is saturated, slow or not tokd: answers come from a script."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import httpx
import pytest

from service import client as client_module
from service.client import (
    AsyncClient,
    Call,
    Client,
    Saturated,
    ServerFault,
    TimedOut,
    calls,
    jobs,
)
from tokenizer_core import TokdError


class Scripted(httpx.MockTransport):
    """A service that gives the answers of a script, and counts how often it was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        super().__init__(self.reply)
        self.answers = list(answers)
        self.asked = 0

    def reply(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


BUSY = {"type": "/docs#saturated", "title": "", "status": 503, "detail": "busy", "code": "saturated", "path": None}
GOOD = {"tokenizer": "sha256:0", "count": 1}


def busy(seconds: str | None = "1") -> httpx.Response:
    headers = {} if seconds is None else {"retry-after": seconds}
    return httpx.Response(503, json=BUSY, headers=headers)


DAMAGED = {**BUSY, "code": "artifact_damaged", "detail": "a file is damaged"}


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Do not sleep; write down for how long."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(client_module.time, "sleep", slept.append)
    monkeypatch.setattr(client_module.asyncio, "sleep", sleep)
    return slept


def count_with(kind: type[Client] | type[AsyncClient], transport: Scripted, **options: Any) -> Any:
    if issubclass(kind, Client):
        with kind(transport=transport, **options) as tokd:
            return tokd.count("a").count

    async def run() -> int:
        async with kind(transport=transport, **options) as tokd:
            return (await tokd.count("a")).count

    return asyncio.run(run())


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_saturated_service_is_asked_again_after_the_pause_it_names(
    kind: type[Client] | type[AsyncClient], pauses: list[float]
) -> None:
    assert count_with(kind, Scripted(busy("2"), busy("7"), httpx.Response(200, json=GOOD))) == 1
    assert 2 <= pauses[0] <= 2.5
    assert 7 <= pauses[1] <= 8.75


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_patience_ends(kind: type[Client] | type[AsyncClient], pauses: list[float]) -> None:
    transport = Scripted(*[busy("3")] * 5)
    with pytest.raises(Saturated) as caught:
        count_with(kind, transport)
    assert (transport.asked, len(pauses), caught.value.retry_after) == (3, 2, 3)
    once = Scripted(busy())
    with pytest.raises(Saturated):
        count_with(kind, once, tries=1)
    long = Scripted(busy("3600"))
    with pytest.raises(Saturated) as caught:
        count_with(kind, long)
    assert (long.asked, caught.value.retry_after) == (1, 3600)


@pytest.mark.parametrize("value", [None, "soon", "-1", "1e9", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_without_a_number_of_seconds_pauses_grow(value: str | None, pauses: list[float]) -> None:
    answers = [busy(None), busy(None), httpx.Response(200, json=GOOD)]
    if value is not None:
        for answer in answers[:2]:
            answer.headers["retry-after"] = value
    assert count_with(Client, Scripted(*answers)) == 1
    assert 0.5 <= pauses[0] <= 0.625
    assert 1 <= pauses[1] <= 1.25


def test_pauses_grow_no_longer_than_a_service_may_ask_for(pauses: list[float]) -> None:
    answers = [busy(None)] * 1_100
    assert count_with(Client, Scripted(*answers, httpx.Response(200, json=GOOD)), tries=1_101) == 1
    assert len(pauses) == 1_100
    assert all(30 <= pause <= 37.5 for pause in pauses[6:])


def test_callers_who_were_turned_away_together_do_not_come_back_together(pauses: list[float]) -> None:
    random.seed(5)
    for _ in range(20):
        count_with(Client, Scripted(busy(), httpx.Response(200, json=GOOD)))
    assert len(set(pauses)) == 20


@pytest.mark.parametrize("status", [400, 404, 413, 422, 500, 502])
def test_only_saturation_is_tried_again(status: int, pauses: list[float]) -> None:
    transport = Scripted(httpx.Response(status, json={**BUSY, "status": status, "code": "x"}))
    with pytest.raises(TokdError) as caught:
        count_with(Client, transport)
    assert (transport.asked, pauses) == (1, [])
    assert isinstance(caught.value, ServerFault) is (status >= 500)


@pytest.mark.parametrize("answer", [
    httpx.Response(200, text="<html>"),
    httpx.Response(200, json=[]),
    httpx.Response(502, text="Bad Gateway"),
    httpx.Response(404, json={"detail": "Not Found"}),
    httpx.Response(301, headers={"location": "/elsewhere"}),
])  # fmt: skip
def test_answer_of_something_else_is_told_apart(answer: httpx.Response) -> None:
    with pytest.raises(ServerFault, match=r"something else than tokd answers; check the address"):
        count_with(Client, Scripted(answer))


@pytest.mark.parametrize("call", [calls.encode_ids("a"), calls.encode_arrow(["a"]), jobs.artifact("a")])
def test_page_of_something_else_is_not_read_as_bytes(call: Call[Any]) -> None:
    page = httpx.Response(200, html="<p>Please log in.</p>   ")
    with Client(transport=Scripted(page)) as tokd, pytest.raises(ServerFault, match="check the address"):
        tokd.send(call)


def test_saturated_gateway_without_a_problem_is_saturated(pauses: list[float]) -> None:
    with pytest.raises(Saturated, match="stands before it"):
        count_with(Client, Scripted(*[httpx.Response(503, text="upstream")] * 3))
    assert len(pauses) == 2


def test_slow_answer_is_timed_out() -> None:
    with pytest.raises(TimedOut):
        count_with(Client, Scripted(httpx.ReadTimeout("too slow")))


def test_headers_go_with_every_request() -> None:
    seen: list[httpx.Headers] = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        return httpx.Response(200, json=GOOD)

    with Client(headers={"authorization": "Bearer key"}, transport=httpx.MockTransport(reply)) as tokd:
        tokd.count("a")
        tokd.tokenizer("a")
    assert [headers["authorization"] for headers in seen] == ["Bearer key"] * 2
    assert seen[0]["content-type"] == "application/json"


def test_a_damaged_artifact_is_not_asked_for_again(pauses: list[float]) -> None:
    for headers in ({}, {"retry-after": "1"}):
        service = Scripted(httpx.Response(503, json=DAMAGED, headers=headers), httpx.Response(200, json=GOOD))
        with Client("http://tokd", transport=service) as client, pytest.raises(ServerFault, match="is damaged"):
            client.count("a")
        assert (service.asked, pauses) == (1, [])
