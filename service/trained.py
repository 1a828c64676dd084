"""Where trained tokenizers are."""

from __future__ import annotations

from pathlib import Path

from service.settings import Settings


def trained_directory(settings: Settings) -> Path:
    """Return the directory that jobs publish into: the setting, or that of the first artifact."""
    return Path(settings.trained) if settings.trained is not None else Path(settings.artifacts[0]).absolute().parent
