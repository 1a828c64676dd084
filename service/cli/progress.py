"""Progress on standard error: one redrawn line on a terminal, occasional plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from service.cli.streams import forget
from tokenizer_core import Progress, TimeLeft

BAR = 24
PLAIN_INTERVAL = 10.0
"""Seconds between two plain lines of one phase."""

SMOOTHING = 5.0
"""Seconds over which the rate is smoothed, about."""


class Bar:
    """Shows a run's progress, and remembers it.

    Attributes:
        seconds: that each phase took.
    """

    def __init__(self, stream: TextIO | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream is not None and self._stream.isatty()
        self._clock = clock
        self._since = clock()
        self._phase: str | None = None
        self._rate = Rate()
        self._time_left = TimeLeft()
        self._next_plain = 0.0
        self._drawn = False
        self.seconds: dict[str, float] = {}

    def __call__(self, progress: Progress, detail: str = "") -> None:
        """Take one report; ``detail`` is shown behind it where there is room."""
        now = self._clock()
        self.seconds[progress.phase] = self.seconds.get(progress.phase, 0.0) + now - self._since
        self._since = now
        if progress.phase != self._phase:
            self.clear()
            self._phase, self._rate, self._next_plain = progress.phase, Rate(), now
            self._time_left = TimeLeft()
        rate = self._rate.at(now, progress.done)
        left = self._time_left.at(now, progress.done, progress.total, progress.unit)
        ended = progress.total is not None and progress.done >= progress.total
        if self._live:
            self._draw(progress, rate, left, detail)
        elif now >= self._next_plain or (ended and not self._rate.ended):
            self._next_plain = now + PLAIN_INTERVAL
            self._rate.ended = ended
            self._write("  ".join(filter(None, (line(progress, rate, left), detail))) + "\n")

    def clear(self) -> None:
        """Take the line away, so that others can be written."""
        if self._drawn:
            self._write("\r\x1b[K")
            self._drawn = False

    def _draw(self, progress: Progress, rate: float | None, left: float | None, detail: str) -> None:
        room = max(1, shutil.get_terminal_size().columns - 1)
        text = "  ".join(filter(None, (line(progress, rate, left, bar=True), detail)))
        if len(text) > room:
            text = line(progress, rate, left, bar=True)
        if len(text) > room:
            text = line(progress, rate, left)[:room]
        self._write("\r\x1b[K" + text)
        self._drawn = True

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            # A run goes on without whoever reads of it.
            forget(self._stream)
            self._stream = None


class Rate:
    """Rate of work a second, smoothed."""

    def __init__(self) -> None:
        self._last: tuple[float, int] | None = None
        self._value: float | None = None
        self.ended = False

    def at(self, now: float, done: int) -> float | None:
        """Take one measure; nothing is known at the first."""
        if self._last is None:
            self._last = now, done
            return None
        then, before = self._last
        passed = now - then
        if passed > 0:
            fresh = max(0.0, (done - before) / passed)
            weight = 1.0 if self._value is None else min(1.0, passed / SMOOTHING)
            self._value = fresh * weight + (self._value or 0.0) * (1 - weight)
            self._last = now, done
        return self._value


def line(progress: Progress, rate: float | None, left: float | None, *, bar: bool = False) -> str:
    """Write one report: phase, share, how much, rate and time left, as far as they are known."""
    parts = [f"{progress.phase:<10}"]
    share = None if not progress.total else min(1.0, progress.done / progress.total)
    if share is not None:
        filled = round(share * BAR)
        parts += [f"[{'#' * filled}{'.' * (BAR - filled)}]"] if bar else []
        parts.append(f"{int(share * 100):>3}%")
    if progress.total is None:
        parts.append(amount(progress.done, progress.unit))
    else:
        done = amount(progress.done, progress.unit) if progress.unit == "bytes" else f"{progress.done:,}"
        parts.append(f"{done} of {amount(progress.total, progress.unit)}")
    if rate and progress.unit not in ("files", "rounds"):
        parts.append(f"{amount(round(rate), progress.unit)}/s")
    if left is not None and progress.total is not None and progress.done < progress.total:
        parts.append(f"{duration(left)} left")
    return "  ".join(parts)


def amount(number: int, unit: str) -> str:
    """Write a number with its unit."""
    if unit != "bytes":
        return f"{number:,} {unit}"
    for size, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= size:
            return f"{number / size:.1f} {name}"
    return f"{number} B"


def duration(seconds: float) -> str:
    """Write seconds as ``9 s``, ``2:05`` or ``1:02:05``."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
