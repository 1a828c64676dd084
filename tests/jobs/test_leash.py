"""The priority of a process that trains."""

import os
import subprocess
import sys

import pytest

from service.leash import lower


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="only Linux has a class for idle work")
@pytest.mark.parametrize(("nice", "scheduler"), [(7, "SCHED_OTHER"), (19, "SCHED_IDLE")])
def test_a_process_and_its_threads_are_lowered_from_outside(nice: int, scheduler: str) -> None:
    asked = (
        "import os, threading; input(); "
        "show = lambda: print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)); "
        "thread = threading.Thread(target=show); "
        "thread.start(); thread.join()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", asked], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        lower(process.pid, nice)
        output, _ = process.communicate("go\n", timeout=60)
    assert output.split() == [str(nice), str(getattr(os, scheduler))]


def test_a_process_that_is_gone_cannot_be_lowered_and_nobody_minds() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    lower(process.pid, 19)
