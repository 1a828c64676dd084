"""Start a server's own worker process with the first job, and restart it when it dies.

The worker ends with the server, however that ends.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from service.jobs.database import RETRY_SECONDS
from service.jobs.errors import JobsUnavailable
from service.jobs.store import JobStore
from service.jobs.worker import run
from service.log_lines import configure_logging
from service.settings import Settings

_LOOK_SECONDS = 0.25
_RESTART_SECONDS = 1.0
_END_SECONDS = 10.0
_log = logging.getLogger("tokd.jobs")


@contextmanager
def supervised_worker(settings: Settings) -> Iterator[None]:
    """Run a worker for as long as the context lasts, if the settings want one."""
    if not settings.worker:
        yield
        return
    ending = threading.Event()
    supervisor = threading.Thread(
        target=_supervise, args=(settings, ending), name="tokd-worker-supervisor", daemon=True
    )
    supervisor.start()
    try:
        yield
    finally:
        ending.set()
        supervisor.join()


def _supervise(settings: Settings, ending: threading.Event) -> None:
    database = JobStore.open(settings).database
    # Nobody who never trains pays for a second process.
    seconds = 0.0
    while not ending.wait(seconds):
        try:
            seconds = _LOOK_SECONDS
            if database.exists:
                break
        except JobsUnavailable:
            seconds = RETRY_SECONDS
    while not ending.is_set():
        try:
            process = subprocess.Popen(  # noqa: S603 (nothing of a caller is in it)
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                env=os.environ | settings.environment(),
                start_new_session=True,
            )
        except OSError as error:
            # File descriptors, processes or memory are short now.
            _log.error("the worker cannot be started now: %s", error.strerror)
            ending.wait(_RESTART_SECONDS)
            continue
        while not ending.wait(_LOOK_SECONDS) and process.poll() is None:
            pass
        if ending.is_set():
            _end(process)
            return
        _log.error("the worker ended with %s and is started again", process.returncode)
        ending.wait(_RESTART_SECONDS)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_with_the_server() -> None:
    """End this process when its standard input ends: the server has the other end of that pipe."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Work, with the settings that the server put into the environment."""
    configure_logging()
    threading.Thread(target=_end_with_the_server, name="tokd-server-watch", daemon=True).start()
    run(Settings.load(flags={}))


if __name__ == "__main__":
    main()
