"""The turns of the event loop: how long it has worked since it last looked at its connections."""

from __future__ import annotations

import asyncio
from time import monotonic

TURN_SECONDS = 0.005
"""After so long what is not small waits for the next turn, so that small requests on other connections come first."""


class Turn:
    """The present turn; asked before each piece of work, it sees the time that those before it took."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop whose turn it is; ``None`` between two turns."""
        self._began = 0.0

    def is_over(self) -> bool:
        """Tell whether the loop has worked long; the first to ask in a turn begins it."""
        now, loop = monotonic(), asyncio.get_running_loop()
        # A loop that was stopped in its turn never ends that.
        if self._loop is not loop:
            self._loop, self._began = loop, now
            loop.call_soon(self._end)
            return False
        return now - self._began > TURN_SECONDS

    def _end(self) -> None:
        self._loop = None
