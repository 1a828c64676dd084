"""A multipart body on its way to the disk: files and settings, within bounds of bytes, parts, time and room."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from starlette.types import Receive

from service.admission.limits import Disconnected
from service.errors import ServiceError, quote
from service.http.multipart import Form, Part
from service.job_process.disk import full, written
from service.request_log import LogEntry
from service.routes.jobs.access import JobAccess
from service.routes.jobs.kind import Recipes
from service.settings import Settings

_OPTIONS = ("format", "field", "column", "on_error", "language")
FIELDS = ("name", *_OPTIONS)
"""Small parts of all kinds of jobs, each at most once; ``corpus`` is a file, and may come again."""

MAX_FIELD_BYTES = 1 << 20
MAX_FILES = 64
STEP_BYTES = 1 << 20
"""Bytes that are gathered before they are taken apart and written, beside the event loop."""

_FRAME_BYTES = (MAX_FILES + 8) * (16 << 10) + 8 * MAX_FIELD_BYTES
"""The bytes that a body may have beside the corpus: at most 8 small parts."""

_SUFFIX = re.compile(r"(\.(?:txt|jsonl|ndjson|parquet|counts))?(?:\.(?:gz|zst))?$", re.IGNORECASE)


@dataclass(slots=True)
class Stored:
    """A part that lies in a file, which is named by us: of the caller's name only a known ending is kept."""

    path: Path
    suffix: str
    file: BinaryIO
    says_what: bool
    hash: str = ""
    size: int = 0


@dataclass(slots=True)
class Upload:
    """The part of one body that has arrived."""

    directory: Path
    boundary: bytes
    max_bytes: int
    min_free_bytes: int
    recipes: Recipes
    files: list[Stored] = field(default_factory=list)
    fields: dict[str, bytearray] = field(default_factory=dict)
    known: tuple[str, ...] = field(init=False)
    form: Form = field(init=False)

    def __post_init__(self) -> None:
        self.known = (*FIELDS, *self.recipes.fields)
        self.form = Form(self.boundary, self._begin, max_parts=MAX_FILES + len(self.known))

    def feed(self, data: bytes) -> None:
        """Take some more of the body apart and write it."""
        require_room(self.directory, len(data), self.min_free_bytes)
        with written("uploads"):
            self.form.feed(data)

    def finish(self) -> None:
        """Require that the body was whole, and wait until it lies on the disk."""
        self.form.finish()
        with written("uploads"):
            for stored in self.files:
                os.fsync(stored.file.fileno())
                stored.file.close()

    def close(self) -> None:
        """Let go of the files."""
        for stored in self.files:
            # Data that a full disk did not take is written once more, and refused once more.
            with suppress(OSError):
                stored.file.close()

    def words(self) -> dict[str, str]:
        """Return the parts that are text.

        Errors:
            ``invalid_unicode``
        """
        found = {}
        for name, data in self.fields.items():
            try:
                found[name] = data.decode("utf-8")
            except UnicodeDecodeError as error:
                raise ServiceError("invalid_unicode", f"this part is not UTF-8 at byte {error.start}", name) from None
        return found

    def corpus(self, words: dict[str, str]) -> dict[str, Any]:
        """Describe the files as a recipe does.

        Errors:
            ``missing_field``, ``empty_corpus``, ``invalid_value``
        """
        if not self.files:
            raise ServiceError("missing_field", "send a corpus, as curl -F corpus=@file does", "corpus")
        if not any(stored.size for stored in self.files):
            raise ServiceError("empty_corpus", "the corpus is empty", "corpus")
        if "format" not in words and not all(stored.says_what for stored in self.files):
            detail = "the name of the file does not say what is in it; send format: text, jsonl or parquet"
            raise ServiceError("invalid_value", detail, "corpus")
        for stored in self.files:
            require_readable(stored.suffix, words.get("format"), "corpus")
        options: dict[str, Any] = {name: words[name] for name in _OPTIONS if name in words}
        return {"paths": [str(stored.path) for stored in self.files], **options}

    def _begin(self, part: Part) -> _FileSink | _FieldSink:
        if part.name == "corpus":
            return self._begin_file(part.filename)
        if part.name not in self.known:
            detail = f"{quote(part.name)} is not a part of this request; send the files as corpus, and see /docs"
            raise ServiceError("unknown_field", detail, part.name)
        if part.name in self.fields:
            raise ServiceError("invalid_value", "this part is there twice; send one", part.name)
        self.fields[part.name] = bytearray()
        return _FieldSink(part.name, self.fields[part.name], self.recipes.check_field)

    def _begin_file(self, filename: str | None) -> _FileSink:
        if len(self.files) == MAX_FILES:
            raise ServiceError("too_many_parts", f"a corpus has at most {MAX_FILES} files; join some of them", "corpus")
        name = ".txt" if filename is None else filename
        found = _SUFFIX.search(name)
        suffix = "" if found is None else found[0].lower()
        form = self.fields.get("format")
        # A format that comes behind the file is too late: nobody waits for gigabytes that no run reads.
        require_readable(suffix, None if form is None else form.decode("utf-8", "replace"), "corpus")
        path = self.directory / f"corpus-{len(self.files):04d}{suffix}"
        stored = Stored(path, suffix, path.open("xb"), says_what=bool(found and found[1]))
        self.files.append(stored)
        return _FileSink(self, stored)


