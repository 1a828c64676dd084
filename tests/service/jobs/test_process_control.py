"""A process that trains steps back for others, and what it takes is measured."""

import mmap
import os
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest

from service.job_process.control import HANGUP, renice
from service.jobs.limits import DISK_FULL, JobLimits, resident_bytes
from service.settings import Settings
from tests.support.paths import ROOT

pytestmark = pytest.mark.process


def test_a_process_and_its_threads_are_lowered_from_outside() -> None:
    asked = (
        "import os, threading; input(); "
        "show = lambda: print(os.getpriority(os.PRIO_PROCESS, 0)); "
        "thread = threading.Thread(target=show); thread.start(); thread.join()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", asked], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        renice(process.pid, 17)
        output, _ = process.communicate("go\n", timeout=60)
    assert output.split() == ["17"]


def test_a_process_that_is_gone_cannot_be_lowered_and_nobody_minds() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    renice(process.pid, 19)


def test_a_process_that_trains_goes_first_when_memory_is_short_and_ends_with_its_worker() -> None:
    asked = (
        "import ctypes, pathlib, signal; from service.job_process import control; "
        "control.prefer_as_oom_victim(); control.end_with_parent(signal.SIGKILL); "
        "number = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(number)); "
        "print(pathlib.Path('/proc/self/oom_score_adj').read_text().strip(), number.value)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["1000", "9"]


def test_memory_that_processes_share_is_a_process_s_own_too() -> None:
    before, size = resident_bytes(os.getpid()), 32 << 20
    with mmap.mmap(-1, size) as shared:
        shared.write(b"x" * size)
        assert resident_bytes(os.getpid()) - before >= size // 2


def test_every_disk_that_a_job_writes_to_needs_room(monkeypatch: pytest.MonkeyPatch) -> None:
    free = {"full": 99, "roomy": 100}
    usage = namedtuple("usage", ["free"])
    monkeypatch.setattr("service.jobs.limits.shutil.disk_usage", lambda path: usage(free[path.name]))
    limits = JobLimits(Settings(min_free_bytes=100))
    for names, error in ((["roomy"], None), (["roomy", "full"], DISK_FULL), (["full", "roomy"], DISK_FULL)):
        assert limits.over_disk(map(Path, names)) == error


def test_a_hangup_is_told_by_a_handler_that_starts_no_thread() -> None:
    """Starting one takes locks and waits: a handler may interrupt what holds them, itself included."""
    program = """
import logging, signal, threading, time
from service.job_process.control import ignore_hangup
logging.basicConfig(level=logging.INFO)
ignore_hangup(logging.getLogger())
threading.Thread.start = None
for _ in range(3):
    signal.raise_signal(signal.SIGHUP)
time.sleep(0.5)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr.count(HANGUP) == 3


@pytest.mark.parametrize(("renewed", "code", "told"), [(True, 0, "True"), (False, -signal.SIGKILL, "")])
def test_a_process_that_was_held_up_reads_of_its_renewed_lease_before_it_gives_up(
    renewed: bool, code: int, told: str
) -> None:
    asked = (
        "import sys, time; from service.job_process.pipe import Watchdog; "
        "watchdog = Watchdog(0, time.monotonic() - 1); watchdog.wait_to_publish(); "
        "print(watchdog.is_to_leave())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", asked], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        late = f"until {time.monotonic() + 60}\n" if renewed else ""
        # The words of a worker that no longer has the job count for nothing.
        process.stdin.write(f"leave\ngo\n{late}")
        process.stdin.flush()
        assert process.stdout.read().strip() == told
        assert process.wait(60) == code
