"""Count the pieces of a corpus, and keep the counts in a file.

A counts file is text: a line of JSON that says how the counts were made, then a line for each piece: its count, a tab,
and the piece as a JSON string. The first line may be missing, so that anything that can count can write such a file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

import zstandard

from tokenizer_core._kernel import Counter, PieceCounts
from tokenizer_core.arguments import place_of
from tokenizer_core.corpus.files import Corpus, Files, batches, files_of, sources
from tokenizer_core.corpus.reading import CorpusFormat, Meter, Source, blocks, lines, rows
from tokenizer_core.corpus.segments import Cut, Segments, after_a_line, between_words
from tokenizer_core.durable import replace
from tokenizer_core.errors import CorpusError, EmptyCorpus, InvalidCorpus, InvalidUnicode, TokdError
from tokenizer_core.training.progress import INTERVAL, Progress, Report, Watch

Item = TypeVar("Item")

HEADER = "tokd counts 1"

_LINES = 1 << 14
"""Pieces written at a time."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides how a corpus is counted.

    Attributes:
        config: the pipeline as canonical JSON; its normalizer and its pretokenizer cut the pieces.
        special_tokens: literals that end a document and are not counted.
        replace_invalid: U+FFFD stands for bytes that are not UTF-8, rather than an error.
        threads: 0 means one a core; they change no count.
    """

    config: str
    special_tokens: tuple[str, ...] = ()
    replace_invalid: bool = False
    threads: int = 0

    def header(self) -> dict[str, Any]:
        """Return what a counts file says of them."""
        return {"config": json.loads(self.config), "special_tokens": list(self.special_tokens)}


@dataclass(frozen=True)
class Counts:
    """The distinct pieces of a corpus and how often each occurs.

    Attributes:
        config: the pipeline that cut them, as canonical JSON.
        special_tokens: the literals that were left out.
        max_piece_length: in bytes; longer pieces were left out.
        documents, text_bytes: of the corpus.
        unpacked: bytes of its files, unpacked.
    """

    pieces: PieceCounts
    config: str
    special_tokens: tuple[str, ...]
    max_piece_length: int | None = None
    documents: int = 0
    text_bytes: int = 0
    unpacked: int = 0

    @cached_property
    def hash(self) -> str:
        """``sha256:`` over every piece and its count: equal for equal corpora, whatever their files and their order."""
        digest = hashlib.sha256()
        for part in self._lines():
            digest.update(part)
        return f"sha256:{digest.hexdigest()}"

    def save(self, path: str | Path, **more: Any) -> None:
        """Write a counts file, packed if its name ends in ``.zst``; it appears whole or not at all.

        Args:
            more: for its first line.
        """
        path = place_of(path)
        parts = chain((self._header(more),), self._lines())
        replace(path, _packed(parts) if path.suffix == ".zst" else parts)

    def summary(self) -> dict[str, Any]:
        """Say what was counted."""
        return {
            "hash": self.hash,
            "documents": self.documents,
            "bytes": self.text_bytes,
            "pieces": self.pieces.total,
            "distinct_pieces": len(self.pieces),
            "left_out": self.pieces.left_out,
        }

    def _header(self, more: dict[str, Any]) -> bytes:
        header = more | {
            "format": HEADER,
            "config": json.loads(self.config),
            "special_tokens": list(self.special_tokens),
            "documents": self.documents,
            "bytes": self.text_bytes,
            "unpacked": self.unpacked,
            "distinct_pieces": len(self.pieces),
        }
        return json.dumps(header, ensure_ascii=False, sort_keys=True).encode() + b"\n"

    def _lines(self) -> Iterator[bytes]:
        return (self.pieces.lines(start, start + _LINES) for start in range(0, len(self.pieces), _LINES))


def count(
    corpus: Corpus, rules: Rules, *, max_piece_length: int | None = None, progress: Report | None = None
) -> Counts:
    """Count the pieces of a corpus; the result depends on nothing but its documents.

    Args:
        max_piece_length: pieces with more bytes are left out.

    Raises:
        CorpusError: with the file and the byte, line or row.
    """
    files, watch = files_of(corpus), Watch(progress)
    if files is not None:
        counts = count_sources(sources(files), files, rules, watch, max_piece_length=max_piece_length)
    else:
        counts = _count_documents(cast("Iterable[str]", corpus), rules, watch, max_piece_length)
    require_pieces(counts)
    watch.now = dataclasses.replace(watch.now, done=watch.now.total or counts.text_bytes)
    watch.tell()
    return counts


def count_sources(
    found: Sequence[Source],
    files: Files,
    rules: Rules,
    watch: Watch,
    *,
    max_piece_length: int | None = None,
    meter: Meter | None = None,
    total: int | None = None,
) -> Counts:
    """Count the pieces of files.

    Args:
        meter: goes on from what was read before.
        total: bytes of all files; by default of these.
    """
    total = sum(source.size or 0 for source in found) if total is None else total
    counter = Counter(rules.config, rules.special_tokens, rules.replace_invalid, rules.threads)
    meter = Meter() if meter is None else meter
    run, before = _Run(counter, files, rules, meter, total, watch), meter.unpacked

    def feed() -> None:
        for number, source in enumerate(found):
            if counter.has_failed:
                break
            counter.begin_source(number)
            run.take(source)

    pieces = _finished(run, feed, found, max_piece_length)
    documents, size = pieces.documents + run.documents, pieces.bytes + run.text_bytes
    unpacked = meter.unpacked - before
    return Counts(pieces, rules.config, rules.special_tokens, max_piece_length, documents, size, unpacked)


def count_segment(
    source: Source, segments: Segments, size: int, files: Files, rules: Rules, watch: Watch, meter: Meter, total: int
) -> Counts:
    """Count the next segment of a file of text or lines."""
    counter = Counter(rules.config, rules.special_tokens, rules.replace_invalid, rules.threads)
    run, start = _Run(counter, files, rules, meter, total, watch), segments.position
    counter.begin_source(0, start, segments.lines)

    def feed() -> None:
        run.feed(source.format, segments.read(size))

    pieces = _finished(run, feed, [source], None)
    # A text is one document, which ends with its last segment.
    documents = pieces.documents - (source.format == "text" and not segments.is_at_end)
    unpacked = segments.position - start
    return Counts(pieces, rules.config, rules.special_tokens, None, documents, pieces.bytes, unpacked)


def cut_of(source: Source, rules: Rules) -> Cut | None:
    """Return how a file may be cut into segments, if it may be."""
    if source.format == "jsonl":
        return after_a_line
    if source.format == "text" and Counter(rules.config, threads=1).may_cut:
        return between_words(rules.special_tokens)
    return None


def _finished(
    run: _Run, feed: Callable[[], None], found: Sequence[Source], max_piece_length: int | None
) -> PieceCounts:
    def work() -> PieceCounts:
        feed()
        pieces = run.counter.finish(max_piece_length)
        if run.damage is not None:
            raise run.damage
        return pieces

    try:
        return run.watch.during(work, run.counter.cancel)
    except TokdError as error:
        raise _named(error, found) from error


def require_pieces(counts: Counts) -> None:
    """Hold that there is something to learn from.

    Raises:
        EmptyCorpus
    """
    if len(counts.pieces):
        return
    if counts.pieces.left_out:
        raise EmptyCorpus(
            f"every piece of the corpus is longer than {counts.max_piece_length} bytes and left out; allow longer ones",
            field="max_piece_length",
        )
    raise EmptyCorpus("there is no text in the corpus", field="corpus")


def read_header(path: Path) -> dict[str, Any] | None:
    """Return what the first line of a counts file of this package says; ``None`` if there is no such file."""
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline())
    except (FileNotFoundError, ValueError):
        return None
    return header if isinstance(header, dict) and header.get("format") == HEADER else None


def _count_documents(documents: Iterable[str], rules: Rules, watch: Watch, max_piece_length: int | None) -> Counts:
    """Count strings, which are taken in the caller's thread: an iterator may belong to it."""
    counter = Counter(rules.config, rules.special_tokens, rules.replace_invalid, rules.threads)
    taken, next_report = 0, time.monotonic() + INTERVAL
    for batch in batches(documents):
        try:
            counter.feed_documents(batch)
        except InvalidUnicode as error:
            row = taken + error.place.pop("row", 0)
            raise InvalidUnicode(f"document {row}: {error.message}", **error.place, document=row) from None
        taken += len(batch)
        if time.monotonic() >= next_report:
            next_report = time.monotonic() + INTERVAL
            watch.now = Progress("counting", counter.bytes_counted, None, "bytes")
            watch.tell()
        if counter.has_failed:
            break
    pieces = watch.during(lambda: counter.finish(max_piece_length), counter.cancel)
    return Counts(pieces, rules.config, rules.special_tokens, max_piece_length, pieces.documents, pieces.bytes)


