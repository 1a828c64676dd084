"""Runs over a Ray cluster of several hosts that ask for a token: one of them is cut off, and stays so."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.core.engines.conftest import driver, trained
from tests.support.network import Host, hosts
from tests.support.waiting import PATIENCE_SECONDS, until

pytest.importorskip("ray")
pytestmark = [pytest.mark.nightly, pytest.mark.process, pytest.mark.slow, pytest.mark.filterwarnings("default")]

OPEN = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_gcs_rpc_server_connect_timeout_s": "1",
}
WITH_TOKEN = OPEN | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


class Network:
    """Two hosts with two processors each, and the head of their cluster on this one."""

    def __init__(self, others: list[Host], folder: Path) -> None:
        self.hosts, self._folder = others, folder
        self._started: list[subprocess.Popen[bytes]] = []
        with socket.create_server((others[0].near, 0)) as free:
            self._head = f"{others[0].near}:{free.getsockname()[1]}"

    @property
    def address(self) -> str:
        return self._head

    def start(self) -> None:
        near, _, port = self._head.rpartition(":")
        # As Ray has it, its workers would wait for all other tests, and it would tell in a minute who is cut off.
        config = '{"worker_niceness": 0, "health_check_failure_threshold": 100}'
        self._ray(
            "--head", "--port", port, "--num-cpus=0", "--include-dashboard=false", "--system-config", config, at=near
        )
        until(self._count(1))
        for number, host in enumerate(self.hosts, 2):
            self._ray("--address", self._head, "--num-cpus=2", at=host.address, enter=host.enter)
            until(self._count(number))

    def _ray(self, *words: str, at: str, enter: tuple[str, ...] = ()) -> None:
        ray = str(Path(sys.executable).with_name("ray"))
        command = [*enter, ray, "start", *words, "--block", "--node-ip-address", at, "--temp-dir", str(self._folder)]
        with (self._folder / f"{len(self._started)}.log").open("wb") as log:
            self._started.append(
                subprocess.Popen(command, env=WITH_TOKEN, stdout=log, stderr=log, start_new_session=True)
            )

    def _count(self, wanted: int) -> Callable[[], bool]:
        script = (
            f"import ray\nray.init({self._head!r}, log_to_driver=False, logging_level='ERROR')\nprint(len(ray.nodes()))"
        )

        def is_there() -> bool:
            if any(process.poll() is not None for process in self._started):
                # Ray gives a host 30 seconds, whatever else a machine does.
                logs = [path.read_text() for path in self._folder.glob("*.log")]
                pytest.skip(f"Ray does not start: {logs}")
            command = [sys.executable, "-c", script]
            try:
                done = subprocess.run(command, env=WITH_TOKEN, capture_output=True, text=True, check=False, timeout=60)
            except subprocess.TimeoutExpired:
                # Ray waits without end for a head that has died meanwhile.
                return False
            return done.stdout.strip().endswith(str(wanted))

        return is_there

    def stop(self) -> None:
        for process in self._started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for host in self.hosts:
            for process in host.processes():
                os.kill(process, signal.SIGKILL)


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    # A path of pytest's is too long for the sockets that Ray makes in it.
    folder = Path(tempfile.mkdtemp(prefix="ray"))
    with hosts(2) as others:
        made = Network(others, folder)
        try:
            made.start()
            yield made
        finally:
            made.stop()
            shutil.rmtree(folder, ignore_errors=True)


def test_a_host_that_is_cut_off_for_ever_costs_what_it_had(network: Network, corpus: Path, tmp_path: Path) -> None:
    truth = trained(tmp_path / "one", corpus).report().hash
    with driver(tmp_path / "run", network.address, corpus, 1 << 15, patience=2.0, env=WITH_TOKEN) as process:
        until(lambda: process.poll() is not None or any(tmp_path.glob("run/counts/*.sorted")))
        time.sleep(random.random() * 0.3)
        assert process.poll() is None
        lost = random.choice(network.hosts)
        lost.set_link("down")
        # Without its link, a real one sees no shared directory either.
        for other in lost.processes():
            os.kill(other, signal.SIGSTOP)
        out, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, errors
    assert out.strip() == truth


def test_a_token_that_is_missing_is_asked_for(network: Network, corpus: Path, tmp_path: Path) -> None:
    with driver(tmp_path / "run", network.address, corpus, 1 << 16, env=OPEN) as process:
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert "set RAY_AUTH_MODE=token if the cluster asks for a token" in errors.splitlines()[-1]
