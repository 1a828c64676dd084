"""A corpus: which files it is, what is in them, and their content block by block.

A file is told by its name: ``.txt`` is one document, ``.jsonl`` has one in a field of every line, ``.parquet`` one in
a column of every row, and ``.counts`` has pieces that were counted before. All but Parquet may be compressed (``.gz``,
``.zst``). No file is ever read whole.
"""

from __future__ import annotations

import glob
import gzip
import hashlib
import importlib
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import IO, Any, Literal

import zstandard

from tokenizer_core.errors import CorpusNotFound, InvalidCorpus, InvalidOption

Format = Literal["text", "jsonl", "parquet", "counts"]

BLOCK = 1 << 20
"""Bytes that are read at a time."""

_FORMATS: dict[str, Format] = {
    ".txt": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".counts": "counts",
}

_ZSTD_STEP = 4096
"""Compressed bytes taken at a time: what they expand to cannot be bounded but by this, and is at most 128 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Files to read documents from.

    Args:
        paths: files, directories, glob patterns and URLs that fsspec knows, such as ``s3://bucket/part-*.jsonl.zst``.
        format: what the files are, whatever they are called.
        field: of a line of JSON.
        column: of a Parquet file.
    """

    paths: tuple[str | os.PathLike[str], ...]
    format: Format | None = None
    field: str = "text"
    column: str = "text"


Corpus = str | os.PathLike[str] | Files | Iterable[str] | Iterable[os.PathLike[str]]
"""A path, glob pattern or URL; ``Files``; paths as ``Path`` objects; or documents as strings."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file: its name for messages, what is in it, and how to open it."""

    name: str
    format: Format
    compression: Literal["", ".gz", ".zst"]
    size: int | None
    open: Callable[[], IO[bytes]]
    identity: Callable[[], str]
    """Name the content: equal only when it is equal."""


def files_of(corpus: Corpus) -> Files | None:
    """Return the files that a corpus names, or ``None`` when it is documents.

    Raises:
        InvalidOption: a list of strings that are paths of files, which could mean either.
    """
    if isinstance(corpus, Files):
        return corpus
    if isinstance(corpus, str | os.PathLike):
        return Files(paths=(corpus,))
    if isinstance(corpus, list | tuple) and corpus:
        if all(isinstance(item, os.PathLike) for item in corpus):
            return Files(paths=tuple(corpus))
        if all(isinstance(item, str) and len(item) < 4096 and "\n" not in item and _is_file(item) for item in corpus):
            raise InvalidOption(
                "the corpus is a list of strings that are names of files; give pathlib.Path objects for the files, or "
                "an iterator of strings for these texts",
                field="corpus",
            )
    if not isinstance(corpus, Iterable):
        raise InvalidOption(f"a corpus is a path, Files or strings, not {type(corpus).__name__}", field="corpus")
    return None


def sources(files: Files) -> list[Source]:
    """Find every file, in the order of their names.

    Raises:
        CorpusNotFound: a path leads to no file.
        InvalidCorpus: the name of a file does not say what is in it.
    """
    found: dict[str, Source] = {}
    for path in files.paths:
        text = os.fspath(path)
        if not text or "\0" in text:
            raise CorpusNotFound(f"{text!r} is no path", field="corpus")
        find = _remote if "://" in text else _local
        there = {source.name: source for source in find(text, files)}
        found |= there
        if not there:
            raise CorpusNotFound(
                f"there is no corpus at {text}; files end in .txt, .jsonl or .parquet, or their format is named",
                field="corpus",
            )
    return [found[name] for name in sorted(found)]


@dataclass(slots=True)
class Meter:
    """How many bytes have been read, as they lie on the disk."""

    bytes: int = 0


def blocks(source: Source, meter: Meter) -> Iterator[bytes]:
    """Read a file of text or lines, unpacked, in blocks of about ``BLOCK`` bytes.

    Raises:
        InvalidCorpus: it is cut short, or damaged.
    """
    with _reading(source), source.open() as file:
        metered = _Metered(file, meter)
        match source.compression:
            case ".zst":
                yield from _joined(_unzstd(metered))
            case ".gz":
                yield from _read(gzip.GzipFile(fileobj=metered))
            case _:
                yield from _read(metered)


def lines(source: Source, meter: Meter) -> Iterator[bytes]:
    """Read a file in blocks of whole lines."""
    rest = b""
    for block in blocks(source, meter):
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        else:
            rest += block
    if rest:
        yield rest


def rows(source: Source, column: str) -> Iterator[list[str]]:
    """Read a column of strings of a Parquet file, some rows at a time.

    Raises:
        InvalidCorpus: there is no such column, it has another type, or a row has nothing in it.
    """
    arrow, parquet = _needed("pyarrow", "parquet"), _needed("pyarrow.parquet", "parquet")
    with _reading(source, arrow.ArrowException), source.open() as file:
        table = parquet.ParquetFile(file)
        schema = table.schema_arrow
        if column not in schema.names:
            names = ", ".join(schema.names)
            raise InvalidCorpus(
                f"{source.name} has no column {column!r}, only {names}", file=source.name, field="column"
            )
        kind = schema.field(column).type
        if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
            raise InvalidCorpus(
                f"the column {column!r} of {source.name} holds {kind}, not strings", file=source.name, field="column"
            )
        at = 0
        for batch in table.iter_batches(batch_size=1024, columns=[column]):
            texts = batch.column(0).to_pylist()
            if None in texts:
                row = at + texts.index(None)
                raise InvalidCorpus(f"row {row} of {source.name} has no text", file=source.name, row=row)
            at += len(texts)
            yield texts


