"""Runs over a Ray cluster of several nodes give the bytes of one process, whatever is killed."""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from service.cli.engines import engine_of
from tests.core.engines.conftest import content, counts_of, trained, workers
from tests.core.token_files.conftest import line
from tests.support import calls
from tests.support.corpora import text
from tests.support.waiting import is_alive, until
from tokenizer_core import (
    ClusterFailed,
    Files,
    InvalidCorpus,
    RayEngine,
    Recipe,
    Tokenizer,
    TrainingRun,
    base_artifact,
    encode_corpus,
)
from tokenizer_core.engines import ray as adapter
from tokenizer_core.engines.engine import Call

pytest.importorskip("ray")
# Ray warns of things of its own.
pytestmark = [pytest.mark.nightly, pytest.mark.process, pytest.mark.slow, pytest.mark.filterwarnings("default")]


def call_of(function: Any, path: Path, *more: Any) -> Call:
    return Call(path.name, function, (path, *more), partial(Path.exists, path))


def names(done: Iterator[Call]) -> set[str]:
    return {call.name for call in done}


def test_calls_are_done_though_their_worker_is_killed(engine: RayEngine, tmp_path: Path) -> None:
    def kill_once() -> None:
        found = [*tmp_path.glob("*.by-*")]
        if len(found) == 3 and not killed:
            killed.append(int(found[0].suffix.removeprefix(".by-")))
            os.kill(killed[0], signal.SIGKILL)
            released.touch()

    killed: list[int] = []
    released = tmp_path / "released"
    wanted = [call_of(calls.write_after, tmp_path / f"{number}.out", released) for number in range(3)]
    assert names(engine.run(wanted, kill_once)) == {"0.out", "1.out", "2.out"}
    assert killed
    assert len([*tmp_path.glob("*.by-*")]) == 4


def test_calls_are_done_though_their_node_is_killed(cluster: Any, engine: RayEngine, tmp_path: Path) -> None:
    def kill_once() -> None:
        held = [path for path in tmp_path.glob("*.by-*") if int(path.suffix.removeprefix(".by-")) in workers([node])]
        if len(held) == 2 and not killed:
            killed.extend(held)
            cluster.remove_node(node, allow_graceful=False)
            # Its workers see a little later that it is gone.
            until(lambda: not any(is_alive(int(path.suffix.removeprefix(".by-"))) for path in held))
            released.touch()

    killed: list[Path] = []
    node, released = cluster.add_node(num_cpus=2), tmp_path / "released"
    wanted = [call_of(calls.write_after, tmp_path / f"{number}.out", released) for number in range(6)]
    assert len(names(engine.run(wanted, kill_once))) == 6
    assert len(killed) == 2
    for path in killed:
        assert len([*tmp_path.glob(f"{path.stem}.by-*")]) == 2


