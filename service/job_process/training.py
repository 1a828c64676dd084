"""The process of a job that trains, started by a worker: ``python -m service.job_process.training FILE``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from service.job_process.pipe import MessageWriter, Watchdog
from service.job_process.process import bounds, run, without_places
from service.registry.artifact_dirs import put_into_place
from service.reports.fertility import fertility
from service.reports.training import document
from service.schemas.training import TrainingSettings
from tokenizer_core import (
    Progress,
    Recipe,
    Tokenizer,
    TrainingReport,
    TrainingRun,
)

TOKEN_CHARACTERS = 200
"""Of each of the longest tokens in a report."""

NEWEST_CHARACTERS = 12
"""Of each of the newest tokens in a job's progress, which is written down twice a second."""


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

    directory, recipe = Path(order["directory"]), Recipe.from_dict(order["recipe"])
    training = TrainingRun(
        directory / "run",
        recipe,
        bounds=bounds(order, directory),
        progress=send_progress,
        threads=order["threads"],
    )
    messages.phase("counting")
    training.count()
    messages.phase("merging", unit=training.learns)
    training.merge()
    messages.phase("publishing")
    made = directory / "artifacts"
    # The half-done files of an earlier attempt.
    shutil.rmtree(made, ignore_errors=True)
    artifacts = training.publish_under(made)
    # The written files are read again before they are put into place.
    tokenizers = {path: Tokenizer.open(path) for path in set(artifacts)}
    report = _short(training.report(), order) | _told(tokenizers[artifacts[0]], training.report())
    messages.send(ready=True)
    watchdog.wait_to_publish()
    target = Path(order["target"])
    places = {path: put_into_place(path, target / path.name) for path in sorted(made.iterdir())}
    first, *others = [
        {"hash": tokenizers[path].hash, "name": tokenizers[path].name, "directory": places[path].name}
        for path in artifacts
    ]
    sizes = [{"size": size, **other} for size, other in zip(recipe.sizes, others, strict=True)]
    messages.send(published={**first, "report": report, "sizes": sizes})


def _short(report: TrainingReport, order: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a report with the job, and read with every list of jobs.

    How often every single merge occurred is as long as the vocabulary, and a token may be as long as the corpus. What
    languages cost is told as the report of the command tells it.
    """
    found = {name: value for name, value in report.to_dict().items() if name not in ("frequencies", "languages")}
    tokens = [_shortened(token, TOKEN_CHARACTERS) for token in report.longest_tokens]
    first = [without_places(place, order) for place in report.first_skipped]
    return found | {"longest_tokens": tokens, "first_skipped": first}


def _told(tokenizer: Tokenizer, report: TrainingReport) -> dict[str, Any]:
    """Return what the report of the command has beside: some of the frequencies, what texts cost, and what to do."""
    made = document(tokenizer, report, {}, fertility([tokenizer]), named=str)
    return {name: made[name] for name in ("characters", "frequencies", "parity", "fertility", "advice")}


def _shortened(token: str, most: int) -> str:
    return f"{token[:most]}..." if len(token) > most else token


def main() -> int:
    """Train the job that the file of the command line describes."""
    return run(train, TrainingSettings.model_fields)


if __name__ == "__main__":
    sys.exit(main())
