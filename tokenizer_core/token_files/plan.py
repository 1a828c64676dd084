"""Divide a corpus into tasks, which runs take one by one, and tasks into parts, of which each becomes a shard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tokenizer_core.corpus.documents import Block, documents, lines_between
from tokenizer_core.corpus.examples import rows_as_json
from tokenizer_core.corpus.reading import Meter, Source, can_seek, failures, is_packed
from tokenizer_core.errors import InvalidCorpus
from tokenizer_core.examples import CHAT_FIELDS
from tokenizer_core.token_files.recipe import Recipe

_PACKED = 4
"""Assumed ratio of unpacked to packed size."""


@dataclass(frozen=True, slots=True)
class Task:
    """The work of one run alone: some whole files, or some lines of a large one, or a large file that is read in order.

    Attributes:
        key: hash of the settings and of what tells whether the files have changed.
        number: its place in the corpus.
        stop: of lines, with ``start``; ``None`` for whole files.
        is_chain: whether it has more than one part: the file can only be read from its beginning.
    """

    key: str
    number: int
    sources: tuple[Source, ...]
    stamps: tuple[object, ...]
    start: int = 0
    stop: int | None = None
    is_chain: bool = False

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        if self.stop is not None:
            return self.stop - self.start
        return sum(source.size or 0 for source in self.sources)


def tasks(found: Sequence[Source], recipe: Recipe) -> list[Task]:
    """Divide files, in the order given, into tasks of about ``shard_bytes`` unpacked bytes."""
    planned: list[Task] = []
    group: list[Source] = []
    weight, most = 0, recipe.shard_bytes

    def add(sources: Sequence[Source], start: int = 0, stop: int | None = None, *, is_chain: bool = False) -> None:
        stamps = []
        for source in sources:
            with failures(source):
                stamps.append(source.stamp())
        named = [[source.name, source.format, repr(stamp)] for source, stamp in zip(sources, stamps, strict=True)]
        key = recipe.key(named, start, stop, is_chain)
        planned.append(Task(key, len(planned), tuple(sources), tuple(stamps), start, stop, is_chain))

    for source in found:
        size = source.size or 0
        packed = is_packed(source)
        unpacked = size * _PACKED if packed else size
        if group and weight + unpacked > most:
            add(group)
            group, weight = [], 0
        if source.format != "text" and unpacked > most:
            if source.format == "parquet" or packed or not can_seek(source):
                add([source], is_chain=True)
            else:
                for start in range(0, size, most):
                    add([source], start, min(start + most, size))
            continue
        group.append(source)
        weight += unpacked
    if group:
        add(group)
    return planned


def parts(task: Task, recipe: Recipe, meter: Meter) -> Iterator[tuple[int, Block]]:
    """Read the documents of a task, each block with the number of its part."""
    if task.stop is not None:
        (source,) = task.sources
        for block in lines_between(source, task.start, task.stop, meter):
            yield 0, block
    elif task.is_chain:
        (source,) = task.sources
        yield from _chained(_documents(source, recipe, meter), recipe.shard_bytes)
    else:
        for source in task.sources:
            for block in _documents(source, recipe, meter):
                yield 0, block


def _documents(source: Source, recipe: Recipe, meter: Meter) -> Iterator[Block]:
    if recipe.chats is None or source.format == "jsonl":
        return documents(source, recipe.files, meter)
    if source.format == "parquet":
        return rows_as_json(source, recipe.chats.field, CHAT_FIELDS, meter)
    message = f"{source.name} is no file of chats; name files of JSON lines or Parquet"
    raise InvalidCorpus(message, file=source.name, field="corpus")


def _chained(blocks: Iterator[Block], most: int) -> Iterator[tuple[int, Block]]:
    """Number the parts of a file: a part ends with the line or the texts with which it has ``most`` bytes."""
    part = size = 0
    for block in blocks:
        for piece in _cut(block, most - size, most):
            if size >= most:
                part, size = part + 1, 0
            yield part, piece
            size += piece.size


def _cut(block: Block, left: int, most: int) -> Iterator[Block]:
    """Cut lines after the one that reaches ``left`` bytes, and then after every ``most`` bytes; texts are not cut."""
    data, start, before = block.content, block.start, block.lines_before
    if not isinstance(data, bytes):
        yield block
        return
    left = most if left <= 0 else left
    while len(data) > left and (end := data.find(b"\n", left - 1) + 1) and end < len(data):
        yield Block(block.source, data[:end], start, before)
        start += end
        before = None if before is None else before + data.count(b"\n", 0, end)
        data, left = data[end:], most
    yield Block(block.source, data, start, before)
