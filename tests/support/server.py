"""Real servers: a process of its own on a port that it chose, and waiting until it listens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import httpx

from service.settings import Settings
from tests.support.forked import Forked
from tests.support.paths import ROOT
from tests.support.waiting import until

LISTENS = re.compile(rb"running on (socket|http://[^ ]+:[0-9]+)")


def listening(process: subprocess.Popen[bytes] | Forked, log: IO[bytes]) -> str:
    """Wait until a server says in its log where it listens, and return that URL."""

    def said() -> re.Match[bytes] | None:
        # It is there before the process is asked whether it ended.
        found = LISTENS.search(written(log))
        assert found or process.poll() is None, f"no server: {written(log).decode()}"
        return found

    return until(said)[1].decode("ascii")


def written(log: IO[bytes]) -> bytes:
    """Return what a process wrote into its log so far."""
    return os.pread(log.fileno(), 1 << 20, 0)


class Server:
    """A server in a process of its own, which chose its port itself: one that was looked for could be taken by then."""

    def __init__(self, process: Forked, log: IO[bytes], uds: str | None) -> None:
        self.process = process
        self._log = log
        url = listening(process, log)
        self.url = "http://tokd" if uds is not None else url
        self.client = httpx.Client(
            base_url=self.url, transport=None if uds is None else httpx.HTTPTransport(uds=uds), timeout=60
        )
        assert self.client.get("/readyz").status_code == 200

    def log(self) -> bytes:
        """Return what it wrote to standard error."""
        return written(self._log)

    def stop(self) -> tuple[bytes, bytes]:
        """End it as an operator does; give what it wrote to standard output and standard error."""
        self.client.close()
        self.process.terminate()
        return self.process.communicate(timeout=60)[0], self.log()


RunServer = Callable[..., Any]


@contextmanager
def started(settings: Settings) -> Iterator[tuple[Forked, IO[bytes]]]:
    """Start a server, and give its process and its log; in the end it and its workers are gone."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    env = {**os.environ, "PYTHONPATH": path, **settings.environment()}
    code = "from service.server import run; from service.settings import Settings; run(Settings.load())"
    with TemporaryFile() as out, TemporaryFile() as log, Path(os.devnull).open("rb") as nothing:
        process = Forked(code, env=env, cwd=ROOT, files=[nothing, out, log])
        try:
            yield process, log
        finally:
            with suppress(ProcessLookupError):
                # Its workers too, also if it ended before them.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def running(settings: Settings) -> Iterator[Server]:
    """Run a server."""
    with started(settings) as (process, log):
        server = Server(process, log, settings.uds)
        try:
            yield server
        finally:
            server.client.close()
