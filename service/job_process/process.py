"""The common parts of the processes of all kinds of jobs: the order they read, and their messages when they fail.

A process sends its phases, its progress, that it is ``ready`` to put its result into place, and at the end
``published`` or ``failed``.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from service.job_process.control import end_with_parent, prefer_as_oom_victim
from service.job_process.disk import disk_error
from service.job_process.pipe import MessageWriter, Watchdog
from service.log_lines import configure_logging
from tokenizer_core import Bounds, StepLimit, TokdError

_NUMBERED = re.compile(r"corpus\.paths\[([0-9]+)\]")
_OF_CORPUS = frozenset(("field", "column", "on_error", "language"))
"""Only of files that a pattern or a directory found: others are named by their place in the request."""

_log = logging.getLogger("tokd.jobs")


def run(work: Callable[[dict[str, Any], Watchdog, MessageWriter], None], settings: Collection[str]) -> int:
    """Do the job that the file of the command line describes.

    Args:
        settings: the names of the fields below ``settings`` in a request.
    """
    order = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    configure_logging(is_plain=order.get("is_log_plain"))
    prefer_as_oom_victim()
    end_with_parent(signal.SIGKILL)
    # The output of a library must not come between the lines for the worker.
    messages = MessageWriter(os.dup(1))
    os.dup2(2, 1)
    watchdog = Watchdog(0, order["until"])
    try:
        work(order, watchdog, messages)
    except BaseException as error:
        messages.send(failed=explain(error, order, settings))
        return 1
    return 0


def bounds(order: dict[str, Any], uploads: Path) -> Bounds:
    """Return what the corpus of a job may be.

    Args:
        uploads: the directory of the job, as its files are to be named.
    """
    return Bounds(
        roots=(uploads, *map(Path, order["roots"])),
        closed=tuple(map(Path, order["closed"])),
        uploads=uploads,
        schemes=frozenset(order["schemes"]),
        max_bytes=order["max_bytes"],
        max_entries=order["max_entries"],
        public_addresses_only=True,
    )


def without_places(message: str, order: dict[str, Any]) -> str:
    """Leave out where on this server a job's files and its results are."""
    tokenizer = order["recipe"].get("extends") or order["recipe"].get("tokenizer_path")
    for directory in (order["directory"], order["target"], *([] if tokenizer is None else [Path(tokenizer).parent])):
        message = message.replace(f"{directory}/", "")
    return message


def explain(error: BaseException, order: dict[str, Any], settings: Collection[str]) -> dict[str, Any]:
    """Return why a job failed, for its owner: a bug goes into the log, and paths of this server are left out."""
    if isinstance(error, TokdError) and error.code != "internal":
        message = without_places(error.message, order)
        message = re.sub(rf"(?<![\w.])(?=(?:{'|'.join(settings)})=)", "settings.", message)
        return {"code": error.code, "message": message[:1000], "path": _path(error, order, settings)}
    if (of_disk := disk_error(error)) is not None:
        _log.error("a job failed: %s", error)
        code, message = of_disk
        return {"code": code, "message": message, "path": None}
    if isinstance(error, MemoryError):
        message = "the job needs more memory than there is; send a smaller corpus"
        return {"code": "job_memory", "message": message, "path": None}
    _log.error("a job failed: %s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return {"code": "internal", "message": "this server has a bug; the worker's log says where", "path": None}


def _path(error: TokdError, order: dict[str, Any], settings: Collection[str]) -> str | None:
    """Name what is wrong by its place in the request, if it has one there."""
    if isinstance(error, StepLimit):
        return "settings.pattern" if order["recipe"].get("extends") is None else "settings.extends"
    paths, field, here = order["recipe"]["corpus"].get("paths", ()), error.place.get("field"), f"{order['directory']}/"
    names, file = [path.removeprefix(here) for path in paths], str(error.place.get("file")).removeprefix(here)
    numbered = _NUMBERED.fullmatch(str(field))
    if file in names or numbered is not None:
        index = int(numbered[1]) if numbered is not None else names.index(file)
        if paths[index].startswith(here):
            return f"corpus[{index}]"
        return f"corpus.{'urls' if '://' in paths[index] else 'files'}[{index}]"
    if field is None:
        return None
    of = "settings." if field in settings else "corpus." if field in _OF_CORPUS else ""
    return f"{of}{field}"[:200]
