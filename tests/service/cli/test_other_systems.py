"""The library and the command work where Linux's own functions are missing; the service names what it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.paths import ROOT

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# What macOS lacks, and what the service alone may need.
ANOTHER_SYSTEM = """
import os, signal, sys

for name in dir(os):
    if name.startswith(("sched_", "SCHED_", "posix_fa", "memfd", "MFD_", "pidfd", "P_PIDFD", "eventfd", "EFD_")):
        delattr(os, name)
for name in ("fdatasync", "pipe2", "copy_file_range", "splice", "getxattr", "setxattr", "listxattr", "getrandom"):
    if hasattr(os, name):
        delattr(os, name)
missing = os.environ.get("MISSING", "").split(",")

def hook(event, arguments):
    if event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], str | bytes):
        if os.fsdecode(arguments[0]).startswith(("/proc", "/sys")):
            raise FileNotFoundError(2, "no such file or directory", arguments[0])
    if event == "ctypes.dlsym" and arguments[1] == "renameat2":
        raise AttributeError(arguments[1])

class Missing:
    def find_spec(name, path, target=None):
        if name in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.addaudithook(hook)
sys.meta_path.insert(0, Missing)
for module, name in (each.split(".") for each in missing if "." in each):
    delattr(sys.modules[module], name)
"""


@pytest.fixture
def elsewhere(home: Path, tmp_path: Path) -> Run:
    """Run a command in ``home`` as on a system without what Linux has beside others."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "sitecustomize.py").write_text(ANOTHER_SYSTEM)

    def run(*arguments: object, missing: str = "resource,uvloop") -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path / "path"), str(ROOT)]),
            "MISSING": missing,
        }
        command = [sys.executable, "-m", "service.cli", *map(str, arguments)]
        return subprocess.run(
            command, cwd=home, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return run


def test_commands_do_without_what_linux_alone_has(elsewhere: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "hello world"}\n{"text": "hello there"}\n' * 50)
    corpus, own = tmp_path / "a.jsonl", tmp_path / "own"
    for arguments in (
        ("train", corpus, "-o", own, "--vocab-size", 260),
        ("train", corpus, "-o", tmp_path / "unigram", "--model", "unigram", "--vocab-size", 30),
        ("inspect", own),
        ("check", own),
        ("compare", own, "artifacts/base"),
        ("encode", "hello", "-t", own),
        ("decode", "104", "101", "-t", own),
        ("encode-corpus", corpus, "-t", own, "-o", tmp_path / "tokens", "--eos", "none", "--threads", 2),
        ("encode-corpus", corpus, "-t", own, "-o", tmp_path / "joined", "--eos", "none", "--join"),
        ("check", tmp_path / "tokens", "-t", own),
        ("pack", corpus, "-t", own, "-o", tmp_path / "packs", "--length", 16, "--format", "nanogpt", "--no-eos"),
        ("export", own, "-o", tmp_path / "export", "--format", "huggingface"),
        ("import", tmp_path / "export", "-o", tmp_path / "again"),
        ("key", "new", "--name", "a", "--scope", "admin"),
    ):
        done = elsewhere(*arguments)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (arguments, done.stderr)


@pytest.mark.parametrize(
    ("command", "missing", "names"),
    [
        ("serve", "resource,uvloop", "resource.getrlimit, resource.setrlimit, uvloop.Loop"),
        ("serve", "signal.SIGHUP", "signal.SIGHUP"),
        ("worker", "os.setpriority,fcntl", "fcntl.flock, os.setpriority"),
    ],
)
def test_the_service_names_what_the_system_lacks(elsewhere: Run, command: str, missing: str, names: str) -> None:
    done = elsewhere(command, missing=missing)
    assert done.returncode == 1
    assert done.stderr == (
        f"tokd: error: unsupported_system: tokd {command} needs {names}, which this system does not have; "
        "run it on Linux or macOS\n"
    )


def test_benchmarks_name_their_system(elsewhere: Run) -> None:
    done = elsewhere("bench", "encode")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "unsupported_system" in done.stderr
    assert "Linux" in done.stderr
