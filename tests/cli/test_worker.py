"""``tokd worker``: ends when it is told to, and refuses settings that cannot be."""

import signal
import subprocess
import sys

import pytest

from tests.cli.processes import assert_refused, environment


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_worker_ends_in_order_when_it_is_told_to(home, number):
    code = "import sys, service.jobs.worker as w; run = w.Worker.run\n"
    code += "def told(self): print('up', flush=True); run(self)\n"
    code += "w.Worker.run = told; from service.cli import main; sys.exit(main(['worker']))"
    with subprocess.Popen([sys.executable, "-c", code], cwd=home, env=environment(), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"up\n"
            process.send_signal(number)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert not (home / "artifacts" / ".jobs").exists()


@pytest.mark.parametrize(
    ("arguments", "word"), [(["--jobs-url", "mysql://x"], "jobs_url"), (["--lease-seconds", "1"], "lease_seconds")]
)
def test_worker_names_a_wrong_setting(tokd, arguments, word):
    assert_refused(tokd("worker", *arguments), "invalid_setting", 2, word)
