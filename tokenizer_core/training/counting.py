"""Count the pieces of a corpus: of files, of a segment of one, or of documents as strings."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, TypeVar, cast

from tokenizer_core._kernel import Counter, PieceCounts
from tokenizer_core.arguments import holds_items, holds_surrogate
from tokenizer_core.corpus.bounds import UNBOUNDED
from tokenizer_core.corpus.documents import between, lines_before
from tokenizer_core.corpus.files import Corpus, Files, batches, files_of, sources
from tokenizer_core.corpus.languages import check_languages, check_parallel
from tokenizer_core.corpus.reading import CorpusFormat, Meter, Source, blocks, failures, lines, readable_lines, rows
from tokenizer_core.corpus.segments import Cut, Segments, after_a_line, cut_at, cut_from
from tokenizer_core.errors import CorpusError, InvalidCorpus, InvalidOption, InvalidUnicode, TokdError, shown
from tokenizer_core.training.counts import MAX_SKIPPED_SHOWN, Counts, check_header, header_of, require_pieces
from tokenizer_core.training.progress import INTERVAL, Progress, Report, Reporter

Item = TypeVar("Item")
Spill = Callable[[PieceCounts], None]

MEMORY = 1 << 30
"""Bytes that counting may hold by default: of the text of a shard far less."""

_COPIES = 3
"""Counts in tables, in order, and as they are written."""

MAX_REASON = 300
"""Characters of what is said of each line that was left out."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of counting.

    Attributes:
        config: the pipeline as canonical JSON; its normalizer and its pretokenizer cut the pieces.
        special_tokens: literals that end a document and are not counted.
        replace_invalid: replace invalid UTF-8 by U+FFFD instead of failing.
        threads: 0 means one a core; they change no count.
        memory: bytes that may be held while files are counted; beyond it counts go to the disk. It changes no count.
        has_languages: count the pieces of each language apart.
    """

    config: str
    special_tokens: tuple[str, ...] = ()
    replace_invalid: bool = False
    threads: int = 0
    memory: int = MEMORY
    has_languages: bool = False

    def counter(self) -> Counter:
        """Begin to count."""
        return Counter(self.config, self.special_tokens, self.replace_invalid, self.threads, self.has_languages)

    def header(self) -> dict[str, Any]:
        """Return what a counts file says of them."""
        return header_of(self.config, self.special_tokens, has_languages=self.has_languages)


def count(
    corpus: Corpus, rules: Rules, *, max_piece_length: int | None = None, progress: Report | None = None
) -> Counts:
    """Count the pieces of a corpus; the result depends on nothing but its documents.

    Args:
        max_piece_length: pieces with more bytes are left out.

    Raises:
        CorpusError: with the file and the byte, line or row.
    """
    by_language = corpus if rules.has_languages and isinstance(corpus, Mapping) else None
    files, reporter = None if by_language else files_of(corpus), Reporter(progress)
    if by_language is None:
        check_languages(files, rules.has_languages)
    if files is not None:
        found = sources(files)
        check_parallel(found, UNBOUNDED)
        counting = Counting(files, rules, reporter, total=sum(source.size or 0 for source in found))
        counts = counting.of_sources(found, max_piece_length)
    else:
        documents = by_language or {"": cast("Iterable[str]", corpus)}
        counts = _count_documents(documents, rules, reporter, max_piece_length)
    require_pieces(counts)
    reporter.progress = dataclasses.replace(reporter.progress, done=reporter.progress.total or counts.text_bytes)
    reporter.report()
    return counts


@dataclass(frozen=True, slots=True)
class Counting:
    """All that files are counted with.

    Attributes:
        meter: goes on from what was read before.
        total: bytes that are read in all.
        spill: takes counts that would hold more memory than the rules allow; what is returned are the others.
    """

    files: Files
    rules: Rules
    reporter: Reporter
    meter: Meter = field(default_factory=Meter)
    total: int = 0
    spill: Spill | None = None

    def of_sources(self, found: Sequence[Source], max_piece_length: int | None = None) -> Counts:
        """Count the pieces of files; those with more bytes are left out."""
        run, before = _Run(self), self.meter.unpacked

        def feed() -> None:
            for number, source in enumerate(found):
                if run.counter.has_failed:
                    break
                run.begin(number, source)
                run.take(source)

        pieces = _finished(run, feed, found, max_piece_length)
        return Counts(
            pieces,
            self.rules.config,
            self.rules.special_tokens,
            max_piece_length,
            documents=pieces.documents + run.documents,
            text_bytes=pieces.bytes + run.text_bytes,
            unpacked=self.meter.unpacked - before,
            has_languages=self.rules.has_languages,
            **run.skipped(pieces, found),
        )

    def of_segment(self, source: Source, segments: Segments, size: int) -> Counts:
        """Count the next segment of a file of text or lines."""
        start, run = segments.position, _Run(self)
        run.begin(0, source, start, segments.lines)
        pieces = _finished(run, lambda: run.feed(source.format, segments.read(size)), [source])
        return run.stretch(source, pieces, segments.position - start, is_last=segments.is_at_end)

    def of_stretch(self, source: Source, start: int, stop: int, cut: Cut) -> Counts:
        """Count a file that is neither packed nor a stream, between where it may be cut near two bytes."""
        with failures(source), source.open() as file:
            first, last = cut_from(file, start, cut), cut_from(file, stop, cut)
            is_last = last == file.seek(0, os.SEEK_END)

        def counted(lines: int) -> Counts:
            run = _Run(dataclasses.replace(self, meter=Meter(), total=last - first))
            run.begin(0, source, first, lines)
            parts = blocks(between(source, first, last), run.counting.meter)
            pieces = _finished(run, lambda: run.feed(source.format, parts), [source])
            return run.stretch(source, pieces, last - first, is_last=is_last)

        try:
            if not (counts := counted(0)).skipped:
                return counts
        except CorpusError:
            if not first:
                raise
        # An error is named by its line in the file: only now are the lines before it counted.
        return counted(lines_before(source, first))


def cut_of(source: Source, files: Files, rules: Rules) -> Cut | None:
    """Return how a file may be cut into segments, if it may be."""
    if source.is_parallel:
        return None
    if source.format == "jsonl":
        return after_a_line
    if source.format == "text" and files.on_error == "stop":
        places = Counter(rules.config, threads=1).cut_places
        return None if places is None else cut_at(places, rules.special_tokens)
    return None


def _begin_language(counter: Counter, name: object, is_measured: bool = False, **place: str) -> None:
    if not isinstance(name, str) or holds_surrogate(name):
        message = f"the name of a language is a string of Unicode, not {shown(name)}"
    else:
        try:
            return counter.begin_language(name, is_measured)
        except InvalidCorpus as error:
            message = error.message
    where = f"{place['file']}: " if "file" in place else ""
    raise InvalidCorpus(where + message, **place)


def _check_documents(documents: Mapping[str, object]) -> None:
    for name, texts in documents.items():
        if isinstance(texts, str | bytes | Mapping) or not holds_items(texts):
            message = f"the texts of the language {shown(name)} are strings in a list or an iterator, not "
            raise InvalidOption(message + type(texts).__name__, field="corpus")


def _finished(
    run: _Run, feed: Callable[[], None], found: Sequence[Source], max_piece_length: int | None = None
) -> PieceCounts:
    def work() -> PieceCounts:
        feed()
        pieces = run.counter.finish(max_piece_length)
        if run.damage is not None:
            raise run.damage
        return pieces

    try:
        return run.counting.reporter.run(work, run.counter.cancel)
    except TokdError as error:
        raise _named(error, found) from error


def _count_documents(
    documents: Mapping[str, Iterable[str]], rules: Rules, reporter: Reporter, max_piece_length: int | None
) -> Counts:
    """Count strings by language, which are taken in the caller's thread: an iterator may belong to it."""
    counter = rules.counter()
    taken, next_report = 0, time.monotonic() + INTERVAL
    if rules.has_languages:
        _check_documents(documents)
    for language, batch in ((name, batch) for name, texts in documents.items() for batch in batches(texts)):
        try:
            if rules.has_languages:
                _begin_language(counter, language, field="corpus")
            counter.feed_documents(batch)
        except InvalidUnicode as error:
            row = taken + error.place.pop("row", 0)
            raise InvalidUnicode(f"document {row}: {error.message}", **error.place, document=row) from None
        taken += len(batch)
        if time.monotonic() >= next_report:
            next_report = time.monotonic() + INTERVAL
            reporter.progress = Progress("counting", counter.bytes_counted, None, "bytes")
            reporter.report()
        if counter.has_failed:
            break
    pieces = reporter.run(lambda: counter.finish(max_piece_length), counter.cancel)
    sizes = pieces.documents, pieces.bytes
    counts = Counts(pieces, rules.config, rules.special_tokens, max_piece_length, *sizes)
    return dataclasses.replace(counts, has_languages=rules.has_languages)


