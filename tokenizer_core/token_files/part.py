"""Encode the documents of one part: blocks on several threads at once, written in the order of the corpus."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from tokenizer_core._kernel import DocumentEncoder
from tokenizer_core.corpus.documents import Block, lines_before
from tokenizer_core.errors import InvalidCorpus, TokdError
from tokenizer_core.token_files.chats import ChatEncoder
from tokenizer_core.token_files.layouts.layout import Batch, Lengths, Sink
from tokenizer_core.token_files.recipe import Recipe

_COST = 8
"""Bytes of memory for one of text in flight: its line, its ids, and what they are made of."""

_NO_JSON = re.compile(
    r"line \d+, column (\d+): "
    r"((?:expected|EOF|invalid|trailing|key must|control|number out|lone|unexpected|recursion) .*)"
)
"""The words of the kernel's parser for what is not JSON."""

_KEPT = 10
"""Documents left out that are listed."""


class Encoded(NamedTuple):
    """The ids of a block's documents, their lengths, what was left out, and of chats which ids are trained on."""

    ids: bytes
    lengths: Lengths
    skipped: int
    first: list[tuple[int, str]]
    trained: bytes = b""


@dataclass(slots=True)
class Skipped:
    """Documents that were left out."""

    count: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)

    def add(self, count: int, first: Iterable[dict[str, Any]]) -> None:
        """Note some."""
        self.count += count
        self.first = [*self.first, *first][:_KEPT]


@dataclass(slots=True)
class Totals:
    """The content of a part, in numbers.

    Attributes:
        trained: tokens of chats that are trained on.
        sources: for each file: its name, the first byte or row, what was read, and the hash of that.
    """

    documents: int = 0
    tokens: int = 0
    trained: int = 0
    skipped: Skipped = field(default_factory=Skipped)
    sources: list[dict[str, Any]] = field(default_factory=list)


class PartEncoder:
    """Encodes parts over threads; bytes do not depend on how many.

    Args:
        memory: bytes of blocks that are encoded or wait for it at the same time, but for one.
    """

    def __init__(
        self,
        encoder: DocumentEncoder | ChatEncoder,
        recipe: Recipe,
        pool: ThreadPoolExecutor,
        threads: int,
        memory: int,
    ):
        self._encoder, self._recipe, self._pool = encoder, recipe, pool
        self._most_blocks = 2 * threads + 2
        self._memory = memory

    def encode(
        self, blocks: Iterable[Block], sink: Sink, names: list[str], report: Callable[[int, int], None]
    ) -> Totals:
        """Encode blocks into a sink.

        Args:
            names: gets the names of the files that the documents are from, to which ``Batch.origins`` point.
            report: called with the documents and tokens of every block.

        Raises:
            InvalidCorpus: with the file, and the line or row.
        """
        totals = Totals()
        with ThreadPoolExecutor(1, "hash") as hasher:
            reading = _Reading(names, hasher)
            self._write(reading, blocks, sink, totals, report)
            sink.finish()
            totals.sources = reading.described()
        return totals

    def _write(
        self,
        reading: _Reading,
        blocks: Iterable[Block],
        sink: Sink,
        totals: Totals,
        report: Callable[[int, int], None],
    ) -> None:
        origin_of: dict[int, int] = {}
        for block, source, (ids, lengths, skipped, first, trained) in self._encoded(reading.of(blocks)):
            tokens = int(lengths.sum())
            longest = self._recipe.layout.longest(self._recipe.shape)
            if len(lengths) and int(lengths.max()) > longest:
                name = block.source.name
                message = (
                    f"{name}: a document has {int(lengths.max())} tokens; {self._recipe.layout_name} takes {longest}"
                )
                raise InvalidCorpus(message, file=name)
            if skipped:
                totals.skipped.add(skipped, self._places(block, first))
            start = origin_of.get(source, 0)
            origin_of[source] = start + len(lengths)
            numbers = np.arange(start, start + len(lengths), dtype=np.int64)
            sink.take(Batch(ids, lengths, np.column_stack([np.full_like(numbers, source), numbers]), trained))
            totals.documents += len(lengths)
            totals.tokens += tokens
            totals.trained += trained.count(1)
            report(len(lengths), tokens)

    def _encoded(self, blocks: Iterator[tuple[Block, int]]) -> Iterator[tuple[Block, int, Encoded]]:
        waiting: deque[tuple[Block, int, Future[Encoded]]] = deque()
        cost = 0
        try:
            for block, source in blocks:
                size = block.size * _COST
                while waiting and (len(waiting) >= self._most_blocks or cost + size > self._memory):
                    first = waiting.popleft()
                    cost -= first[0].size * _COST
                    yield *first[:2], self._outcome(*first[::2])
                waiting.append((block, source, self._pool.submit(self._encode, block)))
                cost += size
            while waiting:
                first = waiting.popleft()
                yield *first[:2], self._outcome(*first[::2])
        finally:
            for _, _, future in waiting:
                future.cancel()

    def _encode(self, block: Block) -> Encoded:
        if isinstance(block.content, bytes):
            first = (block.lines_before or 0) + 1
            field = self._recipe.files.field
            return Encoded(*self._encoder.encode_lines(block.content, field, first_line=first, first_byte=block.start))
        return Encoded(*self._encoder.encode_texts(block.content))

    def _outcome(self, block: Block, future: Future[Encoded]) -> Encoded:
        try:
            encoded = future.result()
            if encoded[2] and block.lines_before is None and block.start > 0:
                # The lines left out are named by their numbers in the file.
                return self._encode(self._counted(block))
        except TokdError as failure:
            error = failure
            if block.lines_before is None and isinstance(block.content, bytes):
                block = self._counted(block)
                try:
                    self._encode(block)
                except TokdError as counted:
                    error = counted
            raise _named(error, block) from failure
        return encoded

    @staticmethod
    def _counted(block: Block) -> Block:
        return Block(block.source, block.content, block.start, lines_before(block.source, block.start))

    @staticmethod
    def _places(block: Block, first: list[tuple[int, str]]) -> Iterator[dict[str, Any]]:
        unit, before = ("line", 0) if isinstance(block.content, bytes) else ("row", max(block.start, 0))
        for number, reason in first:
            yield {"file": block.source.name, unit: number + before, "reason": _without_line(reason, number)[:300]}


