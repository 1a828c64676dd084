"""The priority of a process that trains."""

import subprocess
import sys

from service.leash import lower


def test_a_process_and_its_threads_are_lowered_from_outside() -> None:
    asked = (
        "import os, threading; input(); "
        "show = lambda: print(os.getpriority(os.PRIO_PROCESS, 0)); "
        "thread = threading.Thread(target=show); thread.start(); thread.join()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", asked], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        lower(process.pid, 17)
        output, _ = process.communicate("go\n", timeout=60)
    assert output.split() == ["17"]


def test_a_process_that_is_gone_cannot_be_lowered_and_nobody_minds() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    lower(process.pid, 19)
