"""The training process of one job: ``python -m service.job_process.training FILE``, started and watched by a worker.

It sends its phases, its progress, that it is ``ready`` to put the artifact into place, and at the end ``published`` or
``failed``.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shutil
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from service.job_process.control import end_with_parent, prefer_as_oom_victim
from service.job_process.pipe import MessageWriter, Watchdog
from service.registry.artifact_dirs import put_into_place
from service.schemas.training import TrainingSettings
from tokenizer_core import (
    Bounds,
    Progress,
    Recipe,
    StepLimit,
    TokdError,
    Tokenizer,
    TrainingReport,
    TrainingRun,
)

_NUMBERED = re.compile(r"corpus\.paths\[([0-9]+)\]")
_SETTINGS = frozenset(TrainingSettings.model_fields)
_OF_CORPUS = frozenset(("format", "field", "column", "on_error"))
"""Only of files that a pattern or a directory found: others are named by their place in the request."""

TOKEN_CHARACTERS = 200
"""Of each of the longest tokens in a report."""

NEWEST_CHARACTERS = 12
"""Of each of the newest tokens in a job's progress, which is written down twice a second."""

_log = logging.getLogger("tokd.jobs")


def train(order: dict[str, Any], watchdog: Watchdog, messages: MessageWriter) -> None:
    """Count, merge, make the artifact, and put it into its place when the worker lets it."""

    def send_progress(progress: Progress) -> None:
        messages.progress(
            done=progress.done,
            total=progress.total,
            unit=progress.unit,
            tokens_per_byte=progress.tokens_per_byte,
            newest=[_shortened(token.decode(errors="replace"), NEWEST_CHARACTERS) for token in progress.newest],
        )

    directory = Path(order["directory"])
    run = TrainingRun(
        directory / "run",
        Recipe.from_dict(order["recipe"]),
        bounds=_bounds(order),
        progress=send_progress,
        threads=order["threads"],
    )
    messages.phase("counting")
    run.count()
    messages.phase("merging")
    run.merge()
    messages.phase("publishing")
    made = directory / "artifacts"
    # What an attempt before left half done.
    shutil.rmtree(made, ignore_errors=True)
    artifact = run.publish_under(made)
    tokenizer = Tokenizer.open(artifact)
    report = _short(run.report(), order)
    messages.send(ready=True)
    watchdog.wait_to_publish()
    target = Path(order["target"])
    places = {path: put_into_place(path, target / path.name) for path in sorted(made.iterdir())}
    published = {
        "hash": tokenizer.hash,
        "name": tokenizer.name,
        "directory": places[artifact].name,
        "report": report,
    }
    messages.send(published=published)


def _bounds(order: dict[str, Any]) -> Bounds:
    """Return what the corpus of a job may be."""
    return Bounds(
        roots=tuple(map(Path, order["roots"])),
        closed=tuple(map(Path, order["closed"])),
        uploads=Path(order["directory"]),
        schemes=frozenset(order["schemes"]),
        max_bytes=order["max_bytes"],
        max_entries=order["max_entries"],
        public_addresses_only=True,
    )


def _short(report: TrainingReport, order: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a report with the job, and read with every list of jobs.

    How often every single merge occurred is as long as the vocabulary, and a token may be as long as the corpus.
    """
    found = {name: value for name, value in report.to_dict().items() if name != "frequencies"}
    tokens = [_shortened(token, TOKEN_CHARACTERS) for token in report.longest_tokens]
    first = [_without_places(place, order) for place in report.first_skipped]
    return found | {"longest_tokens": tokens, "first_skipped": first}


def _shortened(token: str, most: int) -> str:
    return f"{token[:most]}..." if len(token) > most else token


def _without_places(message: str, order: dict[str, Any]) -> str:
    """Leave out where on this server a job's files and its artifacts are."""
    extends = order["recipe"].get("extends")
    for directory in (order["directory"], order["target"], *([] if extends is None else [Path(extends).parent])):
        message = message.replace(f"{directory}/", "")
    return message


def explain(error: BaseException, order: dict[str, Any]) -> dict[str, Any]:
    """Return why a job failed, for its owner: a bug goes into the log, and paths of this server are left out."""
    if isinstance(error, TokdError) and error.code != "internal":
        message = _without_places(error.message, order)
        return {"code": error.code, "message": message[:1000], "path": _path(error, order)}
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        message = "the disk is full; submit the job again when there is room"
        return {"code": "disk_full", "message": message, "path": None}
    if isinstance(error, MemoryError):
        message = "the job needs more memory than there is; train on less text"
        return {"code": "job_memory", "message": message, "path": None}
    _log.error("a job failed: %s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return {"code": "internal", "message": "this server has a bug; the worker's log says where", "path": None}


def _path(error: TokdError, order: dict[str, Any]) -> str | None:
    """Name what is wrong by its place in the request, if it has one there."""
    if isinstance(error, StepLimit):
        return "settings.pattern" if order["recipe"].get("extends") is None else "settings.extends"
    paths, file, field = order["recipe"]["corpus"].get("paths", ()), error.place.get("file"), error.place.get("field")
    numbered = _NUMBERED.fullmatch(str(field))
    if file in paths or numbered is not None:
        index = int(numbered[1]) if numbered is not None else paths.index(file)
        if paths[index].startswith(f"{order['directory']}/"):
            return f"corpus[{index}]"
        return f"corpus.{'urls' if '://' in paths[index] else 'files'}[{index}]"
    if field is None:
        return None
    of = "settings." if field in _SETTINGS else "corpus." if field in _OF_CORPUS else ""
    return f"{of}{field}"[:200]


def main() -> int:
    """Train the job that the file of the command line describes."""
    order = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    prefer_as_oom_victim()
    end_with_parent(signal.SIGKILL)
    # What a library prints must not come between the lines for the worker.
    messages = MessageWriter(os.dup(1))
    os.dup2(2, 1)
    watchdog = Watchdog(0, order["until"])
    try:
        train(order, watchdog, messages)
    except BaseException as error:
        messages.send(failed=explain(error, order))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
