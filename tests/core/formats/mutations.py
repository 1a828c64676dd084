"""Damage the files of a tokenizer at random: a reader answers with a coded error or with a tokenizer that works."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tokenizer_core import TokdError, Tokenizer

HOSTILE: list[Any] = [
    None,
    True,
    -1,
    0,
    1 << 31,
    1 << 63,
    10**30,
    1.5,
    1e308,
    "",
    "\0",
    "x" * 5000,
    "é",
    [],
    {},
    [[]],
    {"": 0},
]


def damaged(data: bytes, source: random.Random) -> bytes:
    """Flip, remove, repeat, insert or cut off bytes somewhere."""
    at = source.randrange(len(data))
    end = min(len(data), at + source.choice((1, 1, 2, 8, 100)))
    match source.randrange(6):
        case 0:
            return data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :]
        case 1:
            return data[:at] + data[end:]
        case 2:
            return data[:end] + data[at:]
        case 3:
            return data[:at] + source.randbytes(end - at) + data[at:]
        case 4:
            return data[:at]
        case _:
            return data[:at] + source.choice((b"\xff", b"\0", b"\x7f")) * (end - at) + data[end:]


def damaged_json(document: Any, source: random.Random) -> Any:
    """Replace, remove or rename a value somewhere in a document."""
    document = copy.deepcopy(document)
    node, places = document, []
    while isinstance(node, dict | list) and node:
        key = source.choice(list(node)) if isinstance(node, dict) else source.randrange(len(node))
        places.append((node, key))
        node = node[key]
    parent, key = source.choice(places)
    match source.randrange(4):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[source.choice(("x", "type", "é"))] = parent.pop(key)
        case 2 if isinstance(parent, list):
            parent.insert(key, parent[key])
        case _:
            parent[key] = source.choice(HOSTILE)
    return document


def seeds(count: int) -> Iterator[random.Random]:
    """Yield sources of random numbers, whose seed an assertion can name."""
    return (random.Random(seed) for seed in range(count))


def outcome(work: Callable[[], Any]) -> Any:
    """Return what the work returns, or the error with a code that it raises; any other is one of the test."""
    try:
        return work()
    except TokdError as error:
        return error


def survives(load: Callable[[Path], Tokenizer], path: Path, content: bytes) -> None:
    """Load the content: it is refused with a code, or what was loaded decodes what it encodes."""
    path.write_bytes(content)
    loaded = outcome(lambda: load(path))
    if isinstance(loaded, TokdError):
        assert loaded.code not in ("", "internal")
        return
    ids = outcome(lambda: loaded.encode("hello the é\n", special_tokens="text"))
    if isinstance(ids, TokdError):
        assert ids.code in ("uncovered_text", "step_limit")
    else:
        assert isinstance(loaded.decode(ids), str)
