"""The form of all lines that a server writes: JSON, as programs read it, or plain text on a terminal."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any


def configure_logging(*, is_plain: bool | None = None) -> None:
    """Write the log of this process to standard error, unless somebody configured it.

    Args:
        is_plain: by default as the stream is a terminal.
    """
    handler = logging.StreamHandler()
    is_plain = sys.stderr.isatty() if is_plain is None else is_plain
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s") if is_plain else _JsonLines())
    logging.basicConfig(handlers=[handler])
    for name in ("tokd", "uvicorn"):
        logging.getLogger(name).setLevel(logging.INFO)


def is_log_plain() -> bool:
    """Tell the form of this process's log, which those that it starts share a stream with."""
    return not any(isinstance(each.formatter, _JsonLines) for each in logging.root.handlers)


def json_line(at: float, fields: dict[str, Any]) -> str:
    """Write one line; ``at`` is in seconds since the epoch."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    return json.dumps({"time": f"{whole}.{int(at % 1 * 1000):03d}Z", **fields}, separators=(",", ":"))


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {"level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        # Not when it was made: a line may be held back until it is true.
        return json_line(time.time(), fields)
