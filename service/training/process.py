"""The process that trains one job: ``python -m service.training.process FILE``, started and watched by a worker.

It tells its phases, its progress, that it is ``ready`` to put the artifact into place, and at the end ``published`` or
``failed``.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shutil
import sys
import traceback
from dataclasses import fields
from pathlib import Path
from typing import Any

from service.tokenizers.places import put_into_place
from service.training.leash import Leash, Teller, bow_to_others
from tokenizer_core import (
    Bounds,
    Progress,
    Recipe,
    StepLimit,
    TokdError,
    Tokenizer,
    TrainingRun,
    TrainSettings,
)

_NUMBERED = re.compile(r"corpus\.paths\[([0-9]+)\]")
_SETTINGS = frozenset(("extends", *(field.name for field in fields(TrainSettings))))
_OF_CORPUS = frozenset(("format", "field", "column"))
"""Only of files that a pattern or a directory found: others are told by their place in the request."""

_log = logging.getLogger("tokd.jobs")


def train(order: dict[str, Any], leash: Leash, teller: Teller) -> None:
    """Count, merge, make the artifact, and put it into its place when the worker lets it."""

    def report(progress: Progress) -> None:
        teller.progress(progress.done, progress.total, progress.unit)

    directory = Path(order["directory"])
    bounds = Bounds(
        roots=tuple(map(Path, order["roots"])),
        closed=tuple(map(Path, order["closed"])),
        uploads=directory,
        schemes=frozenset(order["schemes"]),
        max_bytes=order["max_bytes"],
        public_addresses_only=True,
    )
    run = TrainingRun(
        directory / "run",
        Recipe.from_dict(order["recipe"]),
        bounds=bounds,
        on_progress=report,
        threads=order["threads"],
    )
    teller.phase("counting")
    run.count()
    teller.phase("merging")
    run.merge()
    teller.phase("publishing")
    made = directory / "artifacts"
    # What an attempt before left half done.
    shutil.rmtree(made, ignore_errors=True)
    artifact = run.publish_under(made)
    tokenizer = Tokenizer.open(artifact)
    # How often every single merge occurred is as long as the vocabulary; the rest is short.
    told = {name: value for name, value in run.report().to_dict().items() if name != "frequencies"}
    teller.tell(ready=True)
    leash.wait_to_publish()
    target = Path(order["target"])
    places = {path: put_into_place(path, target / path.name) for path in sorted(made.iterdir())}
    published = {
        "hash": tokenizer.hash,
        "name": tokenizer.name,
        "directory": places[artifact].name,
        "report": told,
    }
    teller.tell(published=published)


def explain(error: BaseException, order: dict[str, Any]) -> dict[str, Any]:
    """Say why a job failed, for its owner: a bug is told to the log, where uploads and artifacts lie to nobody."""
    if isinstance(error, TokdError) and error.code != "internal":
        message, extends = error.message, order["recipe"].get("extends")
        for directory in (order["directory"], order["target"], *([] if extends is None else [Path(extends).parent])):
            message = message.replace(f"{directory}/", "")
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
    """Train the job whose order stands in a file."""
    order = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    bow_to_others()
    # What a library prints must not come between the lines for the worker.
    teller = Teller(os.dup(1))
    os.dup2(2, 1)
    leash = Leash(0, order["until"])
    try:
        train(order, leash, teller)
    except BaseException as error:
        teller.tell(failed=explain(error, order))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
