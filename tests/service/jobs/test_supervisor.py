"""The worker beside a server: there when there are jobs, one for all processes, gone with the server."""

from __future__ import annotations

import errno
import signal
import socket
import threading
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import httpx
import pytest

from service.jobs import supervisor
from service.jobs.job import JobRequest
from service.jobs.store import JobStore
from service.jobs.supervisor import supervised_worker
from tests.service.jobs.conftest import SQLITE, MakeSettings, Start
from tests.support.waiting import children, is_alive, kill, until
from tokenizer_core import train

pytestmark = pytest.mark.process


def listens(path: str | None) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def workers(server: int) -> list[int]:
    """Return the processes of a server that are workers for jobs."""
    found = []
    for pid in children(server):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        found += [pid] if b"service.jobs.supervisor" in line and is_alive(pid) else []
    return found


@pytest.mark.nightly
@SQLITE
def test_one_supervised_worker_several_server_processes_trains_what_any_of_them_serves(
    make_settings: MakeSettings, start: Start, tmp_path: Path
) -> None:
    # A path and a model that hold what separates them in a variable: the worker publishes beside the artifact.
    base = tmp_path / "a:b" / "base"
    base.parent.mkdir()
    train(iter(["low lower lowest"]), vocab_size=258).save(base)
    settings = make_settings(
        artifacts=(str(base),), models=("Org/M,1=base",), trained=None, uds=str(tmp_path / "s"), workers=2
    )
    server = start("serve", settings)
    with httpx.Client(base_url="http://tokd", transport=httpx.HTTPTransport(uds=settings.uds), timeout=60) as client:
        until(lambda: listens(settings.uds))
        assert client.get("/readyz").status_code == 200
        # A server that is never asked to train has no second process.
        assert workers(server.pid) == []
        seen = set()
        for text in ("new newer newest", "wide wider widest"):
            wanted = {"corpus": {"texts": [text]}, "settings": {"vocab_size": 259}}
            place = client.post("/train-job", json=wanted).headers["location"]
            until(lambda place=place: client.get(place).json()["state"] == "succeeded")
            hash = client.get(place).json()["artifact"]["tokenizer"]
            assert hash == train(iter([text]), vocab_size=259).hash
            for _ in range(4):
                assert client.post("/count", json={"text": text, "tokenizer": hash}).json()["tokenizer"] == hash
            (worker,) = workers(server.pid)
            seen.add(worker)
            # It is started again when it dies.
            kill(worker)
            until(lambda worker=worker: workers(server.pid) not in ([], [worker]))
        assert len(seen) == 2
        page = client.get("/metrics").text
        assert 'tokd_jobs{kind="train",state="succeeded"} 2.0' in page
        assert 'tokd_jobs{kind="train",state="failed"} 0.0' in page
    (last,) = workers(server.pid)
    server.send_signal(signal.SIGTERM)
    assert server.wait(60) == 0
    assert not is_alive(last)


@SQLITE
def test_a_server_that_is_told_so_has_no_worker(make_settings: MakeSettings) -> None:
    def supervisors() -> int:
        return sum(thread.name == "tokd-worker-supervisor" for thread in threading.enumerate())

    with supervised_worker(make_settings(worker=False)):
        assert supervisors() == 0
    with supervised_worker(make_settings()):
        assert supervisors() == 1
    assert supervisors() == 0


@SQLITE
def test_a_worker_that_cannot_be_started_now_is_started_later(
    store: JobStore, make_settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The store exists from the first job on, whatever became of that job.
    store.cancel(store.submit(JobRequest(recipe={}, owner="local"))[0].id, None)
    started = threading.Event()
    process = MagicMock()
    process.poll.return_value = None

    def start(*_: Any, **__: Any) -> Any:
        if tries.pop():
            raise OSError(errno.EMFILE, "too many open files")
        started.set()
        return process

    tries = [False, True]
    monkeypatch.setattr(supervisor, "_RESTART_SECONDS", 0.01)
    monkeypatch.setattr(supervisor.subprocess, "Popen", start)
    with supervised_worker(make_settings()):
        assert started.wait(60)
