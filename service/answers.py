"""Answers as ready bytes: arrays and strings become JSON here, in blocks that are never joined when there are many."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import orjson

from service.registry import Loaded

BLOCK_BYTES = 256 << 10
"""What is handed to a connection in one go."""

SLICE = 1 << 16
"""Values that are written to JSON while no other thread can run: a millisecond or less."""


Block = bytes | npt.NDArray[np.uint8]
"""Bytes of an answer; a long one from the kernel stays in the array that it lies in."""


class Answer(NamedTuple):
    """Ready bytes, and what the metrics count."""

    blocks: list[Block]
    tokens: int
    tokenizer: str
    media_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Writer(Protocol):
    """Writes fields that have one entry a text into an answer; ``write`` says what the arguments are."""

    def __call__(
        self,
        loaded: Loaded,
        text: str | list[str],
        rows: dict[str, list[Any]],
        tokens: int,
        *,
        template: str | None = None,
    ) -> Answer: ...


def write(
    loaded: Loaded, text: str | list[str], rows: dict[str, list[Any]], tokens: int, *, template: str | None = None
) -> Answer:
    """Write fields that have one entry a text; for a single text the entry stands alone.

    Args:
        template: the hash of the chat template, which every answer about chats names beside the tokenizer's.
    """
    blocks = Blocks()
    head = loaded.head if template is None else loaded.head + b'"template":%b,' % orjson.dumps(template)
    # The head ends in a comma, which an answer without fields must lose.
    blocks.add(head if rows else head[:-1])
    for index, (name, values) in enumerate(rows.items()):
        blocks.add(b'%b"%b":' % (b"," if index else b"", name.encode("ascii")))
        if isinstance(text, str):
            blocks.add_json(values[0])
        else:
            blocks.add(b"[")
            for row, value in enumerate(values):
                if row:
                    blocks.add(b",")
                blocks.add_json(value)
            blocks.add(b"]")
    blocks.add(b"}")
    return Answer(blocks.finish(), tokens, loaded.hash)


class Blocks:
    """Gather many small pieces of an answer into few blocks."""

    def __init__(self) -> None:
        self._done: list[Block] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        """Append bytes."""
        self._parts.append(part)
        self._size += len(part)
        if self._size >= BLOCK_BYTES:
            self._done.append(b"".join(self._parts))
            self._parts, self._size = [], 0

    def add_json(self, value: Any) -> None:
        """Append a JSON value; a long array or list in slices, between which other threads can run."""
        if value is None or isinstance(value, (int, str)) or len(value) <= SLICE:
            self.add(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))
            return
        for start in range(0, len(value), SLICE):
            self.add(b"," if start else b"[")
            self.add(orjson.dumps(value[start : start + SLICE], option=orjson.OPT_SERIALIZE_NUMPY)[1:-1])
        self.add(b"]")

    def finish(self) -> list[Block]:
        """Return the blocks."""
        if self._parts:
            self._done.append(b"".join(self._parts))
        return self._done
