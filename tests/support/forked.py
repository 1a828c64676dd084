"""Programs that start at once: forked from a process that has imported the service already.

A server takes a second or two of a processor to import what it needs, and the tests start hundreds. Those whose point
is the start itself run the command in an interpreter of its own.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any

from service.cli.command_line import COMMANDS

IMPORTED = ["service.server", *(f"service.cli.{name}" for name in COMMANDS.values())]
_CONTEXT = multiprocessing.get_context("forkserver")


class Forked:
    """A program in a process of its own, with what the tests use of ``subprocess.Popen``.

    Args:
        program: the source of what it runs.
        arguments: what it finds in ``sys.argv`` behind its name.
        files: its standard input, output and error.
    """

    def __init__(
        self,
        program: str,
        arguments: Sequence[str | bytes] = (),
        *,
        env: Mapping[str, str],
        cwd: Path,
        files: Sequence[IO[bytes]],
    ) -> None:
        _CONTEXT.set_forkserver_preload(IMPORTED)
        self._files = files
        self._process = _CONTEXT.Process(
            target=_run, args=(program, [os.fsdecode(each) for each in arguments], dict(env), cwd, Descriptors(files))
        )
        self._process.start()

    @property
    def pid(self) -> int:
        """Its id, which is that of its group as well."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """As ``poll``."""
        return self.poll()

    def poll(self) -> int | None:
        """Return its status, a signal as a negative number, or ``None`` while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            TimeoutExpired: it did not end.
        """
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("forked", timeout or 0)
        return self._process.exitcode

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Wait for its end; return all that it wrote to standard output and standard error."""
        self.wait(timeout)
        return whole(self._files[1]), whole(self._files[2])

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Descriptors:
    """Files that the process of a ``Forked`` has as its first descriptors."""

    def __init__(self, files: Sequence[IO[bytes]]) -> None:
        self._files = files

    def __reduce__(self) -> tuple[Any, ...]:
        return _detached, tuple(DupFd(file.fileno()) for file in self._files)


def _detached(*duplicates: Any) -> list[int]:
    return [each.detach() for each in duplicates]


def whole(file: IO[bytes]) -> bytes:
    """Return all that a file holds, wherever its end was moved to."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def _run(program: str, arguments: list[str], env: dict[str, str], cwd: Path, descriptors: list[int]) -> None:
    os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = ["tokd", *arguments]
    sys.stdin, sys.stdout, sys.stderr = (_stream(number) for number in range(3))
    exec(compile(program, "<forked>", "exec"), {"__name__": "__main__"})


def _stream(number: int) -> io.TextIOWrapper:
    """Make a standard stream as the interpreter makes it at its start, in a locale without an encoding."""
    errors = "backslashreplace" if number == 2 else "surrogateescape"
    return io.TextIOWrapper(
        open(number, "wb" if number else "rb", closefd=False), "utf-8", errors, write_through=number == 2
    )
