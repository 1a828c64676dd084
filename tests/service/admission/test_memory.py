"""What a server holds levels off, after large bodies and after requests that never come twice."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.support.server import ROOT, RunServer, Server

MOST_MB = 220
"""Far more than a server needs, far less than it would hold if it kept what follows."""

GROWTH_MB = 30


def resident(server: Server, line: str = "VmRSS:") -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    return int(status.partition(line)[2].split()[0]) / 1024


def peak(server: Server) -> float:
    return resident(server, "VmHWM:")


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells no process its memory in /proc")
def test_memory_levels_off(run_server: RunServer) -> None:
    with run_server(access_log=False, worker=False) as server:

        def stretch(number: int) -> float:
            for at in range(300):
                text = " ".join(f"{number}word{at}x{each * 7919}" for each in range(100))
                assert server.client.post("/encode", json={"text": text}).status_code == 200
            for at in range(8):
                body = json.dumps({"text": f"{number} {at} the quick brown fox " * 50_000})
                assert len(body) > 1_000_000
                headers = {"content-type": "application/json"}
                assert server.client.post("/encode", content=body, headers=headers).status_code == 200
            return resident(server)

        warm = stretch(0)
        last = [stretch(number) for number in range(1, 4)][-1]
        assert last < MOST_MB
        assert last - warm < GROWTH_MB
        server.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells no process its memory in /proc")
def test_text_without_a_border_takes_no_more_than_what_docs_say(run_server: RunServer) -> None:
    found = re.search(r"up\s+to (\d+) bytes for every byte of a piece", (ROOT / "docs/http.md").read_text("utf-8"))
    assert found is not None
    told = int(found[1])
    artifact = str(ROOT / "artifacts" / "base")
    with run_server(artifacts=(artifact,), access_log=False, worker=False) as server:
        body = b'{"text": "' + "😀".encode() * (1 << 20) + b'"}'
        server.client.post("/count", json={"text": "a" * 200_000})
        before = resident(server)
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5", encoding="ascii")
        answer = server.client.post("/count", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 200
        taken = (peak(server) - before) / (len(body) / (1 << 20)) - 1
        server.stop()
    # The body itself is counted. What the figure is about must be there, or it would be told too high.
    assert told / 2 < taken < told + 2


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells no process its memory in /proc")
def test_many_small_values_of_an_answer_take_no_object_each(run_server: RunServer) -> None:
    parts = ["ids", "spans", "attention_mask", "special_tokens_mask", "position_ids", "labels", "tokens", "truncated"]
    with run_server(access_log=False, worker=False) as server:
        ask = {"text": [""] * 16_384, "add_special_tokens": False}
        assert server.client.post("/encode", json={**ask, "return": ["spans"]}).status_code == 200
        before = resident(server)
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5", encoding="ascii")
        answer = server.client.post("/encode", json={**ask, "return": parts})
        assert answer.status_code == 200
        taken = peak(server) - before
        server.stop()
    # The answer has half a megabyte, the rows take a few; a kilobyte for each value would be 130.
    assert taken < GROWTH_MB
