"""A Ray cluster of several nodes, a corpus of all kinds of files, and runs over them."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.token_files.conftest import line, many_texts
from tests.support.corpora import text
from tokenizer_core import RayEngine, Recipe, TrainingRun


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    # As Ray has it, its workers would wait for all other tests.
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": {"worker_niceness": 0}}
    try:
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(num_cpus=2)
    except Exception as error:
        # Ray gives a node 30 seconds, whatever else a machine does.
        if "timed out during startup" in str(error):
            pytest.skip(f"Ray does not start: {error}")
        raise
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[RayEngine]:
    with RayEngine(cluster.address) as engine:
        yield engine


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of all kinds: of lines that are cut, a packed one, small texts and a text that is cut."""
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(3):
        (folder / f"a{number}.jsonl").write_bytes(b"".join(map(line, many_texts(1500)[number * 300 :])))
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(b"".join(map(line, many_texts(400)))))
    for number in range(4):
        (folder / f"c{number}.txt").write_text(text(number, 2000), encoding="utf-8")
    (folder / "d.txt").write_text("the harbour master kept two logbooks\n" * 80_000, encoding="utf-8")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def workers(nodes: Iterable[Any]) -> list[int]:
    """Return the processes of nodes of a cluster that do calls."""
    raylets = {process.process.pid for node in nodes for process in node.all_processes.get("raylet", ())}
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            is_worker = parent in raylets and b"ray::_answer" in (place / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if is_worker:
            found.append(int(place.name))
    return found


SETTINGS: dict[str, Any] = {"vocab_size": 400, "pattern": "gpt2", "special_tokens": ["logbooks\nthe"]}


def recipe_of(corpus: Path) -> dict[str, Any]:
    return {"corpus": {"paths": [str(corpus)]}, **SETTINGS}


def trained(folder: Path, corpus: Path, **more: Any) -> TrainingRun:
    run = TrainingRun(folder, Recipe.from_dict(recipe_of(corpus)), **more)
    run.merge()
    return run


DRIVER = """\
import json, sys
from contextlib import redirect_stdout
from tokenizer_core import RayEngine, Recipe, TrainingRun
from tokenizer_core.engines import ray as adapter

folder, address, recipe, shard_bytes, patience = sys.argv[1:]
adapter.STRAGGLER_SECONDS = float(patience)
with redirect_stdout(sys.stderr), RayEngine(address) as engine:
    run = TrainingRun(folder, Recipe.from_dict(json.loads(recipe)), engine=engine, shard_bytes=int(shard_bytes))
    run.merge()
    run.save_counts(folder + ".counts")
print(run.report().hash)
"""


def driver(
    folder: Path, address: str, corpus: Path, shard_bytes: int, patience: float = 10.0, **more: Any
) -> subprocess.Popen[str]:
    """Start a run over a cluster in a process of its own, which prints the hash of what it trained."""
    command = [sys.executable, "-c", DRIVER, str(folder), address, json.dumps(recipe_of(corpus))]
    return subprocess.Popen(
        [*command, str(shard_bytes), str(patience)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def counts_of(path: Path) -> str:
    """Return the hash of a file of counts without its first line, which names its origin."""
    return hashlib.sha256(path.read_bytes().partition(b"\n")[2]).hexdigest()
