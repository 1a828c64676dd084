"""Read one file of a corpus, unpacked, block by block."""

from __future__ import annotations

import codecs
import gzip
import importlib
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Literal

from tokenizer_core.corpus.bounds import UNBOUNDED, Bounds
from tokenizer_core.errors import CorpusNotFound, InvalidCorpus, InvalidOption
from tokenizer_core.zstd import zstd

CorpusFormat = Literal["text", "jsonl", "parquet", "counts"]
Compression = Literal["", ".gz", ".zst"]
OnError = Literal["stop", "skip"]
Pause = Callable[[], object]
"""Called now and then during long work; what it raises ends the work."""

BLOCK = 1 << 20
"""Bytes that are read at a time."""

LINE_BYTES = 1 << 30
"""The longest line that is read whole."""

_MAGIC: dict[bytes, Compression] = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
"""The first bytes of compressed files. No UTF-8 begins with them."""

_ZSTD_STEP = 1024
"""Compressed bytes taken at a time: what they expand to cannot be bounded but by this, and is at most 32 MB."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file.

    Attributes:
        name: for messages.
        size: bytes on the disk, if known.
        identity: names the content; equal only for equal content.
        stamp: tells cheaply whether the content may have changed since.
        language: of all its documents, where its name says it.
        is_parallel: its lines have the content of those of the other languages.
    """

    name: str
    format: CorpusFormat
    compression: Compression
    size: int | None
    open: Callable[[], IO[bytes]]
    identity: Callable[[Pause], str]
    stamp: Callable[[], object]
    language: str = ""
    is_parallel: bool = False


@dataclass(slots=True)
class Meter:
    """The number of bytes read so far.

    Attributes:
        bytes: on the disk.
        unpacked: the same, unpacked.
    """

    bytes: int = 0
    unpacked: int = 0
    bounds: Bounds = UNBOUNDED

    def unpack(self, size: int) -> None:
        """Count bytes that were unpacked.

        Raises:
            CorpusTooLarge
        """
        self.unpacked += size
        self.bounds.check_size(self.unpacked)


def compression_of(start: bytes) -> Compression:
    """Tell by the first bytes of a file how it is packed."""
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "")


def is_packed(source: Source) -> bool:
    """Tell whether a file is packed, whatever it is called."""
    if source.format == "parquet":
        return True
    with failures(source), source.open() as file:
        return bool(compression_of(file.read(4)) or source.compression)


def can_seek(source: Source) -> bool:
    """Tell whether a file can be read from any place on."""
    with failures(source), source.open() as file:
        return file.seekable()


def blocks(source: Source, meter: Meter) -> Iterator[bytes]:
    """Read a file of text or lines, unpacked, in blocks of about ``BLOCK`` bytes.

    What it begins with says whether it is packed, whatever it is called.

    Raises:
        CorpusTooLarge: more than the meter's bounds allow.
        InvalidCorpus: it is cut short, or damaged.
    """
    with failures(source), source.open() as file:
        metered = _Metered(file, meter)
        match metered.compression() or source.compression:
            case ".zst":
                unpacked = _joined(_unzstd(metered))
            case ".gz":
                unpacked = _read(gzip.GzipFile(fileobj=metered))
            case _:
                unpacked = _read(metered)
        for block in unpacked:
            meter.unpack(len(block))
            yield block


def lines(source: Source, meter: Meter, pause: Pause = lambda: None) -> Iterator[bytes]:
    """Read a file in blocks of whole lines; ``pause`` is called after every block of the file.

    Raises:
        InvalidCorpus: a line has more than ``LINE_BYTES``.
    """
    parts: list[bytes] = []
    size = read = 0
    for block in blocks(source, meter):
        if end := block.rfind(b"\n") + 1:
            # Parts of a long line are joined once: repeated joining would take quadratic time.
            whole = b"".join((*parts, block[:end]))
            yield whole
            read += len(whole)
            parts, size = [], 0
        parts.append(block[end:])
        size += len(block) - end
        if size > LINE_BYTES:
            before = _lines_within(source, read)
            raise InvalidCorpus(
                f"line {before + 1} of {source.name} has more than {LINE_BYTES} bytes, the most of a line; divide its "
                "document, or make counts anew with a pattern",
                file=source.name,
                line=before + 1,
            )
        pause()
    if size:
        yield b"".join(parts)


