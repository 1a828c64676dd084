"""Renderings take turns: counted and ordered by events, never by a clock."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import pytest

from service.admission import turns
from service.admission.turns import MOST_FIRST, Scheduler, Turns
from service.routes import count
from service.settings import Settings
from tests.service.admission.test_limits import Gate, drive
from tests.service.conftest import MakeClient, state_of
from tests.service.problems import assert_problem
from tokenizer_core import Tokenizer, in_turns

CHAT = [{"role": "user", "content": "a"}]
SECONDS = 60


class Counting:
    """A turn that counts what it is asked."""

    begun = ended = paused = 0

    def begin(self) -> None:
        self.begun += 1

    def pause(self) -> None:
        self.paused += 1

    def end(self) -> None:
        self.ended += 1


class Story:
    """Requests in threads that wait for their turns, and the order in which they were called."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.order: list[str] = []
        self.threads: list[threading.Thread] = []

    def until_waiting(self, count: int) -> None:
        while self.scheduler.waits < count:
            threading.Event().wait(0.001)

    def wait_in_line(self, name: str, *, long: bool = False) -> None:
        turn, before = self.scheduler.join(), self.scheduler.waits
        turn.used = turns.SLICE_SECONDS if long else 0.0

        def work() -> None:
            turn.begin()
            self.order.append(name)
            turn.end()

        self.threads.append(threading.Thread(target=work, daemon=True))
        self.threads[-1].start()
        self.until_waiting(before + 1)

    def finish(self) -> list[str]:
        for thread in self.threads:
            thread.join(SECONDS)
        assert self.scheduler.waits == 0
        return self.order


def test_short_renderings_go_before_long_ones_and_stop_none() -> None:
    story = Story()
    holder = story.scheduler.join()
    holder.begin()
    story.wait_in_line("long 1", long=True)
    story.wait_in_line("long 2", long=True)
    for number in range(2 * MOST_FIRST):
        story.wait_in_line(f"short {number}")
    holder.end()
    order = story.finish()
    assert [name for name in order if name.startswith("long")] == ["long 1", "long 2"]
    assert [name for name in order if name.startswith("short")] == [f"short {at}" for at in range(2 * MOST_FIRST)]
    assert (order.index("long 1"), order.index("long 2")) == (MOST_FIRST, 2 * MOST_FIRST + 1)


def test_long_rendering_gives_way_and_goes_on() -> None:
    story = Story()
    slow = story.scheduler.join()
    slow.begin()
    slow.used = turns.SLICE_SECONDS
    slow.pause()
    story.wait_in_line("another long", long=True)
    slow.pause()
    assert story.order == []
    story.wait_in_line("short")
    slow.pause()
    assert story.order == ["short"]
    slow.end()
    assert story.finish() == ["short", "another long"]


def test_only_one_renders_at_a_time() -> None:
    scheduler, inside, most = Scheduler(), [0], [0]

    def work() -> None:
        for _ in range(50):
            turn = scheduler.join()
            turn.begin()
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            turn.pause()
            inside[0] -= 1
            turn.end()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert (most, inside, scheduler.waits) == ([1], [0], 0)


def test_templates_ask_for_others_while_they_render(framed: Tokenizer) -> None:
    """Both renderings of a slow template, and the checks of a long chat, let others go first."""
    turn = Counting()
    slow = framed.with_template("{% for i in range(30000) %}{{ 'a' ~ i if i == 7 }}{% endfor %}")
    with in_turns(turn):
        slow.render_chat(CHAT)
        assert (turn.begun, turn.ended) == (1, 1)
        assert turn.paused > 3
        with pytest.raises(Exception, match="refuses"):
            framed.with_template("{{ raise_exception('no') }}").render_chat(CHAT)
    assert (turn.begun, turn.ended) == (2, 2)
    framed.render_chat(CHAT)
    assert turn.begun == 2


def test_saturated_renderings_are_refused_and_texts_are_not(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client(max_renderings=1, max_queue=1)
    limits = state_of(client).limits
    gate = Gate()
    monkeypatch.setattr("service.routes.count._count_chats", gate.wrap(count._count_chats))

    async def story(many: httpx.AsyncClient) -> None:
        body = {"messages": CHAT}
        taken = [asyncio.create_task(many.post("/count", json=body)) for _ in range(2)]
        while limits.turns.taken < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        refused = await many.post("/count", json=body)
        assert_problem(refused, "saturated")
        assert refused.headers["retry-after"] == "1"
        assert (await many.post("/tokenize", json=body)).status_code == 503
        assert (await many.post("/count", json={"text": "fox"})).status_code == 200
        assert limits.in_threads == 0
        gate.opened.set()
        assert [answer.status_code for answer in await asyncio.gather(*taken)] == [200, 200]
        assert (await many.post("/count", json=body)).status_code == 200

    drive(client, story)
    assert (limits.turns.taken, limits.turns.scheduler.waits) == (0, 0)


def test_large_chats_leave_the_threads_of_texts(make_client: MakeClient) -> None:
    client = make_client(inline_bytes=10)
    small = make_client()
    for route in ("/encode", "/count", "/offsets", "/render", "/tokenize"):
        body: dict[str, Any] = {"messages": [{"role": "user", "content": "the fox " * 50}]}
        assert client.post(route, json=body).json() == small.post(route, json=body).json()


def test_work_that_fails_gives_its_turn_back() -> None:
    async def story() -> None:
        rendering = Turns(Settings(max_renderings=1))
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await rendering.run(lambda: 1 // 0)
        assert await rendering.run(lambda: 7) == 7
        rendering.close()

    asyncio.run(story())


@pytest.mark.parametrize("texts", [[""] * 50_000, ["a"] * 50_000, [{"a": [1]}] * 10_000])
def test_others_go_first_while_values_are_copied(framed: Tokenizer, texts: list[Any]) -> None:
    """Four megabytes of short texts, or of numbers for the template, held up every other chat for ten seconds."""
    tokenizer = framed.with_template("a")
    long = {"role": "user", "content": texts}
    for messages, options in (([long], {}), (CHAT, {"tools": [long]}), (CHAT, {"template_args": long})):
        turn = Counting()
        with in_turns(turn):
            tokenizer.render_chat(messages, **options)
        # Once in every thousand values while they are copied with origins, and again without.
        assert turn.paused > 50
