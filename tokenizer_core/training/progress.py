"""Report the progress of a training run several times a second, and stop it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from tokenizer_core.errors import Cancelled
from tokenizer_core.training.learning import Unit

Phase = Literal["counting", "merging", "learning", "seeds", "pruning", "publishing", "encoding"]
Outcome = TypeVar("Outcome")

LEARNING: Mapping[Unit, Phase] = {
    "merges": "merging",
    "tokens": "learning",
    "characters": "seeds",
    "rounds": "pruning",
}
"""The phase of learning, by its unit: models without merges learn, but for Unigram, which finds seeds and prunes."""

NEWEST = 5
"""Tokens in a report."""

INTERVAL = 0.1
"""Seconds between two reports."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a training run.

    Attributes:
        phase: what is being done; ``learning`` is ``merging`` of a model without merges, but for Unigram: ``seeds`` and
            ``pruning``.
        done: of the files that are read, or of text where there are none; merges made, or tokens; characters of the
            distinct pieces in which seeds were looked for; rounds of pruning; artifacts written.
        total: of the same; ``None`` when nobody knows. Rounds are foreseen, and can become fewer.
        unit: of both.
        tokens_per_byte: of the counted pieces, with the merges made so far; only while merging.
        newest: the tokens made last, the newest first; only while merging.
    """

    phase: Phase
    done: int
    total: int | None
    unit: Unit
    tokens_per_byte: float | None = None
    newest: tuple[bytes, ...] = ()


Report = Callable[[Progress], object]
"""Called about ten times a second; what it raises, such as ``Cancelled``, ends the run."""


class Reporter:
    """Reports progress from the caller's thread while the work is done in another.

    Attributes:
        progress: what is reported; set by the work.
    """

    def __init__(self, report: Report | None, *, learns: Unit = "merges") -> None:
        self._report = report
        self._learns = learns
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

    def begin_learning(self, wanted: int) -> None:
        """Report that nothing is learned yet of so many tokens; ``check`` is called first."""
        self.merging(0, None if self._learns == "characters" else wanted)

    def merging(self, done: int, total: int | None, *_: object, unit: Unit | None = None) -> None:
        """Set how much is learned, as the kernel calls it; ``check`` is called first."""
        self.check()
        unit = unit or self._learns
        self.progress = Progress(LEARNING[unit], done, total, unit)

    def report(self) -> None:
        """Report once, whatever the time."""
        if self._report is not None:
            self._report(self.progress)


class TimeLeft:
    """Estimates the rest of one phase from its reports.

    A pair that is merged later has fewer places: the time of ``n`` merges grows about as the root of ``n`` from the
    first one on, and what comes before it says nothing of them. All else takes time in proportion.
    """

    def __init__(self) -> None:
        self._began: tuple[float, int] | None = None

    def at(self, now: float, done: int, total: int | None, unit: str) -> float | None:
        """Take one report; return the seconds left, or ``None`` as long as nothing is known."""
        if self._began is None or done < self._began[1] or (unit == "merges" and done == self._began[1]):
            self._began = now, done
            return None
        seconds, first = self._began
        if total is None or done == first:
            return None
        cost = math.sqrt if unit == "merges" else float
        rest = max(0.0, cost(total) - cost(done))
        return (now - seconds) * rest / (cost(done) - cost(first))


class Newest:
    """Follows a run's merges, and knows the tokens made last.

    Args:
        tokens: those before the first merge, by index.
    """

    def __init__(self, tokens: Sequence[bytes]) -> None:
        self._tokens = list(tokens)

    def add(self, merges: Sequence[tuple[int, ...]]) -> tuple[bytes, ...]:
        """Take the merges since the last call; return the newest tokens, the newest first."""
        for left, right, product, *_ in merges:
            # A merge can also make a token that was there before.
            if product == len(self._tokens):
                self._tokens.append(self._tokens[left] + self._tokens[right])
        return tuple(self._tokens[: -NEWEST - 1 : -1])