def _without_line(message: str, line: int) -> str:
    """Leave out the line with which some of the kernel's messages begin, and say of a parser's words what they mean."""
    if found := _NO_JSON.fullmatch(message):
        return f"not JSON: {found[2]} at column {found[1]}"
    return message.partition(": ")[2] if message.startswith(f"line {line},") else message


def _named(error: TokdError, block: Block) -> TokdError:
    """Say which document of which file it is that cannot be encoded."""
    name, row = block.source.name, error.place.get("row")
    if row is None:
        return error
    place: dict[str, Any] = {"file": name}
    is_lines = isinstance(block.content, bytes)
    said = _without_line(error.message, row) if is_lines and error.code == "invalid_corpus" else error.message
    message, _, way_out = said.partition("; ")
    if not way_out or "replace_invalid" in way_out:
        # That option is of training.
        way_out = 'mend it, or have such documents left out with on_error="skip"'
    message = f"{message}; {way_out}"
    if is_lines:
        place["line"] = row
        where = f"line {row} of {name}"
    elif block.start < 0:
        where = name
    else:
        place["row"] = row + block.start
        where = f"row {row + block.start} of {name}"
    names = {"index": "byte", "byte": "byte", "field": "field"}
    place |= {name: error.place[key] for key, name in names.items() if key in error.place}
    return InvalidCorpus(f"{where}: {message}", code=error.code, **place)


class _Reading:
    """Hashes what is read of every file, in a thread of its own: it takes half as long as the rest of the reading."""

    def __init__(self, names: list[str], hasher: ThreadPoolExecutor) -> None:
        self._names, self._hasher = names, hasher
        self._last: Future[None] | None = None
        self._digests: list[tuple[dict[str, Any], Any]] = []

    def of(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, int]]:
        last = None
        for block in blocks:
            # A file that is named twice comes twice.
            if block.source is not last:
                last = block.source
                self._names.append(last.name)
                self._digests.append(({"name": last.name, "first": max(block.start, 0), "read": 0}, hashlib.sha256()))
            facts, digest = self._digests[-1]
            if isinstance(block.content, bytes):
                # One block at a time, so that no more are held.
                if self._last is not None:
                    self._last.result()
                self._last = self._hasher.submit(digest.update, block.content)
                facts["read"] += len(block.content)
            else:
                for text in block.content:
                    data = text.encode()
                    if block.start >= 0:
                        digest.update(len(data).to_bytes(8, "little"))
                    digest.update(data)
                facts["read"] += len(block.content) if block.start >= 0 else len(data)
            yield block, len(self._digests) - 1

    def described(self) -> list[dict[str, Any]]:
        if self._last is not None:
            self._last.result()
        return [facts | {"sha256": digest.hexdigest()} for facts, digest in self._digests]
