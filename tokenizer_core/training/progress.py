"""Report the progress of a training run several times a second, and stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from tokenizer_core.errors import Cancelled

Phase = Literal["counting", "merging", "publishing"]
Unit = Literal["bytes", "merges", "files"]
Outcome = TypeVar("Outcome")

INTERVAL = 0.1
"""Seconds between two reports."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a training run.

    Attributes:
        phase: what is being done.
        done: of the files that are read, or of text where there are none; merges made; artifacts written.
        total: of the same; ``None`` when nobody knows.
        unit: of both.
    """

    phase: Phase
    done: int
    total: int | None
    unit: Unit


Report = Callable[[Progress], object]
"""Called about ten times a second; what it raises, such as ``Cancelled``, ends the run."""


class Reporter:
    """Reports progress from the caller's thread while the work is done in another.

    Attributes:
        progress: what is reported; set by the work.
    """

    def __init__(self, report: Report | None) -> None:
        self._report = report
        self._stopped = threading.Event()
        self.progress = Progress("counting", 0, None, "bytes")

    def run(self, work: Callable[[], Outcome], stop: Callable[[], object] | None = None) -> Outcome:
        """Do work in a thread and report meanwhile; what a report raises ends the work when it next calls ``check``.

        Args:
            stop: called to end what cannot call ``check``.
        """
        if self._report is None:
            return work()
        outcome: list[Outcome] = []
        raised: list[BaseException] = []
        ended = threading.Event()

        def run() -> None:
            try:
                outcome.append(work())
            except BaseException as error:
                raised.append(error)
            finally:
                ended.set()

        thread = threading.Thread(target=run, name="training", daemon=True)
        thread.start()
        try:
            while not ended.wait(INTERVAL):
                self._report(self.progress)
        except BaseException:
            self._stopped.set()
            if stop is not None:
                stop()
            raise
        finally:
            thread.join()
        if raised:
            raise raised[0]
        return outcome[0]

    def check(self) -> None:
        """End the work if a report has raised.

        Raises:
            Cancelled
        """
        if self._stopped.is_set():
            raise Cancelled("the run was cancelled")

    def merging(self, done: int, total: int, _: object = None) -> None:
        """Set how many merges are made, as the kernel calls it; ``check`` is called first."""
        self.check()
        self.progress = Progress("merging", done, total, "merges")

    def report(self) -> None:
        """Report once, whatever the time."""
        if self._report is not None:
            self._report(self.progress)