def test_an_answer_that_never_comes_delays_and_no_more(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a host that is cut off: Ray says nothing of the call, and a host without work makes it."""
    monkeypatch.setattr(adapter, "STRAGGLER_SECONDS", 0.3)
    silent: list[Any] = []
    wait = engine._ray.wait

    def without_the_first(answers: list[Any], **options: Any) -> Any:
        silent.append(answers[0]) if not silent else None
        heard = [answer for answer in answers if answer not in silent]
        return wait(heard, **options) if heard else (time.sleep(0.05) or [], [])

    monkeypatch.setattr(engine._ray, "wait", without_the_first)
    made = tmp_path / "one.out"
    first = tmp_path / "first"

    # Only its second attempt makes anything.
    wanted = Call("one.out", calls.second_time, (made, first), partial(Path.exists, made))
    assert names(engine.run([wanted], lambda: None)) == {"one.out"}
    assert first.exists()


def test_calls_wait_for_a_host_while_none_has_a_processor(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = engine._ray.nodes
    monkeypatch.setattr(engine._ray, "nodes", lambda: [node | {"Resources": {}} for node in nodes()])
    wanted = [call_of(calls.write_later, tmp_path / f"{number}.out", 0.0) for number in range(3)]
    assert names(engine.run(wanted, lambda: None)) == {"0.out", "1.out", "2.out"}


def test_a_head_that_is_away_for_a_moment_ends_nothing(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> list[Any]:
        raise engine._ray.exceptions.RaySystemError("the head is away")

    monkeypatch.setattr(engine._ray, "nodes", away)
    wanted = [call_of(calls.write_later, tmp_path / f"{number}.out", 0.0) for number in range(3)]
    assert names(engine.run(wanted, lambda: None)) == {"0.out", "1.out", "2.out"}


def test_calls_wait_for_attempts_of_an_earlier_run_that_fill_all_hosts(engine: RayEngine, tmp_path: Path) -> None:
    def late(number: int) -> Any:
        call = call_of(calls.write_later, tmp_path / f"{number}.late", 0.5)
        return engine._task.remote(call.function, call.arguments, call.is_done)

    hosts = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in engine._ray.nodes() if node["Alive"]}
    places = [host for host, count in hosts.items() for _ in range(adapter.AHEAD * count)]
    engine._strays = {late(number): host for number, host in enumerate(places)}
    wanted = [call_of(calls.write_later, tmp_path / f"{number}.out", 0.0) for number in range(3)]
    assert names(engine.run(wanted, lambda: None)) == {"0.out", "1.out", "2.out"}


def test_an_error_of_a_call_ends_the_run_with_its_place(engine: RayEngine, tmp_path: Path) -> None:
    wanted = [call_of(calls.write_later, tmp_path / "slow", 60.0), call_of(calls.fail, tmp_path / "a.jsonl")]
    with pytest.raises(InvalidCorpus, match=r"line 3 of .*a\.jsonl") as caught:
        list(engine.run(wanted, lambda: None))
    assert caught.value.place == {"file": str(tmp_path / "a.jsonl"), "line": 3}


def test_a_call_that_ends_every_worker_is_given_up(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "ATTEMPTS", 2)
    with pytest.raises(ClusterFailed, match="lost 2 workers"):
        list(engine.run([call_of(calls.die, tmp_path / "never")], lambda: None))


def test_a_directory_that_is_not_shared_is_named(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "NFS_DELAY", 0.2)
    with pytest.raises(ClusterFailed, match="where all hosts share it"):
        list(engine.run([call_of(calls.forget, tmp_path / "elsewhere")], lambda: None))


def test_what_is_raised_meanwhile_ends_the_run_and_its_workers(cluster: Any, engine: RayEngine, tmp_path: Path) -> None:
    def stop() -> None:
        if [*tmp_path.glob("*.by-*")]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(engine.run([call_of(calls.write_later, tmp_path / "slow", 600.0)], stop))
    (found,) = tmp_path.glob("*.by-*")
    until(lambda: not is_alive(int(found.suffix.removeprefix(".by-"))))


def test_a_corpus_is_encoded_to_the_same_bytes_though_workers_are_killed(
    cluster: Any, engine: RayEngine, corpus: Path, tmp_path: Path
) -> None:
    tokenizer = Tokenizer.open(base_artifact())
    options: dict[str, Any] = {"layout": "megatron", "eos": "none", "shard_bytes": 30_000, "shuffle": 3}
    files = Files(paths=tuple(sorted(corpus.glob("[abc]*"))))
    encode_corpus(files, tokenizer, tmp_path / "whole", **options)
    with killing(cluster, "encode"):
        written = encode_corpus(files, tokenizer, tmp_path / "out", engine=engine, **options)
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert written.documents > 2000
    assert not (tmp_path / ".out.parts").exists()


class killing:  # noqa: N801 - a context
    """Kill three workers of a cluster, one after the other."""

    def __init__(self, cluster: Any, seed: object) -> None:
        self._nodes, self._random, self._ended = (
            [cluster.head_node, *cluster.worker_nodes],
            random.Random(str(seed)),
            threading.Event(),
        )
        self._thread = threading.Thread(target=self._kill)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _kill(self) -> None:
        for _ in range(3):
            self._ended.wait(self._random.random() * 0.5)
            for process in self._random.sample(found, 1) if (found := workers(self._nodes)) else []:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    continue


def test_counts_over_a_cluster_are_those_of_one_process(
    cluster: Any, engine: RayEngine, corpus: Path, tmp_path: Path
) -> None:
    truth = trained(tmp_path / "one", corpus)
    with killing(cluster, "counts"):
        run = trained(tmp_path / "ray", corpus, engine=engine, shard_bytes=1 << 19)
    assert run.report().corpus == truth.report().corpus
    assert run.tokenizers()[0].hash == truth.tokenizers()[0].hash
    # A large text was cut, and all counts are added up in several parts.
    counts = tmp_path / "ray" / "counts"
    assert len([*counts.glob("*-524288-1048576.sorted")]) == 1
    assert len([*counts.glob("*-of-8.sorted")]) == 8
    truth.save_counts(tmp_path / "one.counts")
    run.save_counts(tmp_path / "ray.counts")
    assert counts_of(tmp_path / "one.counts") == counts_of(tmp_path / "ray.counts")


def test_lines_left_out_and_errors_name_the_line_of_the_file(engine: RayEngine, tmp_path: Path) -> None:
    rows = [line(word) for word in text(1, 60_000).split()]
    rows[7000] = b'{"text": 3}\n'
    (tmp_path / "a.jsonl").write_bytes(b"".join(rows))
    recipe = {"corpus": {"paths": [str(tmp_path / "a.jsonl")], "on_error": "skip"}, "vocab_size": 300}
    reports = []
    for name, more in (("one", {}), ("ray", {"engine": engine, "shard_bytes": 1 << 16})):
        run = TrainingRun(tmp_path / name, Recipe.from_dict(recipe), **more)
        reports.append((run.report().skipped, run.report().first_skipped, run.report().hash))
    assert reports[0] == reports[1]
    assert "line 7001" in reports[1][1][0]
    del recipe["corpus"]["on_error"]  # type: ignore[attr-defined]
    with pytest.raises(InvalidCorpus, match="line 7001"):
        TrainingRun(tmp_path / "bad", Recipe.from_dict(recipe), engine=engine, shard_bytes=1 << 16).count()


def test_a_cluster_that_is_not_there_is_named() -> None:
    run = "from tokenizer_core import RayEngine\nRayEngine('127.0.0.1:9')"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert "ClusterFailed: there is no Ray cluster at 127.0.0.1:9" in done.stderr


def test_what_ray_prints_is_kept_from_the_results_of_a_command(
    cluster: Any, engine: RayEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    with engine_of(argparse.Namespace(engine="ray", address=cluster.address)):
        sys.stdout.write("a worker died\n")
    assert capsys.readouterr() == ("", "a worker died\n")