@dataclass(slots=True)
class _Run:
    """Feeds files to a counter, and notes how far it is.

    Attributes:
        documents, text_bytes: what files of counts say that they were made of, and what has left memory.
        damage: the error of the first of these files with more or fewer pieces than it states; an error in a line of
            one comes first.
    """

    counting: Counting
    counter: Counter = field(init=False)
    documents: int = 0
    text_bytes: int = 0
    damage: InvalidCorpus | None = None
    skipped_here: int = 0
    first_skipped_here: list[str] = field(default_factory=list)
    skipped_before: int = 0
    first_skipped_before: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counter = self.counting.rules.counter()

    def begin(self, number: int, source: Source, start: int = 0, lines: int = 0) -> None:
        """Begin with a file, of which so many bytes and lines are not given."""
        self.counter.begin_source(number, start, lines)
        is_told = source.is_parallel or not self.counting.files.language_field
        if self.counting.rules.has_languages and is_told and source.format != "counts":
            _begin_language(self.counter, source.language, source.is_parallel, file=source.name)

    def take(self, source: Source) -> None:
        files, meter, replaced = self.counting.files, self.counting.meter, self.counting.rules.replace_invalid
        skip = self._skip if files.on_error == "skip" else None
        match source.format:
            case "text" if source.is_parallel:
                for block in self._while_well(lines(source, meter, self.counting.reporter.check)):
                    for line in block.splitlines():
                        self.counter.feed(line)
                        self.counter.end_document()
            case "text" if skip is not None and not replaced:
                self.feed("text", readable_lines(source, meter, skip, self.counting.reporter.check))
            case "text" | "jsonl":
                self.feed(source.format, blocks(source, meter))
            case "parquet":
                left_out = None if files.language_field else skip
                table = self._while_well(rows(source, files.column, meter, replace_invalid=replaced, skip=left_out))
                for batch in self._by_language(source, table):
                    self.counter.feed_documents(batch)
                meter.bytes += source.size or 0
            case "counts":
                self._take_counts(source)

    def _by_language(self, source: Source, table: Iterator[list[str]]) -> Iterator[list[str]]:
        """Return rows some at a time, and begin the language of each before, if a column tells it.

        Then no row can be left out.
        """
        if not (column := self.counting.files.language_field):
            yield from table
            return
        languages = chain.from_iterable(rows(source, column, Meter()))
        pairs = zip(chain.from_iterable(table), languages, strict=True)
        for language, same in groupby(pairs, itemgetter(1)):
            _begin_language(self.counter, language, file=source.name)
            yield from batches(text for text, _ in same)

    def feed(self, format: CorpusFormat, parts: Iterator[bytes]) -> None:
        """Take the bytes of a file of text or lines."""
        for block in self._while_well(parts):
            if format == "text":
                self.counter.feed(block)
            else:
                files = self.counting.files
                self.counter.feed_lines(block, files.field, files.on_error == "skip", files.language_field)
        if format == "text":
            self.counter.end_document()
        else:
            self.counter.end_lines()

    def stretch(self, source: Source, pieces: PieceCounts, unpacked: int, *, is_last: bool) -> Counts:
        """Return the counts of a stretch of a file."""
        # A text is one document, which ends with its last stretch.
        documents = pieces.documents + self.documents - (source.format == "text" and not is_last)
        special, skipped = self.counting.rules.special_tokens, self.skipped(pieces, [source])
        text_bytes = pieces.bytes + self.text_bytes
        skipped["has_languages"] = self.counting.rules.has_languages
        return Counts(pieces, self.counting.rules.config, special, None, documents, text_bytes, unpacked, **skipped)

    def skipped(self, pieces: PieceCounts, found: Sequence[Source]) -> dict[str, Any]:
        """Return what ``Counts`` says of lines and rows that were left out."""
        lines = [*self.first_skipped_before, *pieces.first_skipped]
        of_lines = [f"{found[source].name}: {reason}"[:MAX_REASON] for source, _, reason in lines]
        first = [*of_lines, *self.first_skipped_here][:MAX_SKIPPED_SHOWN]
        skipped = pieces.skipped + self.skipped_before + self.skipped_here
        return {"skipped": skipped, "first_skipped": tuple(first)}

    def _spill_when_full(self) -> None:
        if self.counting.spill is None or self.counter.bytes_held * _COPIES <= self.counting.rules.memory:
            return
        pieces = self.counter.take()
        self.documents += pieces.documents
        self.text_bytes += pieces.bytes
        self.skipped_before += pieces.skipped
        self.first_skipped_before += pieces.first_skipped
        self.counting.spill(pieces)

    def _skip(self, error: InvalidCorpus) -> None:
        self.skipped_here += 1
        if self.skipped_here <= MAX_SKIPPED_SHOWN:
            self.first_skipped_here.append(error.message[:MAX_REASON])

    def _take_counts(self, source: Source) -> None:
        line, distinct = 1, None
        for block in self._while_well(lines(source, self.counting.meter, self.counting.reporter.check)):
            if line == 1 and block.startswith(b"{"):
                first, _, rest = block.partition(b"\n")
                header = check_header(source.name, first, self.counting.rules.header())
                self.documents += header["documents"]
                self.text_bytes += header["bytes"]
                distinct = header.get("distinct_pieces")
                self.counter.add_counts(rest, 2)
            else:
                self.counter.add_counts(block, line)
            line += block.count(b"\n")
        if distinct not in (None, line - 2) and self.damage is None:
            found = f"{source.name} has {line - 2} whole lines of the {distinct} pieces that its first one tells"
            self.damage = InvalidCorpus(f"{found}; count again, or leave that out", file=source.name)

    def _while_well(self, items: Iterator[Item]) -> Iterator[Item]:
        reporter, total = self.counting.reporter, self.counting.total
        for item in items:
            yield item
            self._spill_when_full()
            reporter.check()
            reporter.progress = Progress("counting", min(self.counting.meter.bytes, total), total, "bytes")
            if self.counter.has_failed:
                return


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
    has_lines = found[row].format in ("jsonl", "text")
    way = "; mend it, or have such lines left out with on_error=skip" if has_lines else ""
    return type(error)(f"{name}: {error.message}{way}", code=error.code, file=name, **place)