@dataclass(slots=True)
class _Run:
    """Feeds files to a counter, and tells how far it is.

    Attributes:
        documents, text_bytes: what files of counts say that they were made of.
        damage: the first of these files that has other pieces than it says; what a line of it has is told before.
    """

    counter: Counter
    files: Files
    rules: Rules
    meter: Meter
    total: int
    watch: Watch
    documents: int = 0
    text_bytes: int = 0
    damage: InvalidCorpus | None = None

    def take(self, source: Source) -> None:
        match source.format:
            case "text" | "jsonl":
                self.feed(source.format, blocks(source, self.meter))
            case "parquet":
                column, replaced = self.files.column, self.rules.replace_invalid
                for batch in self._while_well(rows(source, column, self.meter, replace_invalid=replaced)):
                    self.counter.feed_documents(batch)
                self.meter.bytes += source.size or 0
            case "counts":
                line, distinct = 1, None
                for block in self._while_well(lines(source, self.meter, self.watch.check)):
                    if line == 1 and block.startswith(b"{"):
                        first, _, rest = block.partition(b"\n")
                        header = _check_header(source.name, first, self.rules.header())
                        self.documents += header["documents"]
                        self.text_bytes += header["bytes"]
                        distinct = header.get("distinct_pieces")
                        self.counter.add_counts(rest, 2)
                    else:
                        self.counter.add_counts(block, line)
                    line += block.count(b"\n")
                if distinct not in (None, line - 2) and self.damage is None:
                    found = (
                        f"{source.name} has {line - 2} whole lines of the {distinct} pieces that its first one tells"
                    )
                    self.damage = InvalidCorpus(f"{found}; count again, or leave that out", file=source.name)

    def feed(self, format: CorpusFormat, parts: Iterator[bytes]) -> None:
        """Take the bytes of a file of text or lines."""
        for block in self._while_well(parts):
            if format == "text":
                self.counter.feed(block)
            else:
                self.counter.feed_lines(block, self.files.field)
        if format == "text":
            self.counter.end_document()
        else:
            self.counter.end_lines()

    def _while_well(self, items: Iterator[Item]) -> Iterator[Item]:
        for item in items:
            yield item
            self.watch.check()
            self.watch.now = Progress("counting", min(self.meter.bytes, self.total), self.total, "bytes")
            if self.counter.has_failed:
                return


