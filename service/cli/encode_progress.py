"""The progress of ``encode-corpus``: the bar of all commands, with documents and tokens."""

from __future__ import annotations

import time

from service.cli.progress import Bar
from service.cli.streams import counted
from tokenizer_core import EncodingProgress, Progress


class EncodeBar:
    """Shows how far a corpus is encoded."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._bar = None if quiet else Bar()
        self._since = time.monotonic()

    def __call__(self, progress: EncodingProgress) -> None:
        """Take one report."""
        if self._bar is None:
            return
        seconds = time.monotonic() - self._since
        rate = f"  {round(progress.tokens / seconds):,} tokens/s" if seconds > 1 else ""
        detail = f"{counted(progress.documents, 'document')}  {counted(progress.tokens, 'token')}{rate}"
        self._bar(Progress("encoding", progress.done, progress.total, "bytes"), detail)

    def clear(self) -> None:
        """Take the line away, so that others can be written."""
        if self._bar is not None:
            self._bar.clear()
