"""Audit an uploaded ``tokenizer.json``: ``python -m service.job_process.auditing FILE`` in a process of its own.

Whoever sends the file is not trusted. It may ask for any amount of memory and time, so the process gives up both by
itself, writes no file, and is killed from outside when its time is over. It prints one line of JSON: the audit, or why
the file was refused. With ``DIRECTORY load`` it only reads what is to be served.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizer_core import Tokenizer

SECONDS = 60
"""Of a processor, for each of them; whoever starts the process kills it after as many seconds of a clock."""

MEMORY_BYTES = 4 << 30
"""Of addresses, of which the largest published tokenizers need less than half."""

ENVIRONMENT = {"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
"""Libraries would set aside addresses for each core of a large host."""


def confine() -> None:
    """Bound what this process may take."""
    for limit, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (most, most))


def audit(path: str) -> dict[str, Any]:
    """Read a file and audit the tokenizer."""
    from tokenizer_core import Tokenizer, check

    return {"audit": check(Tokenizer.from_hf(path)).to_dict()}


def load(path: str) -> dict[str, Any]:
    """Read a directory as what is served, with all that is made of a tokenizer then."""
    from service.registry.served import ServedTokenizer

    ServedTokenizer(opened(path), path)
    return {}


def opened(path: str) -> Tokenizer:
    """Open an artifact, or what a model ships."""
    from tokenizer_core import Tokenizer

    return Tokenizer.open(path) if Path(path, "manifest.json").exists() else Tokenizer.load(path)


def main() -> int:
    """Do the work of the command line."""
    confine()
    from service.job_process.control import end_with_parent, prefer_as_oom_victim

    prefer_as_oom_victim()
    end_with_parent(signal.SIGKILL)
    from tokenizer_core import TokdError

    path, *loads = sys.argv[1:]
    try:
        told = load(path) if loads else audit(path)
    except TokdError as error:
        folder = path if loads else path.rpartition("/")[0]
        told = {"refused": error.message.replace(f"{folder}/", "").replace(folder, "it"), "code": error.code}
    sys.stdout.write(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
