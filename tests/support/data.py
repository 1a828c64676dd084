"""Find the real vocabularies, corpora and vectors, which lie beside the project and are never part of it."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.paths import ROOT

_VARIABLE = "TOKD_TEST_DATA"
_BESIDE_THE_PROJECT = ROOT.parent / "shared" / "data"
DATA = Path(os.environ.get(_VARIABLE, _BESIDE_THE_PROJECT))
PRESENT = DATA.is_dir()

ABSENT = f"no data folder at {DATA}; set {_VARIABLE} to one"

needs_data = pytest.mark.real_data
"""Marks a test or a module that reads real vocabularies, corpora or vectors."""

CORPORA = ("english", "code", "ja", "zh", "ru", "eu")


def shared(path: str) -> Path:
    """Return the file or folder at ``path`` in the data folder; skip the test when there is no data folder.

    A folder that was named by the environment, or a single file that is missing, is an error: data that was promised
    and is not there must not turn tests off.
    """
    if not PRESENT and _VARIABLE not in os.environ:
        pytest.skip(ABSENT)
    found = DATA / path
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing")
    return found


@cache
def corpus(name: str) -> str:
    """Return the text of one of ``CORPORA``, with its line ends as they are."""
    return shared(f"corpora/{name}.txt").read_bytes().decode("utf-8")


@cache
def vectors() -> tuple[dict[str, Any], ...]:
    """Return every case of ``vectors.jsonl``."""
    lines = shared("vectors/vectors.jsonl").read_text("utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


def expand(value: Any) -> Any:
    """Build the input of a vector from its ``repeat`` and ``concat`` forms."""
    if isinstance(value, dict) and set(value) == {"repeat"}:
        unit, times = value["repeat"]
        return unit * times if isinstance(unit, str) else [unit] * times
    if isinstance(value, dict) and set(value) == {"concat"}:
        return "".join(expand(part) for part in value["concat"])
    return value


def ids_sha256(ids: Any) -> str:
    """Hash ids as little-endian uint32, as the vectors do."""
    return hashlib.sha256(np.asarray(ids, dtype="<u4").tobytes()).hexdigest()
