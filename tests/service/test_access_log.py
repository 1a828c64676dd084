"""The log's lines when nobody reads them: they are bounded and counted, and no answer waits for them."""

from __future__ import annotations

import asyncio
import io
import json

import pytest

from service import access_log
from service.access_log import AccessLog
from service.exchange import Exchange


class Gone(io.BytesIO):
    """A pipe whose reader is gone."""

    def write(self, _: object) -> int:
        raise BrokenPipeError


def lost(stream: io.BytesIO, lines: int) -> int:
    """Note so many requests at once, and return how many lines were thrown away."""
    dropped: list[int] = []

    async def note() -> None:
        log = AccessLog(stream, dropped.append)
        for number in range(lines):
            log.add(Exchange("POST", tokens=number), 0.001)
        log.close()

    asyncio.run(note())
    return sum(dropped)


def test_lines_that_wait_are_bounded_and_what_is_over_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "MAX_WAITING", 3)
    stream = io.BytesIO()
    assert lost(stream, 5) == 2
    assert [json.loads(line)["tokens"] for line in stream.getvalue().splitlines()] == [0, 1, 2]


def test_lines_whose_reader_is_gone_are_counted() -> None:
    assert lost(Gone(), 5) == 5
