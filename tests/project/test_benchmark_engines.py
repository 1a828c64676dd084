"""The harness of ``benchmarks engines``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks import servers
from service.settings import Settings


def test_the_variable_that_names_vllm_does_not_reach_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(servers.VLLM_PYTHON, "/usr/bin/python3")
    seen: list[Mapping[str, str]] = []

    @contextmanager
    def started(command: list[str], environment: Mapping[str, str], log: Path) -> Iterator[Any]:
        seen.append(environment)
        yield None

    monkeypatch.setattr(servers, "started", started)
    monkeypatch.setattr(servers, "wait_until_ready", lambda *_: None)
    with servers.running("tokd", tmp_path / "model", None):
        pass
    Settings.load(seen[0], {})