def _lines_within(source: Source, size: int) -> int:
    """Count the lines in the first bytes of a file: read again, for nobody else needs their number."""
    count = 0
    for block in blocks(source, Meter()):
        count += block.count(b"\n", 0, max(size, 0))
        size -= len(block)
    return count


def numbered_lines(source: Source) -> Iterator[tuple[int, bytes, int]]:
    """Read the lines of a file that are not empty, with their numbers from 1 on and the bytes at which they begin."""
    number, byte = 1, 0
    for block in lines(source, Meter()):
        yield from lines_of(block, number, byte)
        number, byte = number + block.count(b"\n"), byte + len(block)


def lines_of(block: bytes, number: int, byte: int) -> Iterator[tuple[int, bytes, int]]:
    """Split whole lines, of which the first has a number and begins at a byte; yield them as ``numbered_lines``."""
    for at, line in enumerate(block.split(b"\n"), number):
        # As in training, a byte order mark before the first line is not part of it.
        without = line.removeprefix(codecs.BOM_UTF8) if byte == 0 else line
        if without.strip():
            yield at, without, byte + len(line) - len(without)
        byte += len(line) + 1


def readable_lines(
    source: Source, meter: Meter, skip: Callable[[InvalidCorpus], object], pause: Pause
) -> Iterator[bytes]:
    """Read a text in blocks of whole lines, without those that are not UTF-8; ``skip`` is called with each of these."""
    first = 1
    for block in lines(source, meter, pause):
        if _invalid_byte(block) is None:
            yield block
        else:
            yield b"".join(_valid(block, source.name, first, skip))
        first += block.count(b"\n")


def _valid(block: bytes, name: str, first: int, skip: Callable[[InvalidCorpus], object]) -> Iterator[bytes]:
    for number, line in enumerate(io.BytesIO(block), first):
        byte = _invalid_byte(line)
        if byte is None:
            yield line
        else:
            message = f"{name}: byte {byte} of line {number} is not UTF-8"
            skip(InvalidCorpus(message, code="invalid_utf8", file=name, line=number, byte=byte))


def _invalid_byte(data: bytes) -> int | None:
    """Return where bytes are not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def rows(
    source: Source,
    column: str,
    meter: Meter,
    *,
    replace_invalid: bool = False,
    skip: Callable[[InvalidCorpus], object] | None = None,
) -> Iterator[list[str]]:
    """Read a column of strings of a Parquet file, some rows at a time.

    Args:
        skip: called with what is wrong with a row, which is left out, rather than raised.

    Raises:
        InvalidCorpus: there is no such column or more than one, it has another type, or a row has nothing in it.
    """

    def refuse(error: InvalidCorpus) -> None:
        raise error from None

    skip = skip or refuse
    arrow, parquet, compute = (needed(name, "parquet") for name in ("pyarrow", "pyarrow.parquet", "pyarrow.compute"))
    with failures(source, arrow.ArrowException), source.open() as file:
        _check_strings(parquet.read_schema(file), column, source.name, arrow.types)
        at, table = 0, parquet.ParquetFile(file, read_dictionary=[column])
        for batch in table.iter_batches(batch_size=1024, columns=[column]):
            # As a dictionary, a text that every row repeats is held once, whatever its unpacked size.
            # By its name: to Parquet `a` and `a.b` are also what lies within a column `a`, and may stand before it.
            texts = batch.column(column)
            if not arrow.types.is_dictionary(texts.type):
                # Of two columns of one path in Parquet only one is read as a dictionary.
                texts = texts.dictionary_encode()
            lengths = compute.binary_length(texts.dictionary).take(texts.indices)
            meter.unpack(compute.sum(lengths).as_py() or 0)
            binary = texts.dictionary.cast(arrow.large_binary())
            part, size = [], 0
            for row, index in enumerate(texts.indices.to_pylist(), at):
                text = None if index is None else binary[index].as_py()
                try:
                    part.append(_decoded(text, source, row, replace_invalid=replace_invalid))
                except InvalidCorpus as error:
                    skip(error)
                    continue
                size += len(part[-1])
                if size >= BLOCK:
                    yield part
                    part, size = [], 0
            yield part
            at += len(texts)


def check_column(names: Sequence[str], column: str, name: str) -> None:
    """Require that a file called ``name`` has one column of this name."""
    if column not in names:
        raise InvalidCorpus(f"{name} has no column {column!r}, only {', '.join(names)}", file=name, field="column")
    if (times := names.count(column)) > 1:
        raise InvalidCorpus(
            f"{name} has {times} columns {column!r}; rename or drop all but one", file=name, field="column"
        )


def _check_strings(schema: Any, column: str, name: str, types: Any) -> None:
    """Require that a file has one column of this name, of strings; ``types`` are pyarrow's."""
    check_column(schema.names, column, name)
    kind = schema.field(column).type
    if not (types.is_string(kind) or types.is_large_string(kind)):
        raise InvalidCorpus(f"the column {column!r} of {name} holds {kind}, not strings", file=name, field="column")


