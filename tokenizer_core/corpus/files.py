"""Find the files of a corpus, and read their content block by block.

The name of a file says what is in it: ``.txt`` is one document, ``.jsonl`` has one in a field of every line,
``.parquet`` one in a column of every row, and ``.counts`` has pieces that were counted before. All but Parquet may be
compressed (``.gz``, ``.zst``), which shows in what they begin with. No file is ever read whole.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import filterfalse
from pathlib import Path, PurePath
from typing import IO, Any, NoReturn, cast
from urllib.parse import urlsplit

from tokenizer_core.arguments import check_choice, holds_items, holds_surrogate
from tokenizer_core.corpus.bounds import UNBOUNDED, Bounds, Place, not_found
from tokenizer_core.corpus.matching import MAX_PARTS, Look, matches
from tokenizer_core.corpus.names import name_files
from tokenizer_core.corpus.reading import BLOCK, Compression, CorpusFormat, OnError, Pause, Source, needed, unreadable
from tokenizer_core.corpus.roots import RealRoots, is_below
from tokenizer_core.corpus.web_files import WebFile, spooled
from tokenizer_core.errors import CorpusNotFound, InvalidCorpus, InvalidOption, shown

_FORMATS: dict[str, CorpusFormat] = {
    ".txt": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".counts": "counts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Files to read documents from.

    Args:
        paths: files, directories, glob patterns and URLs that fsspec knows, such as ``s3://bucket/part-*.jsonl.zst``.
        format: what the files are, whatever they are called.
        field: of a line of JSON.
        column: of a Parquet file.
        on_error: ``"skip"`` leaves out unreadable lines and rows, and reports their number and the first of them.
        language: what tells the language of a document: ``"file"``, the name of its file up to the first dot;
            ``"directory"``, the name of the directory of its file; or else the field of its line or the column of its
            row that is called so.
        parallel: files of text, one for each language and named as for ``"file"``, whose lines have the same content:
            what languages are measured on.
    """

    paths: tuple[str | os.PathLike[str], ...]
    format: CorpusFormat | None = None
    field: str = "text"
    column: str = "text"
    on_error: OnError = "stop"
    language: str | None = None
    parallel: tuple[str | os.PathLike[str], ...] = ()

    def __post_init__(self) -> None:
        for name in ("paths", "parallel"):
            given: Any = getattr(self, name)
            if not isinstance(given, list | tuple) or not all(isinstance(path, str | os.PathLike) for path in given):
                raise InvalidOption(f"{name} is a list of paths", field=f"corpus.{name}")
            object.__setattr__(self, name, tuple(given))
        if self.format is not None:
            check_choice(self.format, CorpusFormat, "corpus.format")
        check_choice(self.on_error, OnError, "corpus.on_error")
        for name in ("field", "column", *(() if self.language is None else ("language",))):
            text = getattr(self, name)
            if not isinstance(text, str) or holds_surrogate(text):
                raise InvalidOption(f"{name} is a string of Unicode, not {shown(text)}", field=f"corpus.{name}")

    @property
    def language_field(self) -> str:
        """The field or the column that tells the language of each document, if one does."""
        return "" if self.language in (None, "file", "directory") else str(self.language)

    def language_of(self, name: str) -> str:
        """Return the language of a file, if its name tells it."""
        path = PurePath(urlsplit(name).path if "://" in name else Path(name).absolute())
        return {"file": path.name.partition(".")[0], "directory": path.parent.name}.get(self.language or "", "")


Corpus = str | os.PathLike[str] | Files | Iterable[str] | Iterable[os.PathLike[str]]
"""A path, glob pattern or URL; ``Files``; paths as ``Path`` objects; or documents as strings."""


def files_of(corpus: Corpus) -> Files | None:
    """Return the files that a corpus names, or ``None`` when it is documents.

    Raises:
        InvalidOption: a list of strings that could mean files: paths, patterns that match or URLs.
    """
    if isinstance(corpus, Files):
        return corpus
    if isinstance(corpus, str | os.PathLike):
        return Files(paths=(corpus,))
    if isinstance(corpus, list | tuple) and corpus:
        if all(isinstance(item, os.PathLike) for item in corpus):
            return Files(paths=tuple(corpus))
        if name_files(corpus):
            raise InvalidOption(
                "the corpus is a list of strings that name files; give pathlib.Path objects for the files, or "
                "an iterator of strings for these texts",
                field="corpus",
            )
    given: object = corpus
    if isinstance(given, bytes | bytearray | Mapping) or not holds_items(given):
        raise InvalidOption(f"a corpus is a path, Files or strings, not {type(corpus).__name__}", field="corpus")
    return None


