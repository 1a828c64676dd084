"""A server that encodes the corpora of a test's own directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.conftest import RunServer, Server


@pytest.fixture(scope="module")
def server(run_server: RunServer, home: Path) -> Iterator[Server]:
    """A server with a worker; ``home`` is each file's own, with its ``corpora``."""
    settings = {"trained": str(home / "trained"), "min_free_bytes": 0, "lease_seconds": 60, "access_log": False}
    with run_server(**settings, corpus_roots=(str(home / "corpora"),)) as running:
        yield running
        running.stop()
