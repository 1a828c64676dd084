"""Open one contender in this fresh process and encode one text: time and memory.

Nothing is imported here that the contender may not need, and the text is read after opening.
"""

from __future__ import annotations

import hashlib
import time
from array import array
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.openers import OPENINGS, Files


def work(name: str, vocabulary: str, vocabs: str, converted: str, path: str, size: str) -> dict[str, Any]:
    """Measure one contender."""
    contender, files = OPENINGS[name], Files(Path(vocabs), Path(converted))
    started = time.perf_counter()
    import_module(contender.module)
    imported = time.perf_counter()
    encoder = contender.open(vocabulary, files)
    opened = time.perf_counter()
    encoder.encode("a")  # Some leave half of the work to the first call, and tokd the import of numpy.
    ready = time.perf_counter()
    peak = machine.memory()
    with Path(path).open("rb") as file:
        text = file.read(int(size)).decode("utf-8", errors="ignore")
    answer = encoder.encode(text)
    encoded_peak = machine.memory()
    ids = array("I", encoder.ids_of(answer))
    return {
        "version": metadata.version(contender.package) if contender.package else None,
        "proof": hashlib.sha256(ids.tobytes()).hexdigest(),
        "figures": {
            "import": (imported - started) * 1e3,
            "open": (opened - imported) * 1e3,
            "first ids": (ready - opened) * 1e3,
            "start-up": (ready - started) * 1e3,
            "memory opened": peak,
            "memory after 2 MB": encoded_peak,
        },
    }
