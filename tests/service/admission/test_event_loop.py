"""Many requests that come at once leave turns to all others."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest

from service.admission.event_loop import Turn
from service.admission.limits import SMALL_BYTES
from service.routes import count
from tests.service.admission.test_limits import Gate, drive
from tests.service.conftest import MakeClient, state_of
from tests.service.problems import assert_problem


def test_a_turn_is_over_once_its_time_is_worked_and_the_next_one_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.admission.event_loop.TURN_SECONDS", 0.01)

    async def story() -> list[bool]:
        turn = Turn()
        said = [turn.is_over(), turn.is_over()]
        time.sleep(0.02)  # noqa: ASYNC251
        said.append(turn.is_over())
        await asyncio.sleep(0)
        said.append(turn.is_over())
        return said

    assert asyncio.run(story()) == [False, False, True, False]


def test_a_loop_that_stopped_in_its_turn_leaves_the_next_loop_all_of_its_own() -> None:
    turn = Turn()

    async def ask() -> bool:
        return turn.is_over()

    assert [asyncio.run(ask()) for _ in range(2)] == [False, False]
    time.sleep(0.02)
    assert asyncio.run(ask()) is False


def test_others_come_between_requests_that_came_at_once(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.admission.event_loop.TURN_SECONDS", 0.0)
    turns = 0

    async def story(many: httpx.AsyncClient) -> None:
        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        answers = await asyncio.gather(*(many.post("/count", json={"text": "fox"}) for _ in range(50)))
        counting.cancel()
        assert [answer.status_code for answer in answers] == [200] * 50

    drive(make_client(), story)
    assert turns >= 50


def test_while_no_more_may_wait_long_bodies_are_refused_unread_and_short_ones_are_answered(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, gate = make_client(threads=1, max_queue=1), Gate()
    limits = state_of(client).limits
    monkeypatch.setattr("service.routes.count._count_chats", gate.wrap(count._count_chats))
    long = {"text": "fox " * (SMALL_BYTES // 4)}

    async def story(many: httpx.AsyncClient) -> None:
        body = {"messages": [[{"role": "user", "content": "a"}]] * 2}
        taken = [asyncio.create_task(many.post("/count", json=body)) for _ in range(2)]
        while limits.in_threads < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert_problem(await many.post("/count", json=long), "saturated")
        assert (await many.post("/count", json={"text": "fox"})).status_code == 200
        gate.opened.set()
        assert [answer.status_code for answer in await asyncio.gather(*taken)] == [200, 200]
        assert (await many.post("/count", json=long)).status_code == 200

    drive(client, story)
    assert (limits.in_threads, limits.requests, limits.work_bytes) == (0, 0, 0)