def sources(
    files: Files, bounds: Bounds = UNBOUNDED, left_out: Iterable[Path] = (), named: str = "paths"
) -> list[Source]:
    """Find every file, sorted by name; one that is named twice is listed twice.

    Args:
        named: the field of the paths, for errors.
        left_out: files and directories that are passed over, unless a path begins inside of one.

    Raises:
        CorpusForbidden: a path or a URL leads out of the bounds.
        CorpusNotFound: a path leads to no file.
        CorpusTooLarge: the files alone, or what is looked at to find them, are more than the bounds allow.
        InvalidCorpus: the name of a file does not say what is in it.
    """
    found: list[Source] = []
    real = bounds.real_roots()
    left_out = tuple(left_out)
    apart = tuple(map(real.real, left_out))
    looked = 0
    for index, path in enumerate(files.paths):
        text, field = (
            os.fspath(path),
            "corpus" if (len(files.paths), named) == (1, "paths") else f"corpus.{named}[{index}]",
        )

        def look(entries: int, field: str = field) -> None:
            nonlocal looked
            looked += entries
            bounds.check_entries(looked, field)

        if not text or "\0" in text:
            raise CorpusNotFound(f"{text!r} is not a path", field=field)
        there = list(_find(_Finding(files, bounds, real, field, apart, look), text))
        found += there
        if not there:
            raise CorpusNotFound(
                f"there is no corpus at {text}; files end in .txt, .jsonl or .parquet; for others give format",
                field=field,
            )
    if files.parallel:
        lines = replace(files, paths=files.parallel, parallel=(), format="text", language="file")
        found += [replace(each, is_parallel=True) for each in sources(lines, bounds, left_out, "parallel")]
    bounds.check_size(sum(source.size or 0 for source in found if not source.compression))
    return sorted(found, key=lambda source: source.name)


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


def _kind(name: str, files: Files) -> tuple[CorpusFormat | None, Compression]:
    """Read the format and the compression from a file's name."""
    path = PurePath(name.lower())
    suffix = path.suffix
    compression: Compression = ".gz" if suffix == ".gz" else ".zst" if suffix == ".zst" else ""
    if compression:
        suffix = PurePath(path.stem).suffix
    return files.format or _FORMATS.get(suffix), compression


@dataclass(frozen=True, slots=True)
class _Finding:
    """The context of a search for files."""

    files: Files
    bounds: Bounds
    real: RealRoots
    field: str
    left_out: tuple[str, ...]
    look: Look

    def below(self, place: Place, among: Iterable[str]) -> Callable[[Path], bool]:
        """Return a test of whether a file lies in one of ``among``, but for those that the place itself lies below."""
        beginning = self.real.real(place.beginning)
        apart = [one for one in among if beginning == one or not is_below(beginning, one)]
        return lambda file: bool(apart) and any(is_below(self.real.real(file), one) for one in apart)

    def source(
        self,
        name: str,
        size: int | None,
        opener: Callable[[], IO[bytes]],
        identity: Callable[[Pause], str],
        stamp: Callable[[], object],
    ) -> Source:
        kind, compression = _kind(urlsplit(name).path if "://" in name else name, self.files)
        if kind is None:
            raise InvalidCorpus(
                f"the name of {name} does not say what is in it; give format: text, jsonl or parquet",
                file=name,
                field="corpus.format",
            )
        if kind == "parquet" and compression:
            raise InvalidCorpus(f"{name}: a Parquet file is compressed inside, not as a whole", file=name)
        if kind == "text" and self.files.language_field:
            message = (
                f"{name} is a text, which has no field {self.files.language!r}; let file or directory be the language"
            )
            raise InvalidCorpus(message, file=name, field="language")
        return Source(name, kind, compression, size, opener, identity, stamp, self.files.language_of(name))


def _find(finding: _Finding, path: str) -> Iterator[Source]:
    if "://" not in path:
        return _local(finding, path)
    scheme = finding.bounds.scheme(path, finding.field)
    if scheme == "file":
        return _local(finding, path.partition("://")[2])
    if scheme in ("http", "https"):
        return _web(finding, path)
    return _remote(finding, path)


def _local(finding: _Finding, name: str) -> Iterator[Source]:
    bounds, real, field = finding.bounds, finding.real, finding.field
    place = bounds.local(name, field, real)
    if place.pattern.count("/") >= MAX_PARTS:
        raise not_found(str(place.path), "the pattern has too many directories", field)
    try:
        found = _files_at(place, finding)
    except OSError as error:
        if bounds.roots and error.filename and not real.holds(Path(error.filename)):
            # The error reveals neither the target of a link out of the roots nor its existence.
            raise bounds.outside(str(real.leaving(Path(error.filename), place.beginning)), field) from None
        raise not_found(str(place.path), error, field) from error
    # Left out without an error, which would reveal what is in a closed directory.
    found = [*filterfalse(finding.below(place, real.closed), found)]
    others = [*filterfalse(finding.below(place, finding.left_out), found)]
    if found and not others:
        raise not_found(str(place.path), "what the run itself writes is not a corpus", field)
    for file in others:
        # A link out of the roots is refused before anything is read, and the error does not reveal its target.
        if bounds.roots and not real.holds(file):
            raise bounds.outside(str(real.leaving(file, place.beginning)), field)
        # Absolute: another process may open it.
        opener = partial(bounds.open, file.absolute(), field)
        try:
            _, size, _ = _stamp(opener)
        except OSError as error:
            raise unreadable(str(file), error) from error
        yield finding.source(str(file), size, opener, partial(_digest, opener), partial(_stamp, opener))


