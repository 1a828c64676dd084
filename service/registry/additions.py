"""The tokenizers and aliases that were added at run time: one small file, which all processes read and one at a time
writes.

The file is replaced by a rename, so whoever reads it has all of one version. The artifacts lie beside it, in
directories named after what they hold, so that a directory never changes its meaning.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

from service.registry.artifact_dirs import put_into_place
from service.registry.incoming import UPLOADS, incoming, sweep
from service.setting_values import InvalidSetting
from tokenizer_core import Tokenizer

_FILE, _LOCK = "served.json", "lock"
_ASIDE = ".aside-"
_NAME = re.compile(r"\w[\w.:/@-]*", re.ASCII)
_DIRECTORY = re.compile(r"\w[\w.+-]*", re.ASCII)

_log = logging.getLogger("tokd")

Signature = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Served:
    """One version of the file.

    Attributes:
        tokenizers: directories below that of the file, by name.
        aliases: references, by alias.
    """

    tokenizers: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)


class Additions:
    """The file and the artifacts beside it; nothing is written before something is added."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._file = directory / _FILE

    def signature(self) -> Signature:
        """Return what differs between two versions; a rename always makes another file."""
        try:
            found = self._file.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size

    def read(self) -> Served:
        """Read the file.

        Raises:
            InvalidSetting: it holds something else.
        """
        try:
            data = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            if self.signature() is None:
                # The store of jobs reports a path that is no directory at all.
                return Served()
            wrong = f"has {self._file}, which cannot be read: {error}; put back a copy, or remove it"
            raise InvalidSetting("trained", wrong) from None
        tables: list[Any] = [data.get(name) if isinstance(data, dict) else None for name in ("tokenizers", "aliases")]
        for table, kind in zip(tables, (_DIRECTORY, _NAME), strict=True):
            if not isinstance(table, dict) or not all(
                _NAME.fullmatch(name) and isinstance(value, str) and kind.fullmatch(value)
                for name, value in table.items()
            ):
                wrong = f"has {self._file}, which this server did not write; put back a copy, or remove it"
                raise InvalidSetting("trained", wrong)
        return Served(*tables)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold off all other writers, in whatever process."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / _LOCK).open("ab") as lock:
            flock(lock, LOCK_EX)
            yield

    def write(self, served: Served) -> None:
        """Replace the file; the caller holds the lock."""
        made = self.directory / f".{_FILE}.new"
        data = {"tokenizers": dict(served.tokenizers), "aliases": dict(served.aliases)}
        try:
            with made.open("w", encoding="utf-8") as file:
                json.dump(data, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            made.replace(self._file)
        except BaseException:
            with suppress(OSError):
                made.unlink(missing_ok=True)
            raise

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """Give a directory for what arrives, and remove it in the end."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with incoming(self.directory, UPLOADS) as made:
            yield made

    def sweep(self) -> None:
        """Remove uploads and removed artifacts that killed processes have left."""
        sweep(self.directory, UPLOADS)

    def keep(self, tokenizer: Tokenizer, name: str, made: Path) -> str:
        """Save a tokenizer as an artifact beside the file, by way of ``made``; return its directory's name."""
        tokenizer.save(made, name=name)
        place = self.directory / f"{tokenizer.hash.removeprefix('sha256:')}-{name}"
        is_new = not place.exists()
        try:
            return put_into_place(made, place).name
        except OSError:
            if is_new:
                self.drop(place.name)
            raise

    def drop(self, directory: str) -> None:
        """Remove an artifact that the file no longer names; who has it open keeps it."""
        place = self.directory / directory
        with suppress(OSError):
            place = place.rename(self.directory / f"{UPLOADS}dropped-{secrets.token_hex(8)}")
        shutil.rmtree(place, ignore_errors=True)

    def put_aside(self, served: Served) -> None:
        """Put aside the artifacts that the file does not name: it may have been repaired, and lack what is wanted.

        The caller holds the lock.
        """
        kept = set(served.tokenizers.values())
        for path in self.directory.iterdir():
            if path.is_dir() and path.name not in kept and not path.name.startswith("."):
                aside = path.with_name(f"{_ASIDE}{path.name[:200]}-{secrets.token_hex(4)}")
                path.rename(aside)
                _log.warning("%s is not named by %s and put aside as %s", path, self._file, aside.name)
