"""The form of all lines that a server writes: JSON, as programs read it, or plain text on a terminal."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any


def configure_logging() -> None:
    """Write the log of this process to standard error, unless somebody configured it."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s") if sys.stderr.isatty() else _JsonLines())
    logging.basicConfig(handlers=[handler])
    for name in ("tokd", "uvicorn"):
        logging.getLogger(name).setLevel(logging.INFO)


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
