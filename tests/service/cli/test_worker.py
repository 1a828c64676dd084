"""``tokd worker``: ends when it is told to, and refuses settings that cannot be."""

import signal
import subprocess
import sys

import pytest

from tests.service.cli.processes import assert_refused, environment

pytestmark = pytest.mark.process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_worker_ends_in_order_when_it_is_told_to(home, number):
    code = "import sys, service.jobs.worker as w; run = w.Worker.run\n"
    code += "def told(self): print('up', flush=True); run(self)\n"
    code += "w.Worker.run = told; from service.cli import main; sys.exit(main(['worker']))"
    command, pipe = [sys.executable, "-c", code], subprocess.PIPE
    with subprocess.Popen(command, cwd=home, env=environment(), stdout=pipe, stderr=pipe) as process:
        try:
            assert process.stdout.readline() == b"up\n"
            process.send_signal(signal.SIGHUP)
            assert any(b"SIGHUP is ignored" in line for line in process.stderr)
            process.send_signal(number)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert not (home / "artifacts" / ".jobs").exists()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["--jobs-url", "mysql://x"], "--jobs-url must"), (["--lease-seconds", "1"], "--lease-seconds is 1")],
)
def test_worker_names_a_wrong_setting(tokd, arguments, word):
    assert_refused(tokd("worker", *arguments), "invalid_setting", 2, word)


def test_worker_names_a_directory_that_it_cannot_write_to(tokd):
    assert_refused(tokd("worker", "--tokenizers", "/proc/self/x"), "unwritable_output", 1, "/proc/self/x")


def test_worker_says_where_it_looks_for_jobs_and_never_the_password(home):
    command = [
        sys.executable,
        "-m",
        "service.cli",
        "worker",
        "--jobs-url",
        "postgresql://me:secret@127.0.0.1:1/jobs?password=x",
    ]
    place = f"takes jobs from postgresql://me:***@127.0.0.1:1/jobs for {home / 'artifacts'}\n".encode()
    with subprocess.Popen(command, cwd=home, env=environment(), stderr=subprocess.PIPE) as process:
        try:
            # It complains every two seconds, so there are as many lines as are asked for.
            assert any(process.stderr.readline().endswith(place) for _ in range(5))
        finally:
            process.kill()
