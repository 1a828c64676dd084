"""The files beside a tokenizer's: which are read, whether the directory or the tokenizer's file is named."""

from __future__ import annotations

import os
from pathlib import Path

from tokenizer_core.arguments import holds_surrogate
from tokenizer_core.errors import InvalidArtifact
from tokenizer_core.formats import files
from tokenizer_core.formats.hf_configs import GENERATION, MODEL_CONFIG
from tokenizer_core.formats.hf_roles import ADDED, CONFIG, TOKENS_MAP

TEMPLATE = "chat_template.jinja"
PROCESSOR_TEMPLATE = "chat_template.json"
"""The template of a model's processor: the tokenizer's, where that has none."""

_NAMES = (CONFIG, TOKENS_MAP, TEMPLATE, PROCESSOR_TEMPLATE, ADDED, GENERATION, MODEL_CONFIG)
_TEMPLATES = "additional_chat_templates"


def read_beside(directory: Path) -> dict[str, bytes]:
    """Read the files of a directory that go with its tokenizer, by name.

    Raises:
        InvalidArtifact
    """
    found = {}
    for name in names_beside(directory):
        if holds_surrogate(name):
            raise InvalidArtifact(
                f"the name of {name} is not UTF-8, and names its template; give the file another", field=name
            )
        found[name] = files.read(directory / name)
    config = files.parse_json(found.get(CONFIG, b"{}"), CONFIG)
    if TEMPLATE in found or (isinstance(config, dict) and config.get("chat_template") is not None):
        found.pop(PROCESSOR_TEMPLATE, None)
    return found


def names_beside(directory: Path) -> list[str]:
    """Return the names of the files that are there."""
    named = sorted(f"{_TEMPLATES}/{file.name}" for file in (directory / _TEMPLATES).glob("*.jinja"))
    return named + [name for name in _NAMES if os.path.lexists(directory / name)]
