"""The log's lines when nobody reads them: they are bounded and counted, and no answer waits for them."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import threading

import pytest

from service.request_log import LogEntry
from service.telemetry import access_log
from service.telemetry.access_log import AccessLog
from tests.service.conftest import RunServer


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
            log.add(LogEntry("POST", tokens=number), 0.001)
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


def test_lines_whose_reader_takes_some_of_them_at_a_time_are_whole() -> None:
    class Narrow(io.BytesIO):
        def write(self, data: bytes) -> int:  # type: ignore[override]
            return super().write(data[:7])

    stream = Narrow()
    assert lost(stream, 3) == 0
    assert [json.loads(line)["tokens"] for line in stream.getvalue().splitlines()] == [0, 1, 2]


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.parametrize("blocks", [True, False])
def test_lines_of_several_processes_are_whole_and_all_there_if_the_reader_is_slow(blocks: bool) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, blocks)
    # Each writes more than a pipe takes, again and again.
    code = (
        f"import sys; from service.telemetry import access_log; from {__name__} import lost\n"
        "access_log.END_SECONDS = 60; sys.exit(sum(lost(sys.stdout.buffer, 400) for _ in range(20)))"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code], stdout=writing) for _ in range(3)]
    os.close(writing)
    data = b""
    while part := os.read(reading, 4096):
        data += part
    os.close(reading)
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert sorted(json.loads(line)["tokens"] for line in data.splitlines()) == sorted([*range(400)] * 60)


def test_lines_that_nobody_reads_when_the_log_ends_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    read = threading.Event()

    class Still(io.BytesIO):
        def write(self, data: bytes) -> int:  # type: ignore[override]
            assert read.wait(60)
            return super().write(data)

    monkeypatch.setattr(access_log, "END_SECONDS", 0.01)
    assert lost(Still(), 5) == 5
    read.set()


def test_server_whose_log_nobody_reads_ends_when_told(run_server: RunServer) -> None:
    with run_server() as server:
        # More than a pipe takes.
        for _ in range(800):
            server.client.get("/healthz")
        server.client.close()
        server.process.terminate()
        assert server.process.wait(20) == 0
        server.process.communicate()
