"""Run the service under uvicorn: one process or several, on a port or a unix socket."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import uvicorn
from fastapi import FastAPI

from service.app import create_app
from service.metrics import DIRECTORY_VARIABLE
from service.registry import Registry
from service.settings import Settings

KEEP_ALIVE_SECONDS = 30
SHUTDOWN_SECONDS = 30


def run(settings: Settings) -> None:
    """Serve until a signal ends it.

    Errors:
        InvalidSetting, and those of ``Tokenizer.open``, before any socket is opened.
    """
    if settings.workers == 1:
        uvicorn.run(create_app(settings), **_options(settings))
        return
    # Every process verifies the artifacts for itself; this one does it first, so that an error is told once.
    Registry.open(settings.artifacts, settings.default_tokenizer)
    os.environ.update(settings.environment())
    with tempfile.TemporaryDirectory(prefix="tokd-metrics-") as directory:
        os.environ[DIRECTORY_VARIABLE] = directory
        uvicorn.run(f"{__name__}:create_worker", factory=True, workers=settings.workers, **_options(settings))


def create_worker() -> FastAPI:
    """Build the application of one of several processes, from the environment that ``run`` gave it."""
    return create_app(Settings.load())


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "uds": settings.uds,
        "http": "httptools",
        "loop": "uvloop",
        "ws": "none",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": SHUTDOWN_SECONDS,
    }
