"""Calls of an engine for tests; workers on other hosts import them from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tokenizer_core import InvalidCorpus


def write_later(path: Path, seconds: float) -> None:
    """Say which process makes a file, and make it after a while."""
    path.with_suffix(f".by-{os.getpid()}").touch()
    time.sleep(seconds)
    path.write_text("made")


def write_after(path: Path, released: Path) -> None:
    """Say which process makes a file, and make it when another one is there."""
    path.with_suffix(f".by-{os.getpid()}").touch()
    while not released.exists():
        time.sleep(0.02)
    path.write_text("made")


def fail(path: Path) -> None:
    """Find a mistake in a file."""
    raise InvalidCorpus(f"line 3 of {path} is wrong", file=str(path), line=3)


def die(path: Path) -> None:
    """End the worker."""
    os.kill(os.getpid(), signal.SIGKILL)


def forget(path: Path) -> None:
    """Say that it is done, and make nothing."""


def second_time(path: Path, first: Path) -> None:
    """Make a file only if another attempt was there before."""
    if first.exists():
        path.write_text("made")
    first.touch()
