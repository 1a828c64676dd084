"""Count the pieces of a corpus, and keep the counts in a file.

A counts file is text: a line of JSON that says how the counts were made, then a line for each piece: its count, a tab,
and the piece as a JSON string. The first line may be missing, so that anything that can count can write such a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import zstandard

from tokenizer_core._kernel import Counter, PieceCounts
from tokenizer_core.config import PipelineConfig
from tokenizer_core.corpus import Corpus, Files, Meter, Source, batches, blocks, files_of, lines, rows, sources
from tokenizer_core.errors import CorpusError, EmptyCorpus, InvalidCorpus, InvalidUnicode, TokdError

Item = TypeVar("Item")

HEADER = "tokd counts 1"

INTERVAL = 0.1
"""Seconds between two reports of progress."""

_LINES = 1 << 14
"""Pieces written at a time."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training run has come.

    Attributes:
        phase: what is being done.
        done: bytes of the files that were read, or merges made.
        total: bytes of all files, or merges wanted; ``None`` when nobody knows.
        bytes_counted: of text, unpacked.
    """

    phase: Literal["counting", "merging"]
    done: int
    total: int | None
    bytes_counted: int


Report = Callable[[Progress], object]
"""Called about ten times a second; what it raises, such as ``Cancelled``, ends the run."""


@dataclass(frozen=True)
class Counts:
    """The distinct pieces of a corpus and how often each occurs.

    Attributes:
        config: the pipeline that cut them, as canonical JSON.
        special_tokens: the literals that were left out.
        max_piece_length: in bytes; longer pieces were left out.
    """

    pieces: PieceCounts
    config: str
    special_tokens: tuple[str, ...]
    max_piece_length: int | None = None

    @cached_property
    def hash(self) -> str:
        """``sha256:`` over every piece and its count: equal for equal corpora, whatever their files and their order."""
        digest = hashlib.sha256()
        for part in self._lines():
            digest.update(part)
        return f"sha256:{digest.hexdigest()}"

    def save(self, path: str | Path) -> None:
        """Write a counts file, packed if its name ends in ``.zst``; it appears whole or not at all."""
        path = Path(path)
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            with fresh.open("xb") as file:
                if path.suffix == ".zst":
                    with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as packed:
                        packed.write(self._header())
                        for part in self._lines():
                            packed.write(part)
                else:
                    file.write(self._header())
                    file.writelines(self._lines())
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise

    def _header(self) -> bytes:
        header = {
            "format": HEADER,
            "config": json.loads(self.config),
            "special_tokens": list(self.special_tokens),
            "documents": self.pieces.documents,
            "bytes": self.pieces.bytes,
        }
        return json.dumps(header, ensure_ascii=False, sort_keys=True).encode() + b"\n"

    def _lines(self) -> Iterator[bytes]:
        return (self.pieces.lines(start, start + _LINES) for start in range(0, len(self.pieces), _LINES))


def count(
    corpus: Corpus,
    config: PipelineConfig,
    special_tokens: Sequence[str] = (),
    *,
    replace_invalid: bool = False,
    max_piece_length: int | None = None,
    threads: int = 0,
    progress: Report | None = None,
) -> Counts:
    """Count the pieces of a corpus; the result depends on nothing but its documents.

    Args:
        config: its normalizer and its pretokenizer cut the pieces.
        special_tokens: literals that end a document and are not counted.
        replace_invalid: U+FFFD stands for bytes that are not UTF-8, rather than an error.
        max_piece_length: pieces with more bytes are left out.
        threads: 0 means one a core.

    Raises:
        CorpusError: with the file and the byte, line or row.
    """
    files = files_of(corpus)
    found = [] if files is None else sources(files)
    total = sum(source.size for source in found if source.size is not None) if found else None
    run = _Run(Counter(config.to_json(), tuple(special_tokens), replace_invalid, threads), total, progress)
    header = {"config": json.loads(config.to_json()), "special_tokens": list(special_tokens)}
    try:
        if files is None:
            run.take_documents(corpus)  # type: ignore[arg-type]
        for number, source in enumerate(found):
            if run.counter.has_failed:
                break
            run.counter.begin_source(number)
            run.take(source, files, header)  # type: ignore[arg-type]
        pieces = run.counter.finish(max_piece_length)
    except TokdError as error:
        raise _named(error, found) from error
    if len(pieces) == 0:
        raise EmptyCorpus("there is no text in the corpus", field="corpus")
    if progress is not None:
        progress(Progress("counting", run.meter.bytes if total is None else total, total, pieces.bytes))
    return Counts(pieces, config.to_json(), tuple(special_tokens), max_piece_length)


class _Run:
    """Feeds a counter, and tells how far it is."""

    def __init__(self, counter: Counter, total: int | None, progress: Report | None) -> None:
        self.counter = counter
        self.meter = Meter()
        self._total = total
        self._progress = progress
        self._next = time.monotonic() + INTERVAL

    def report(self) -> None:
        now = time.monotonic()
        if self._progress is None or now < self._next:
            return
        self._next = now + INTERVAL
        done = self.meter.bytes if self._total is None else min(self.meter.bytes, self._total)
        self._progress(Progress("counting", done, self._total, self.counter.bytes_counted))

    def take_documents(self, documents: Iterable[str]) -> None:
        taken = 0
        for batch in batches(documents):
            try:
                self.counter.feed_documents(batch)
            except InvalidUnicode as error:
                row = taken + error.place.pop("row", 0)
                raise InvalidUnicode(f"document {row}: {error.message}", **error.place, document=row) from None
            taken += len(batch)
            self.report()
            if self.counter.has_failed:
                return

    def take(self, source: Source, files: Files, header: dict[str, Any]) -> None:
        match source.format:
            case "text":
                for block in self._while_well(blocks(source, self.meter)):
                    self.counter.feed(block)
                self.counter.end_document()
            case "jsonl":
                for block in self._while_well(blocks(source, self.meter)):
                    self.counter.feed_lines(block, files.field)
                self.counter.end_lines()
            case "parquet":
                for batch in self._while_well(rows(source, files.column)):
                    self.counter.feed_documents(batch)
                self.meter.bytes += source.size or 0
            case "counts":
                line = 1
                for block in self._while_well(lines(source, self.meter)):
                    if line == 1 and block.startswith(b"{"):
                        first, _, rest = block.partition(b"\n")
                        _check_header(source.name, first, header)
                        self.counter.add_counts(rest, 2)
                    else:
                        self.counter.add_counts(block, line)
                    line += block.count(b"\n")

    def _while_well(self, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            yield item
            self.report()
            if self.counter.has_failed:
                return


def _check_header(name: str, line: bytes, expected: dict[str, Any]) -> None:
    """Refuse counts that were made by other rules than those asked for."""
    try:
        header = json.loads(line)
    except ValueError as error:
        raise InvalidCorpus(f"line 1 of {name} is no JSON: {error}", file=name, line=1) from None
    if header.get("format") != HEADER:
        raise InvalidCorpus(f"line 1 of {name} does not name the format {HEADER!r}", file=name, line=1)
    for key, value in expected.items():
        if header.get(key) != value:
            other = json.dumps(header.get(key))[:200]
            message = f"{name} was counted with another {key}, {other}; count again, or ask for that"
            raise InvalidCorpus(message, file=name, field=key)


def _named(error: TokdError, found: Sequence[Source]) -> TokdError:
    """Put the name of the file into an error of the counter, whose place is its number."""
    place = dict(error.place)
    row = place.pop("row", None)
    if not isinstance(error, CorpusError) or row is None or row >= len(found):
        return error
    if "index" in place:
        place["byte"] = place.pop("index")
    name = found[row].name
    return type(error)(f"{name}: {error.message}", code=error.code, file=name, **place)