def _files_at(place: Place, finding: _Finding) -> list[Path]:
    path = place.path
    if path.is_file():
        return [path]
    if path.is_dir():
        below = sorted(_below(path, finding.look))
        # A dead link and a pipe are refused when they are opened: their texts would be missing without a word.
        return [file for file in below if _kind(file.name, finding.files)[0] is not None and not file.is_dir()]
    if not place.pattern:
        return []
    found = matches(str(place.beginning), place.pattern.split("/"), finding.look)
    return [file for file in map(Path, sorted(found)) if file.is_file()]


def _below(directory: Path, look: Look) -> Iterator[Path]:
    """List the files below a directory, without hidden files and the targets of links.

    Raises:
        OSError: a directory cannot be listed, whose texts would be missing without a word.
    """

    def refuse(error: OSError) -> NoReturn:
        raise error

    for parent, directories, names in os.walk(directory, onerror=refuse):
        look(len(directories) + len(names))
        directories[:] = (name for name in directories if not name.startswith("."))
        yield from (Path(parent, name) for name in names if not name.startswith("."))


def _digest(opener: Callable[[], IO[bytes]], pause: Pause) -> str:
    digest = hashlib.sha256()
    with opener() as file:
        while block := file.read(BLOCK):
            digest.update(block)
            pause()
    return digest.hexdigest()


def _stamp(opener: Callable[[], IO[bytes]]) -> tuple[int, int, int]:
    with opener() as file:
        status = os.fstat(file.fileno())
        return status.st_ino, status.st_size, status.st_mtime_ns


def _web(finding: _Finding, url: str) -> Iterator[Source]:
    bounds, field = finding.bounds, finding.field

    def stamp() -> object:
        with WebFile.open(url, bounds, field) as file:
            return file.tag, file.size

    def identity(_: Pause) -> str:
        with WebFile.open(url, bounds, field) as file:
            # A file of which nothing is known is never the one that was counted before.
            return f"{url} {file.tag or secrets.token_hex(16)} {file.size}"

    def opener() -> IO[bytes]:
        file = WebFile.open(url, bounds, field)
        return spooled(file, bounds, field) if is_parquet else cast("IO[bytes]", file)

    with WebFile.open(url, bounds, field) as file:
        size = file.size
    source = finding.source(url, size, opener, identity, stamp)
    is_parquet = source.format == "parquet"
    yield source


def _remote(finding: _Finding, url: str) -> Iterator[Source]:
    fsspec = needed("fsspec", "remote")
    try:
        system, path = fsspec.core.url_to_fs(url)
        if glob.has_magic(path):
            is_matched = re.compile(fsspec.utils.glob_translate(path)).match
            depth = None if "**" in path else path[len(_literal(path)) :].count("/") + 1
            names = sorted(filter(is_matched, _remote_below(system, _literal(path), depth, finding.look)))
        elif system.isdir(path):
            below = sorted(_remote_below(system, path, None, finding.look))
            names = [name for name in below if _kind(name, finding.files)[0] is not None]
        else:
            names = [path] if system.exists(path) else []
        sizes = [system.size(name) for name in names]
    except (OSError, ValueError, ImportError) as error:
        raise not_found(url, error, finding.field) from error

    def stamp(name: str) -> str:
        return f"{system.unstrip_protocol(name)} {system.checksum(name)}"

    for name, size in zip(names, sizes, strict=True):
        opener: Any = partial(system.open, name, "rb")
        tell = partial(stamp, name)
        yield finding.source(system.unstrip_protocol(name), size, opener, _at_once(tell), tell)


def _literal(pattern: str) -> str:
    """Return the directory that a pattern begins with."""
    return pattern[: next(at for at, letter in enumerate(pattern) if letter in "*?[")].rpartition("/")[0]


def _remote_below(system: Any, directory: str, depth: int | None, look: Look) -> Iterator[str]:
    """List the files down to ``depth`` levels below a directory, each listing of which counts as looked at."""
    waiting = deque([(directory, 1)])
    while waiting:
        here, level = waiting.popleft()
        entries = system.ls(here, detail=True)
        look(len(entries))
        for entry in entries:
            name = entry["name"].rstrip("/")
            if entry["type"] != "directory":
                yield name
            elif name != here.rstrip("/") and (depth is None or level < depth):
                waiting.append((name, level + 1))


def _at_once(stamp: Callable[[], str]) -> Callable[[Pause], str]:
    return lambda _: stamp()
