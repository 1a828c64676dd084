"""The places that the settings name: the directory of tokenizers, and those of jobs within it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from service.settings import BESIDE_BASE, Settings

_log = logging.getLogger("tokd")


def tokenizers_directory(settings: Settings) -> Path:
    """Return the directory as an absolute path: that of the setting, or that of the first artifact."""
    given = settings.tokenizers or settings.trained
    path = Path(settings.artifacts[0]).absolute().parent if given is None else Path(given)
    # Links before `..` decide its target. Other links are kept: on a worker's host they may lead elsewhere.
    return Path(os.path.realpath(path)) if ".." in path.parts else path.absolute()


def warn_of_old_settings(settings: Settings) -> None:
    """Log which settings in use the next release does not know."""
    old = {"watch": settings.watch is not None, "trained": settings.trained not in (None, BESIDE_BASE)}
    if any(old.values()):
        _log.warning("until the next release only: %s; set tokenizers instead", ", ".join(filter(old.get, old)))


def jobs_directory(settings: Settings) -> Path:
    """Return the directory that holds the files of jobs: on one file system with what they publish."""
    return tokenizers_directory(settings) / ".jobs"


def encoded_directory(settings: Settings) -> Path:
    """Return the directory that holds what jobs encoded, each in a directory named by its job."""
    return tokenizers_directory(settings) / ".encoded"