def batches(documents: Iterable[str]) -> Iterator[list[str]]:
    """Gather strings into lists of about ``BLOCK`` characters."""
    batch: list[str] = []
    size = 0
    for document in documents:
        if not isinstance(document, str):
            raise InvalidOption(f"a document is a string, not {type(document).__name__}", field="corpus")
        batch.append(document)
        size += len(document) + 64
        if size >= BLOCK:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def _kind(name: str, files: Files) -> tuple[Format | None, Literal["", ".gz", ".zst"]]:
    """Read the format and the compression from a file's name."""
    path = PurePath(name.lower())
    suffix = path.suffix
    compression: Literal["", ".gz", ".zst"] = ".gz" if suffix == ".gz" else ".zst" if suffix == ".zst" else ""
    if compression:
        suffix = PurePath(path.stem).suffix
    return files.format or _FORMATS.get(suffix), compression


def _source(
    name: str, size: int | None, files: Files, opener: Callable[[], IO[bytes]], identity: Callable[[], str]
) -> Source:
    kind, compression = _kind(name, files)
    if kind is None:
        raise InvalidCorpus(
            f"the name of {name} does not say what is in it; name the format: text, jsonl or parquet",
            file=name,
            field="format",
        )
    if kind == "parquet" and compression:
        raise InvalidCorpus(f"{name}: a Parquet file is compressed inside, not as a whole", file=name)
    return Source(name, kind, compression, size, opener, identity)


def _local(name: str, files: Files) -> Iterator[Source]:
    path = Path(name)
    if path.is_file():
        found = [path]
    elif path.is_dir():
        found = [
            file
            for file in sorted(path.rglob("*"))
            if file.is_file() and _kind(file.name, files)[0] is not None and not file.name.startswith(".")
        ]
    else:
        magic = glob.has_magic(name)
        found = [file for file in map(Path, sorted(glob.glob(name, recursive=True))) if magic and file.is_file()]  # noqa: PTH207
    for file in found:
        yield _source(str(file), file.stat().st_size, files, partial(_open, file), partial(_digest, file))


def _open(path: Path) -> IO[bytes]:
    return path.open("rb")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remote(url: str, files: Files) -> Iterator[Source]:
    fsspec = _needed("fsspec", "remote")
    try:
        system, path = fsspec.core.url_to_fs(url)
        if glob.has_magic(path):
            names = sorted(system.glob(path))
        elif system.isdir(path):
            names = [name for name in sorted(system.find(path)) if _kind(name, files)[0] is not None]
        else:
            names = [path] if system.exists(path) else []
        sizes = [system.size(name) for name in names]
    except (OSError, ValueError, ImportError) as error:
        raise CorpusNotFound(f"{url} cannot be read: {error}", field="corpus") from error

    def checksum(name: str) -> str:
        return f"{system.unstrip_protocol(name)} {system.checksum(name)}"

    def at(name: str, size: int | None) -> Source:
        return _source(
            system.unstrip_protocol(name), size, files, partial(system.open, name, "rb"), partial(checksum, name)
        )

    yield from (at(name, size) for name, size in zip(names, sizes, strict=True))


def _needed(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidOption(
            f"this corpus needs {module.split('.')[0]}; install it with pip install 'tokd[{extra}]'", field="corpus"
        ) from None


@contextmanager
def _reading(source: Source, more: type[Exception] = OSError) -> Iterator[None]:
    """Say which file it is that cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise CorpusNotFound(f"{source.name} is gone", file=source.name, field="corpus") from None
    except (OSError, EOFError, zlib.error, zstandard.ZstdError, more) as error:
        raise InvalidCorpus(f"{source.name} cannot be read: {error}", file=source.name) from error


class _Metered(io.RawIOBase):
    """A file whose reads are measured."""

    def __init__(self, file: IO[bytes], meter: Meter) -> None:
        self._file = file
        self._meter = meter

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._meter.bytes += len(data)
        return data


def _read(file: io.RawIOBase | gzip.GzipFile) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block


def _unzstd(file: io.RawIOBase) -> Iterator[bytes]:
    """Unpack frames one after the other; one that is cut short is an error, which zstandard's own reader hides."""
    frame = None
    while data := file.read(_ZSTD_STEP):
        while data:
            if frame is None:
                frame = zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(data)
            data = b""
            if frame.eof:
                data, frame = frame.unused_data, None
    if frame is not None:
        raise EOFError("the last zstd frame is cut short")


def _joined(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Gather small blocks into large ones."""
    block = io.BytesIO()
    for part in parts:
        block.write(part)
        if block.tell() >= BLOCK:
            yield block.getvalue()
            block = io.BytesIO()
    if block.tell():
        yield block.getvalue()
