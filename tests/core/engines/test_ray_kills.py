"""Thirty workers, nodes and drivers of runs over a Ray cluster are killed at random moments: their bytes stay equal."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.core.engines.conftest import counts_of, driver, trained, workers
from tests.support.corpora import text
from tests.support.waiting import PATIENCE_SECONDS, until

pytest.importorskip("ray")
pytestmark = [pytest.mark.nightly, pytest.mark.process, pytest.mark.slow, pytest.mark.filterwarnings("default")]

KILLS = ["worker"] * 20 + ["node"] * 5 + ["driver"] * 5
SHARD_BYTES = 1 << 16


def test_thirty_kills_at_random_moments_leave_the_bytes_of_one_process(cluster: Any, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    dice = random.Random(seed)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(text(number, 400_000) for number in range(12)), encoding="utf-8")
    truth = trained(tmp_path / "one", corpus)
    truth.save_counts(tmp_path / "one.counts")
    wanted = (truth.report().hash, counts_of(tmp_path / "one.counts"))
    kills, runs = dice.sample(KILLS, len(KILLS)), 0
    node = cluster.add_node(num_cpus=1)
    while kills:
        runs += 1
        folder = tmp_path / f"run{runs}"
        process = begin(folder, cluster, corpus)
        try:
            while kills and is_under_way(process, folder):
                time.sleep(dice.random() * 0.3)
                if process.poll() is not None:
                    break
                if kills[-1] == "driver":
                    process.kill()
                    process.communicate()
                    process = begin(folder, cluster, corpus)
                elif kills[-1] == "node":
                    cluster.remove_node(node, allow_graceful=False)
                    node = cluster.add_node(num_cpus=1)
                elif not kill_a_worker(cluster, dice):
                    continue
                kills.pop()
            out, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == 0, errors[-3000:]
        assert (out.strip(), counts_of(tmp_path / f"run{runs}.counts")) == wanted
    cluster.remove_node(node, allow_graceful=False)


def begin(folder: Path, cluster: Any, corpus: Path) -> subprocess.Popen[str]:
    return driver(folder, cluster.address, corpus, SHARD_BYTES, patience=1.0)


def is_under_way(process: subprocess.Popen[str], folder: Path) -> bool:
    """Wait until a run has counted something; tell whether it goes on."""
    until(lambda: process.poll() is not None or any(folder.glob("counts/*.sorted")))
    return process.poll() is None


def kill_a_worker(cluster: Any, dice: random.Random) -> bool:
    found = workers([cluster.head_node, *cluster.worker_nodes])
    try:
        os.kill(dice.choice(found), signal.SIGKILL)
    except (IndexError, ProcessLookupError):
        return False
    return True