def _packed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Pack with zstd."""
    packer = zstandard.ZstdCompressor().compressobj()
    yield from map(packer.compress, parts)
    yield packer.flush()


def _check_header(name: str, line: bytes, expected: dict[str, Any]) -> dict[str, int]:
    """Return documents and bytes that the counts were made of, and how many pieces there are if that is told.

    What was made by other rules than asked for is refused.
    """
    try:
        header = json.loads(line)
    except RecursionError:
        raise InvalidCorpus(f"line 1 of {name} is nested too deeply", file=name, line=1) from None
    except ValueError as error:
        raise InvalidCorpus(f"line 1 of {name} is no JSON: {error}", file=name, line=1) from None
    if header.get("format") != HEADER:
        raise InvalidCorpus(f"line 1 of {name} does not name the format {HEADER!r}", file=name, line=1)
    for key, value in expected.items():
        if header.get(key) != value:
            other = json.dumps(header.get(key))[:200]
            message = f"{name} was counted with another {key}, {other}; count again, or ask for that"
            raise InvalidCorpus(message, file=name, field=key)
    sizes = {"documents": 0, "bytes": 0} | {
        key: header[key] for key in ("documents", "bytes", "distinct_pieces") if key in header
    }
    for key, value in sizes.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise InvalidCorpus(f"line 1 of {name} has {key} that is no whole number", file=name, line=1)
    return sizes


def _named(error: TokdError, found: Sequence[Source]) -> TokdError:
    """Put the name of the file into an error of the counter, whose place is its number, called ``row``.

    An error that names its file comes from the reader, and its row is one of a table.
    """
    place = dict(error.place)
    row = place.pop("row", None)
    if not isinstance(error, CorpusError) or row is None or "file" in place:
        return error
    if "index" in place:
        place["byte"] = place.pop("index")
    name = found[row].name
    return type(error)(f"{name}: {error.message}", code=error.code, file=name, **place)
