"""Answers as bytes: arrays and strings become JSON in blocks, which are never joined when there are many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import orjson

from service.registry.served import ServedTokenizer
from tokenizer_core import numbers_json

BLOCK_BYTES = 256 << 10
"""The most that is handed to a connection at once."""

SLICE = 1 << 14
"""Values that are written to JSON while no other thread can run: half a millisecond of spans, two of strings."""

Block = bytes | npt.NDArray[np.uint8]
"""Bytes of an answer; a long one from the kernel stays in the array that it lies in."""

Rows = Mapping[str, Iterable[Any]]
"""The fields of an answer, each with one entry a text. They are iterated once and in order, so large entries can be
made one at a time, when they are written."""

_on_bytes: ContextVar[Callable[[int], None] | None] = ContextVar("on_bytes", default=None)


@contextmanager
def bytes_reported_to(callback: Callable[[int], None]) -> Iterator[None]:
    """Call ``callback`` with the size of all that is made within; what it raises ends the work on the answer."""
    before = _on_bytes.set(callback)
    try:
        yield
    finally:
        _on_bytes.reset(before)


def report_bytes(size: int) -> None:
    """Report bytes that stay until the answer is written: ids and spans, twelve bytes an id, and rendered text."""
    callback = _on_bytes.get()
    if callback is not None:
        callback(size)


class Answer(NamedTuple):
    """An answer as bytes, with what the metrics count of it."""

    blocks: list[Block]
    tokens: int
    tokenizer: str
    media_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


class WrittenIds:
    """Ids that are JSON already."""

    __slots__ = ("_count", "json")

    def __init__(self, json: bytes, count: int) -> None:
        self.json, self._count = json, count

    def __len__(self) -> int:
        return self._count


class Writer(Protocol):
    """Writes fields that have one entry a text into an answer; ``write`` says what the arguments are."""

    def __call__(
        self,
        loaded: ServedTokenizer,
        text: str | list[str],
        rows: Rows,
        tokens: int,
        *,
        template: str | None = None,
    ) -> Answer: ...


class TokenStrings:
    """A string for every id, made a slice at a time: together those of a long text would take many times its bytes.

    Args:
        string_of: makes the string of an id.
    """

    def __init__(self, ids: npt.NDArray[np.uint32], string_of: Callable[[int], str]) -> None:
        self._ids, self._string_of = ids, string_of
        self._known: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, part: slice) -> list[str]:
        ids: list[int] = self._ids[part].tolist()
        known = self._known
        for id in set(ids).difference(known):
            known[id] = self._string_of(id)
        return [known[id] for id in ids]


def write(
    loaded: ServedTokenizer, text: str | list[str], rows: Rows, tokens: int, *, template: str | None = None
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
            blocks.add_json(next(iter(values)))
        else:
            blocks.add(b"[")
            for row, value in enumerate(values):
                if row:
                    blocks.add(b",")
                blocks.add_json(value)
            blocks.add(b"]")
    blocks.add(b"}")
    return Answer(blocks.finish(), tokens, loaded.hash, headers=loaded.headers)


class Blocks:
    """Gather many small pieces of an answer into few blocks."""

    def __init__(self) -> None:
        self._done: list[Block] = []
        # One buffer: many parts are of few bytes, and each as an object of its own can take a kilobyte.
        self._gathered = bytearray()
        self._on_bytes = _on_bytes.get()

    def add(self, part: Block) -> None:
        """Append bytes; many of them stay where they are."""
        if len(part) >= BLOCK_BYTES:
            self._close()
            self._append(part)
            return
        self._gathered += part if isinstance(part, bytes) else part.data
        if len(self._gathered) >= BLOCK_BYTES:
            self._close()

    def add_json(self, value: Any) -> None:
        """Append a JSON value; a long array or list in slices, between which other threads can run."""
        if isinstance(value, WrittenIds):
            self.add(value.json)
            return
        if value is None or isinstance(value, (int, float, str, dict)):
            self.add(orjson.dumps(value))
            return
        if len(value) <= SLICE:
            self.add(_json(value[:]))
            return
        for start in range(0, len(value), SLICE):
            self.add(b"," if start else b"[")
            self.add(_json(value[start : start + SLICE])[1:-1])
        self.add(b"]")

    def finish(self) -> list[Block]:
        """Return the blocks."""
        self._close()
        return self._done

    def _close(self) -> None:
        if self._gathered:
            self._append(bytes(self._gathered))
            self._gathered = bytearray()

    def _append(self, block: Block) -> None:
        self._done.append(block)
        if self._on_bytes is not None:
            self._on_bytes(len(block))


def _json(values: Any) -> bytes:
    """Write a list or an array; most arrays are written faster by the kernel."""
    written = numbers_json(values) if isinstance(values, np.ndarray) else None
    return orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY) if written is None else written
