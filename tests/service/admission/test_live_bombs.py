"""Templates that are bombs, against a server that really runs: each is refused, and others are answered meanwhile."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.core.chat.bombs import BOMBS
from tests.core.formats.small import document
from tests.service.conftest import RunServer, Server
from tokenizer_core import Tokenizer

SMALL_TEXT: dict[str, Any] = {"text": "the quick brown fox", "tokenizer": "framed"}
SMALL_CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "the fox"}], "tokenizer": "framed"}
CHAT = [{"role": "user", "content": "abc"}]
LIVE = {name: source for name, source in BOMBS.items() if name not in ("bytes of a number", "translate")}
"""Two are refused when a template is opened."""

AT_ONCE = 6
"""Bombs that are under way together."""

SECONDS = 60.0
"""What a request may take at the very most: the bound is for a machine that does much else."""

MEGABYTES = 600
"""What the process may grow by: each rendering is allowed far less, but what is freed is not all given back."""


@pytest.fixture(scope="module")
def bombed(
    run_server: RunServer, artifacts: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server whose artifact has a template for every bomb; requests choose them by name."""
    base = tmp_path_factory.mktemp("bombs")
    layout = base / "layout"
    layout.mkdir()
    (layout / "tokenizer.json").write_text(json.dumps(document()))
    named = [{"name": name, "template": source} for name, source in LIVE.items()]
    (layout / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    Tokenizer.from_hf(layout).save(base / "bombs")
    with run_server(artifacts=(artifacts[0], str(base / "bombs")), access_log=False) as server:
        yield server


def memory_of(server: Server) -> int:
    """Return the most memory that the process has had, in megabytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) >> 10


class Others:
    """Callers with small requests, one after the other, until they are told to stop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = threading.Event()
        self.seconds: dict[str, list[float]] = {"text": [], "chat": []}
        self.statuses: set[int] = set()
        self._threads = [
            threading.Thread(target=self._ask, args=(kind, body), daemon=True)
            for kind, body in (("text", SMALL_TEXT), ("chat", SMALL_CHAT))
        ]

    def _ask(self, kind: str, body: dict[str, Any]) -> None:
        with httpx.Client(base_url=self._url, timeout=SECONDS) as client:
            while not self._stop.is_set():
                started = time.perf_counter()
                answer = client.post("/encode", json=body)
                self.seconds[kind].append(time.perf_counter() - started)
                self.statuses.add(answer.status_code)

    def __enter__(self) -> Others:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(SECONDS)

    def report(self, kind: str) -> str:
        times = sorted(self.seconds[kind])
        median, late = (1e3 * times[int(len(times) * part)] for part in (0.5, 0.99))
        return f"{len(times)} small {kind}s while bombs go off: median {median:.1f} ms, p99 {late:.1f} ms"


def test_bombs_are_refused_while_others_are_answered(bombed: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert bombed.client.post("/encode", json=SMALL_CHAT).status_code == 200
    before = memory_of(bombed)

    def explode(name: str) -> tuple[str, int, str]:
        body = {"messages": CHAT, "tokenizer": "bombs", "template": name}
        answer = httpx.post(f"{bombed.url}/render", json=body, timeout=SECONDS)
        return name, answer.status_code, answer.json().get("code", "")

    with Others(bombed.url) as others, ThreadPoolExecutor(AT_ONCE) as pool:
        refused = list(pool.map(explode, LIVE))
    for name, status, code in refused:
        assert (status, code) in ((422, "template_limit"), (422, "template_untrackable")), (name, status, code)
    assert others.statuses == {200}
    with capsys.disabled():
        for kind in ("text", "chat"):
            sys.stdout.write(f"\n{others.report(kind)}")
    for times in others.seconds.values():
        assert len(times) > 20
        assert max(times) < SECONDS / 2
    assert memory_of(bombed) - before < MEGABYTES
    assert bombed.client.post("/encode", json=SMALL_CHAT).status_code == 200
