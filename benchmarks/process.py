"""One measurement in one fresh process: the one that asks, and the one that answers.

``python -m benchmarks.process MODULE ARGUMENT...`` calls ``work`` of a module of this folder and prints what it returns
as one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


class Failed(Exception):
    """A process gave no answer; the last line of what it said."""


def environment() -> dict[str, str]:
    """Return the environment of a child, with this project importable."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def command(module: str, *arguments: object, python: object = sys.executable) -> list[str]:
    """Return the command of a worker."""
    return [str(python), "-m", "benchmarks.process", module, *map(str, arguments)]


def ask(module: str, *arguments: object, python: object = sys.executable, limit: float | None = None) -> Any:
    """Let a worker answer in a fresh process, within ``limit`` seconds."""
    import subprocess  # Not in workers, whose memory is measured.

    asked = command(module, *arguments, python=python)
    try:
        done = subprocess.run(asked, capture_output=True, text=True, env=environment(), check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"over {limit:.0f} s") from None
    if done.returncode != 0:
        raise Failed((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def require(module: str, *arguments: object, python: object = sys.executable) -> Any:
    """Ask for what nothing can be shown without."""
    try:
        return ask(module, *arguments, python=python)
    except Failed as why:
        raise SystemExit(f"{module} failed: {why}") from None


if __name__ == "__main__":
    _, name, *given = sys.argv
    print(json.dumps(import_module(f"benchmarks.{name}").work(*given)))
