"""Keep the finished parts of a run until all are there: files with a marker that is written last.

The folder stands beside the output, as ``.NAME.parts``. What is in it carries the key of its task, so that a run with
other settings, or over files that have changed, finds nothing of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from tokenizer_core.atomic_files import fresh_file, replace, sync_directory
from tokenizer_core.token_files.layouts.layout import Piece
from tokenizer_core.token_files.part import Totals
from tokenizer_core.token_files.plan import Task
from tokenizer_core.token_files.recipe import Recipe

_COPIED = 1 << 20
_PLAN = "plan.json"
_SETTINGS = "settings.json"

_SYNCED = 16 << 20
"""Bytes of a file after which the disk begins to write: all at the end is a tenth of a run's time."""


def store_of(output: Path) -> Path:
    """Return where the parts of an output stand."""
    return output.with_name(f".{output.name}.parts")


class Store:
    """The parts of one output."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def tokenizer(self, recipe: Recipe) -> Path:
        """Return where tasks on other hosts find the tokenizer."""
        return self.folder / f"tokenizer-{recipe.tokenizer.removeprefix('sha256:')}"

    def parts(self, task: Task) -> list[dict[str, Any]]:
        """Return the markers of the first parts of a task, up to one that is missing."""
        return self._parts(task.key)

    def totals(self, key: str) -> tuple[int, int]:
        """Return the documents and tokens of a task."""
        found = self._parts(key)
        return sum(marker["documents"] for marker in found), sum(marker["tokens"] for marker in found)

    def is_done(self, task: Task) -> bool:
        """Return whether all parts of a task are there."""
        return _read(self._marker_of_task(task.key)) is not None

    def write_plan(self, planned: Sequence[Task]) -> None:
        """Write down the tasks, for whoever asks whether one is left."""
        replace(self.folder / _PLAN, [json.dumps([task.key for task in planned]).encode()])

    def plan(self) -> list[str]:
        """Return the keys of the tasks of the last run that began."""
        keys: list[str] = json.loads((self.folder / _PLAN).read_bytes())
        return keys

    def others_settings(self, planned: Sequence[Task], settings: dict[str, Any]) -> dict[str, Any]:
        """Return in what the last run differed, if there are parts of it and none of them is of these tasks."""
        found = {path.name.partition("-")[0] for path in self.folder.glob("*-*.json")}
        if not found or not found.isdisjoint(task.key for task in planned):
            return {}
        last = _read(self.folder / _SETTINGS) or settings
        return {name: value for name, value in last.items() if value != settings.get(name)}

    def write_settings(self, settings: dict[str, Any]) -> None:
        """Write down the settings, for a run that is given others."""
        replace(self.folder / _SETTINGS, [json.dumps(settings).encode()])

    def left(self, keys: Iterable[str]) -> list[str]:
        """Return those of some tasks that are not done."""
        names = {entry.name for entry in os.scandir(self.folder)}
        return [key for key in keys if self._marker_of_task(key).name not in names]

    def finish(self, task: Task, parts: int) -> None:
        """Say that a task has so many parts."""
        replace(self._marker_of_task(task.key), [json.dumps({"parts": parts}).encode()])

    def publish(self, task: Task, part: int, outputs: Outputs, totals: Totals) -> None:
        """Put the files of a part in place, then its marker."""
        pieces = []
        for number, piece in enumerate(outputs.pieces):
            for suffix, facts in piece.files.items():
                Path(facts.pop("path")).replace(self.file(task, part, number, suffix))
            pieces.append({"documents": piece.documents, "tokens": piece.tokens, "files": piece.files})
        sync_directory(self.folder)
        marker = {
            "documents": totals.documents,
            "tokens": totals.tokens,
            "trained": totals.trained,
            "skipped": totals.skipped.count,
            "first_skipped": totals.skipped.first,
            "sources": totals.sources,
            "pieces": pieces,
        }
        replace(self._marker(task.key, part), [json.dumps(marker).encode()])

    def file(self, task: Task, part: int, piece: int, suffix: str) -> Path:
        """Return where a file of a part stands."""
        return self.folder / f"{task.key}-{part}-{piece}{suffix}"

    def outputs(self, task: Task, part: int) -> Outputs:
        """Begin the files of a part."""
        return Outputs(lambda piece, suffix: fresh_file(self.file(task, part, piece, suffix)))

    def spool(self, task: Task) -> tuple[Path, BinaryIO]:
        """Make a file for the ids of a part until their order is known."""
        return fresh_file(self.folder / f"{task.key}.spool")

    def tidy(self, *, is_whole: bool) -> None:
        """Remove the folder, unless there is something that a later run could keep."""
        if is_whole or not any(self.folder.glob("*-*.json")):
            shutil.rmtree(self.folder, ignore_errors=True)

    def _parts(self, key: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while (marker := _read(self._marker(key, len(found)))) is not None:
            found.append(marker)
        return found

    def _marker_of_task(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _marker(self, key: str, part: int) -> Path:
        return self.folder / f"{key}-{part}.json"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        marker: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    return marker


class Outputs:
    """The files of one part while they are written: under names of their own, removed unless the part is published."""

    def __init__(self, fresh: Callable[[int, str], tuple[Path, BinaryIO]]) -> None:
        self._fresh = fresh
        self._syncer = ThreadPoolExecutor(1, "sync")
        self._open: list[HashedFile] = []
        self.pieces: list[Piece] = []
        self.sources: list[str] = []

    def piece(self) -> Piece:
        """Begin the next shard."""
        self.pieces.append(Piece())
        return self.pieces[-1]

    def open(self, piece: Piece, suffix: str) -> HashedFile:
        """Make a file of a shard."""
        path, file = self._fresh(self.pieces.index(piece), suffix)
        self._open.append(HashedFile(path, file, piece.files.setdefault(suffix, {}), self._syncer))
        return self._open[-1]

    def discard(self) -> None:
        """Remove what was not published."""
        for file in self._open:
            file.discard()
        self._syncer.shutdown()


class HashedFile:
    """A file that is hashed and brought to the disk as it is written.

    Args:
        facts: gets its path, size and hash.
        syncer: of one thread, which waits for the disk.
    """

    def __init__(self, path: Path, file: BinaryIO, facts: dict[str, Any], syncer: ThreadPoolExecutor) -> None:
        self._path, self._file, self._facts, self._syncer = path, file, facts, syncer
        self._digest = hashlib.sha256()
        self._size = self._unsynced = 0
        self._sync: Future[None] | None = None
        self._has_room = self._is_discarded = False

    def write(self, data: bytes) -> None:
        """Append."""
        if self._is_discarded:
            # Arrow's writers write their end when they are freed.
            return
        if not self._has_room:
            self._digest.update(data)
        self._file.write(data)
        self._size += len(data)
        self._unsynced += len(data)
        if self._unsynced >= _SYNCED and (self._sync is None or self._sync.done()):
            # macOS has no ``fdatasync``.
            self._start_sync(getattr(os, "fdatasync", os.fsync))

    def reserve(self, size: int) -> None:
        """Leave room at the beginning for ``patch``."""
        self._has_room = True
        self.write(bytes(size))

    def patch(self, data: bytes) -> None:
        """Write at the beginning, into the room left there."""
        self._file.seek(0)
        self._file.write(data)

    def close(self) -> None:
        """Wait until the file is on the disk, and note its size and hash."""
        self._file.flush()
        self._start_sync(os.fsync)
        if self._has_room:
            # Only now is its beginning known.
            self._file.seek(0)
            self._digest = hashlib.file_digest(cast("IO[Any]", self._file), "sha256")  # type: ignore[arg-type]
        self._wait()
        self._file.close()
        self._facts |= {"path": str(self._path), "bytes": self._size, "sha256": self._digest.hexdigest()}

    def _start_sync(self, sync: Callable[[int], None]) -> None:
        self._wait()
        self._sync = self._syncer.submit(sync, self._file.fileno())
        self._unsynced = 0

    def _wait(self) -> None:
        """Wait for the disk, which says once that it is full or broken."""
        if self._sync is not None:
            sync, self._sync = self._sync, None
            sync.result()

    def discard(self) -> None:
        """Close the file, and remove it unless it was renamed."""
        self._is_discarded = True
        with contextlib.suppress(OSError):
            self._wait()
        with contextlib.suppress(OSError):
            # On a full disk what is left in the buffer cannot be written either.
            self._file.close()
        self._path.unlink(missing_ok=True)


def joined(parts: list[Path], out: Path) -> dict[str, Any]:
    """Write files end to end into one, and return its size and hash."""
    facts: dict[str, Any] = {}
    fresh, file = fresh_file(out)
    with ThreadPoolExecutor(1, "sync") as syncer, file:
        hashed = HashedFile(fresh, file, facts, syncer)
        for path in parts:
            with path.open("rb") as part:
                while data := part.read(_COPIED):
                    hashed.write(data)
        hashed.close()
        fresh.replace(out)
    del facts["path"]
    return facts
