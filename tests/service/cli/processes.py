"""How the tests of the command run it and what they expect of its answer."""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryFile

from tests.support.forked import Forked
from tests.support.paths import ROOT

TEXT = "The harbour master, naïve 你好 👍🏽!\n"


def environment(**more: str) -> dict[str, str]:
    """Nothing of the caller's environment but the path to Python; a locale that is not UTF-8."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C", **more}


def run_in(directory: Path, *args: str, stdin: bytes = b"", variables=None) -> subprocess.CompletedProcess:
    """Run one command in a directory."""
    program = "import sys; from service.cli import main; sys.exit(main())"
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        files = [given, out, err]
        command = Forked(program, args, env=environment(**(variables or {})), cwd=directory, files=files)
        written = command.communicate(timeout=60)
    return subprocess.CompletedProcess(["tokd", *args], command.returncode, *written)


def succeed(result: subprocess.CompletedProcess) -> bytes:
    """Return what the command wrote; it said nothing on standard error."""
    assert (result.returncode, result.stderr) == (0, b""), result
    return result.stdout


def assert_refused(result: subprocess.CompletedProcess, code: str, status: int, *words: str):
    """One line, with the code; nothing on standard output; never a traceback."""
    message = result.stderr.decode()
    assert result.returncode == status, result
    assert message.startswith(f"tokd: error: {code}: "), message
    assert message.count("\n") == 1, message
    assert result.stdout == b""
    for word in words:
        assert word in message
