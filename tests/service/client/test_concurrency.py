"""Any number of tasks and threads may share one client: it sends a bounded number of requests, and the rest wait."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from service.client import CONCURRENCY, AsyncClient, Client, TimedOut
from tests.service.client.test_patience import GOOD, Scripted, count_with
from tests.service.conftest import RunServer

TASKS = 300


class Counting(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """A service that answers once all who may ask at once do, and that knows how many ever did."""

    def __init__(self, expected: int) -> None:
        self.expected, self.under_way, self.most, self.answered = expected, 0, 0, 0
        self._full, self._all = asyncio.Event(), threading.Barrier(expected)

    def _begin(self) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)

    def _end(self) -> httpx.Response:
        self.under_way -= 1
        self.answered += 1
        return httpx.Response(200, json=GOOD)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._begin()
        if self.under_way == self.expected:
            self._full.set()
        await self._full.wait()
        # Whoever else is let in is under way by now.
        await asyncio.sleep(0)
        return self._end()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._begin()
        self._all.wait(30)
        return self._end()


@pytest.mark.parametrize("expected", [1, 5, CONCURRENCY])
def test_tasks_share_a_bounded_number_of_requests(expected: int) -> None:
    service = Counting(expected)
    options: dict[str, Any] = {} if expected == CONCURRENCY else {"concurrency": expected}

    async def ask() -> None:
        async with AsyncClient(transport=service, **options) as tokd:
            await asyncio.gather(*(tokd.count("a") for _ in range(500)))

    asyncio.run(ask())
    assert (service.most, service.answered) == (expected, 500)


def test_threads_share_a_bounded_number_of_requests() -> None:
    service = Counting(4)
    with Client(transport=service, concurrency=4) as tokd, ThreadPoolExecutor(16) as threads:
        list(threads.map(tokd.count, ["a"] * 64))
    assert (service.most, service.answered) == (4, 64)


def test_any_number_of_tasks_is_answered(run_server: RunServer) -> None:
    async def ask(url: str) -> list[int]:
        async with AsyncClient(url) as tokd:
            return [count.count for count in await asyncio.gather(*(tokd.count("a" * (at % 7)) for at in range(TASKS)))]

    with run_server() as server:
        with Client(server.url) as tokd:
            expected = [tokd.count("a" * length).count for length in range(7)]
        assert asyncio.run(ask(server.url)) == [expected[at % 7] for at in range(TASKS)]


def test_a_task_that_is_cancelled_or_fails_gives_its_turn_back() -> None:
    async def ask() -> None:
        script = Scripted(httpx.ConnectError("gone"), httpx.Response(200, json=GOOD))
        async with AsyncClient(transport=script, concurrency=1) as tokd:
            with pytest.raises(Exception, match="cannot be reached"):
                await tokd.count("a")
            waiting = asyncio.create_task(tokd.count("a"))
            waiting.cancel()
            assert (await tokd.count("a")).count == 1

    asyncio.run(ask())


def test_a_transport_without_a_free_connection_is_named_as_what_it_is() -> None:
    with pytest.raises(TimedOut, match=r"no free connection .* sent nothing"):
        count_with(Client, Scripted(httpx.PoolTimeout("")))