def _decoded(text: bytes | None, source: Source, row: int, *, replace_invalid: bool) -> str:
    if text is None:
        raise InvalidCorpus(f"row {row} of {source.name} has no text", file=source.name, row=row)
    try:
        return text.decode(errors="replace" if replace_invalid else "strict")
    except UnicodeDecodeError as error:
        place = f"{source.name}: byte {error.start} of row {row}"
        message = f"{place} is not UTF-8; convert the text or set replace_invalid"
        raise InvalidCorpus(message, code="invalid_utf8", file=source.name, row=row, byte=error.start) from None


def needed(module: str, extra: str) -> Any:
    """Import a module of an extra.

    Raises:
        InvalidOption: naming the extra.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidOption(
            f"this corpus needs {module.split('.')[0]}; install it with pip install 'tokd[{extra}]'", field="corpus"
        ) from None


def unreadable(name: str, error: BaseException) -> CorpusNotFound | InvalidCorpus:
    """Say which file it is that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return CorpusNotFound(f"{name} is gone", file=name, field="corpus")
    return InvalidCorpus(f"{name} cannot be read: {error}", file=name)


@contextmanager
def failures(source: Source, more: type[Exception] = OSError) -> Iterator[None]:
    """Turn what goes wrong with a file into an error that names it."""
    try:
        yield
    except (OSError, EOFError, zlib.error, zstd.ZstdError, more) as error:
        failure = unreadable(source.name, error)
        if source.format == "parquet" and not source.name.lower().endswith(".parquet"):
            message = f'{failure.message}; corpus.format="parquet" says that it is Parquet'
            failure = type(failure)(message, **failure.place)
        raise failure from error


class _Metered(io.RawIOBase):
    """A file whose reads are measured."""

    def __init__(self, file: IO[bytes], meter: Meter) -> None:
        self._file = file
        self._meter = meter
        self._start = b""

    def compression(self) -> Compression:
        """Tell by the first bytes how the file is packed."""
        longest = max(map(len, _MAGIC))
        while len(self._start) < longest and (data := self._file.read(longest - len(self._start))):
            self._start += data
        return compression_of(self._start)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        at = len(self._start) if size < 0 else size
        start, self._start = self._start[:at], self._start[at:]
        data = start + self._file.read(size if size < 0 else size - len(start))
        self._meter.bytes += len(data)
        return data


def _read(file: io.RawIOBase | gzip.GzipFile) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block


def _unzstd(file: io.RawIOBase) -> Iterator[bytes]:
    """Unpack frames one after the other; one that is cut short is an error, which a reader of many frames hides."""
    frame = None
    while data := file.read(_ZSTD_STEP):
        while data:
            if frame is None:
                frame = zstd.ZstdDecompressor()
            yield frame.decompress(data)
            data = b""
            if frame.eof:
                data, frame = frame.unused_data, None
    if frame is not None:
        raise EOFError("the last zstd frame is cut short")


def _joined(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Make blocks of about ``BLOCK`` bytes; those of small parts are copied once."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= BLOCK:
            data = b"".join(waiting)
            yield from [data] if size < 2 * BLOCK else (data[at : at + BLOCK] for at in range(0, size, BLOCK))
            waiting, size = [], 0
    if size:
        yield b"".join(waiting)
