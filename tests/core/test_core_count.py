"""As many cores are used as the process may run on, and no more than the control groups around it leave."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT
from tokenizer_core import Tokenizer, base_artifact, core_count, encode_corpus
from tokenizer_core.token_files.run import part_encoder

FOLDER = Path("/sys/fs/cgroup")
SHOW = """
from tokenizer_core import core_count
print(core_count())
"""


def shown(before: Callable[[], object]) -> int:
    """Return what a process counts that does something before it begins."""
    command = [sys.executable, "-c", SHOW]
    return int(subprocess.run(command, cwd=ROOT, preexec_fn=before, capture_output=True, check=True, timeout=60).stdout)


@pytest.fixture
def group() -> Iterator[tuple[Path, Callable[[float], None]]]:
    """Make a control group with another within, and what limits the outer one to so many cores."""
    own = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()] if FOLDER.is_dir() else []
    paths = {controllers: path.strip("/") for _, controllers, path in own}
    of_version_1 = next((name for name in paths if "cpu" in name.split(",")), None)
    parent = FOLDER / paths.get("", "") if of_version_1 is None else FOLDER / of_version_1 / paths[of_version_1]
    outer = parent / f"tokd-test-{os.getpid()}"
    try:
        (outer / "inner").mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no control group can be made: {error.strerror}")

    def limit(cores: float) -> None:
        if of_version_1 is None:
            (outer / "cpu.max").write_text(f"{int(cores * 100_000)} 100000")
        else:
            (outer / "cpu.cfs_quota_us").write_text(f"{int(cores * 100_000)}")

    try:
        yield outer, limit
    finally:
        for made in (outer / "inner", outer):
            with suppress(OSError):
                made.rmdir()


def test_limits_of_nested_control_groups_count(group: tuple[Path, Callable[[float], None]]) -> None:
    outer, limit = group
    if core_count() < 2:
        pytest.skip("one core has no limit below it")

    def enter() -> None:
        (outer / "inner" / "cgroup.procs").write_text(str(os.getpid()))

    try:
        limit(1)
    except OSError as error:
        pytest.skip(f"its limit cannot be set: {error.strerror}")
    assert shown(enter) == 1
    limit(1.5)
    assert shown(enter) == 1
    limit(64)
    assert shown(enter) == core_count()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system holds no process to cores")
def test_cores_that_the_process_may_not_run_on_do_not_count() -> None:
    cores = os.sched_getaffinity(0)
    assert core_count() <= len(cores)
    assert shown(lambda: os.sched_setaffinity(0, {min(cores)})) == 1


def test_a_corpus_is_encoded_by_as_many_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "hello"}\n')
    told: list[int] = []

    def noted(recipe: Any, tokenizer: Any, threads: int, memory: int) -> Any:
        told.append(threads)
        return part_encoder(recipe, tokenizer, threads, memory)

    monkeypatch.setattr("tokenizer_core.token_files.run.part_encoder", noted)
    monkeypatch.setattr("tokenizer_core.token_files.run.core_count", lambda: 5)
    tokenizer = Tokenizer.open(base_artifact())
    for at, threads in enumerate((0, 2)):
        encode_corpus(tmp_path / "a.jsonl", tokenizer, tmp_path / f"{at}", eos="none", threads=threads)
    assert told == [5, 2]
