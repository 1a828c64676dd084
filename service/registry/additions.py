"""The tokenizers and aliases that were added at run time: one small file, which all processes read and one at a time
writes.

The file is replaced by a rename, so whoever reads it has all of one version. The artifacts lie beside it, in
directories named after what they hold, so that a directory never changes its meaning.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

from service.registry.artifact_dirs import put_into_place
from service.setting_values import InvalidSetting
from tokenizer_core import Tokenizer

_FILE, _LOCK = "served.json", "lock"
_INCOMING = ".incoming-"

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
        except (OSError, ValueError) as error:
            if self.signature() is None:
                # What is no directory for it at all, the store of jobs names.
                return Served()
            raise InvalidSetting("trained", f"has {self._file}, which cannot be read: {error}") from None
        tables: list[Any] = [data.get(name) if isinstance(data, dict) else None for name in ("tokenizers", "aliases")]
        for table in tables:
            if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
                raise InvalidSetting("trained", f"has {self._file}, which this server did not write")
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
        with made.open("w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        made.replace(self._file)

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """Give a directory for what arrives, and remove it in the end."""
        self.directory.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=self.directory))
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def keep(self, tokenizer: Tokenizer, name: str, made: Path) -> str:
        """Save a tokenizer as an artifact beside the file, by way of ``made``; return its directory's name."""
        tokenizer.save(made, name=name)
        place = self.directory / f"{tokenizer.hash.removeprefix('sha256:')}-{name}"
        return put_into_place(made, place).name

    def drop(self, directory: str) -> None:
        """Remove an artifact that the file no longer names; who has it open keeps it."""
        aside = self.directory / f"{_INCOMING}dropped-{directory}"
        with suppress(OSError):
            (self.directory / directory).rename(aside)
        shutil.rmtree(aside, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what a process left behind that died while it added or removed; the caller holds the lock."""
        kept = set(self.read().tokenizers.values())
        for path in self.directory.iterdir():
            if path.is_dir() and path.name not in kept and not path.name.startswith("."):
                shutil.rmtree(path, ignore_errors=True)