class _FileSink:
    def __init__(self, upload: Upload, stored: Stored) -> None:
        self._upload, self._stored = upload, stored
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self._stored.size += len(data)
        most = self._upload.max_bytes
        if sum(stored.size for stored in self._upload.files) > most:
            raise too_large(most)
        self._stored.file.write(data)
        self._hash.update(data)

    def close(self) -> None:
        self._stored.file.flush()
        self._stored.hash = self._hash.hexdigest()


class _FieldSink:
    def __init__(self, name: str, kept: bytearray, check: Callable[[str, bytes], None]) -> None:
        self._name, self._kept, self._check = name, kept, check

    def write(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > MAX_FIELD_BYTES:
            raise ServiceError("body_too_large", f"this part is larger than {MAX_FIELD_BYTES} bytes", self._name)

    def close(self) -> None:
        self._check(self._name, bytes(self._kept))


async def receive_upload(
    upload: Upload, length: int | None, access: JobAccess, settings: Settings, receive: Receive, log_entry: LogEntry
) -> None:
    """Read a whole body into an upload.

    Errors:
        ``corpus_too_large``, ``disk_full``, ``request_timeout``, ``invalid_multipart``, and those of parts.

    Raises:
        Disconnected
    """
    most, too_much = settings.max_corpus_bytes + _FRAME_BYTES, too_large(settings.max_corpus_bytes)
    if length is not None:
        if length > most:
            raise too_much
        await access.run(require_room, upload.directory, length, settings.min_free_bytes)
    try:
        async with asyncio.timeout(settings.upload_seconds):
            store, pause = partial(access.run, upload.feed), settings.body_seconds
            await in_steps(receive, log_entry, store, most=most, too_large=too_much, pause=pause)
            await access.run(upload.finish)
    except TimeoutError:
        detail = f"the body did not arrive in {settings.upload_seconds} seconds, or stood still for "
        raise ServiceError("request_timeout", f"{detail}{settings.body_seconds}; send it faster") from None


async def in_steps(
    receive: Receive,
    log_entry: LogEntry,
    store: Callable[[bytes], Awaitable[None]],
    *,
    most: int,
    too_large: ServiceError,
    pause: float,
) -> None:
    """Read a whole body, and store it some at a time.

    Args:
        most: bytes that it may have, or else ``too_large`` is raised.
        pause: seconds that it may stand still.

    Raises:
        Disconnected, TimeoutError
    """
    waiting: list[bytes] = []
    gathered, more = 0, True
    while more:
        async with asyncio.timeout(pause):
            message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        data, more = message.get("body", b""), message.get("more_body", False)
        log_entry.bytes_in += len(data)
        log_entry.unread = more
        if log_entry.bytes_in > most:
            raise too_large
        waiting.append(data)
        gathered += len(data)
        if gathered >= STEP_BYTES or not more:
            await store(b"".join(waiting))
            waiting, gathered = [], 0


def require_readable(name: str, form: str | None, path: str) -> None:
    """Refuse a Parquet file that its name or the given format says is compressed as a whole: no run reads one.

    Errors:
        ``invalid_value``
    """
    packed = {None: (".parquet.gz", ".parquet.zst"), "parquet": (".gz", ".zst")}
    if name.lower().endswith(packed.get(form, ())):
        detail = "a Parquet file is compressed inside, not as a whole; send it as it is, or first a format"
        raise ServiceError("invalid_value", detail, path)


def require_room(directory: Path, size: int, min_free_bytes: int) -> None:
    """Require room on a disk.

    Errors:
        ``disk_full``
    """
    with written("uploads"):
        if shutil.disk_usage(directory).free - size < min_free_bytes:
            raise full("uploads")


def too_large(most: int) -> ServiceError:
    """Say that a corpus is too large."""
    return ServiceError("corpus_too_large", f"the corpus is larger than {most} bytes; send less", "corpus")
