"""The one directory of a server's tokenizers: what lies there, and whether that changed.

::

    NAME/                         an artifact that the operator put there, under any name
    <hash>[-NAME][+DIGITS]/       an artifact that a job published (``artifact_dirs``), which is never listed
    .tokenizers/                  what came by the routes, which all processes read and one at a time changes
        <hash>-NAME[+DIGITS]/     an artifact
        served.json               the aliases; beside them the earlier version has a list of the artifacts
        .incoming-.../            an upload, or what is being removed
    .jobs/, .encoded/             the files of jobs, and what they encoded

Each change is one rename, so whoever looks has all of it or nothing.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from math import inf
from pathlib import Path

from service.registry.artifact_dirs import MANIFEST, PUBLISHED, beside_damaged, put_into_place
from service.registry.incoming import UPLOADS
from service.registry.places import tokenizers_directory
from service.setting_values import InvalidSetting
from service.settings import Settings

INDEXED_SECONDS = 0.1
"""Time for which a list of what jobs published counts although the directory changed."""

SETTLED_NANOSECONDS = 2_000_000_000
"""A directory that changed just now may change again without another time of change."""

WAITS_SINCE: ContextVar[float] = ContextVar("waits_since", default=inf)
"""When a request began to wait for the disk. A look that was taken later counts for it, however long it then waits
until the tokenizer is open; else a look that is old again would send it back until it is refused."""

_log = logging.getLogger("tokd")

_NAME = re.compile(r"\w[\w.:/@-]*", re.ASCII)

_Listed = tuple[Mapping[str, list[str]], list[str]]


@dataclass(frozen=True, slots=True)
class Contents:
    """What is served of the directory.

    Attributes:
        added: where each artifact belongs that came by the routes, with where it lies now.
        aliases: references, by alias.
        operators: the operator's artifacts.
    """

    added: Mapping[Path, Path]
    aliases: Mapping[str, str]
    operators: tuple[Path, ...]

    def of(self, name: str) -> list[Path]:
        """Return the places of a name that was added: of several, all but one are damaged."""
        return [place for place in self.added if name_of(place) == name]


class TokenizersDirectory:
    """The directory; nothing is written before something is added."""

    def __init__(self, settings: Settings) -> None:
        self.path = tokenizers_directory(settings)
        self.added = self.path / ".tokenizers"
        """The directory of what came by the routes."""
        self._file = self.added / "served.json"
        watched = settings.tokenizers or settings.watch
        self._watched = None if watched is None else Path(watched)
        self._shares = self._watched is not None and self._watched.resolve() == self.path.resolve()
        # The last look: when it began, when the directories had changed, what `_list` and what it returned.
        self._last: tuple[float, tuple[int, ...], _Listed, object] = -inf, (), ({}, []), None

    def look(self) -> object:
        """Return what differs once anything that is served changes, or is repaired."""
        at, changed, last = time.monotonic(), self._changed_ns(), self._last
        # Thousands of jobs may have published there, and it is looked at four times a second.
        listed = last[2] if changed[:2] == last[1][:2] else self._list()
        artifacts = (*self._operators(listed), *self._added())
        found: object = (_status(self._file), tuple((path, _stamp(path)) for path in artifacts))
        if found == last[3]:
            # The same object is compared at once.
            found = last[3]
        settled = time.time_ns() - SETTLED_NANOSECONDS
        self._last = at, tuple(each if each <= settled else -1 for each in changed), listed, found
        return found

    def is_current(self, seen: object) -> bool:
        """Tell whether nothing can have changed since a look."""
        at, last, _, found = self._last
        if found != seen or at >= WAITS_SINCE.get():
            return found == seen
        changed = self._changed_ns()
        is_recent = time.monotonic() - at <= INDEXED_SECONDS
        return changed == last or (is_recent and changed[2:] == last[2:])

    def hashes(self, name: str) -> list[str]:
        """Return the hashes of the artifacts that jobs had published under a name at the last look."""
        return self._last[2][0].get(name, [])

    def _added(self) -> list[Path]:
        return [self.added / name for name in _names(self.added)]

    def _list(self) -> _Listed:
        """Return the hashes of what jobs published, by name, and the names of the operator's directories."""
        names, hashes = _names(self.path), dict[str, list[str]]()
        for found in filter(None, map(PUBLISHED.fullmatch, names)):
            if found[2] and f"sha256:{found[1]}" not in hashes.setdefault(found[2], []):
                hashes[found[2]].append(f"sha256:{found[1]}")
        if not self._shares:
            return hashes, [] if self._watched is None else _names(self._watched)
        # What jobs publish is found by its hash, which may be a secret.
        return hashes, [name for name in names if not PUBLISHED.fullmatch(name)]

    def _operators(self, listed: _Listed) -> tuple[Path, ...]:
        found = [Path(self._watched or "", name) for name in listed[1]]
        # Without a manifest it is no artifact, or not whole yet.
        return tuple(path for path in found if (path / MANIFEST).exists())

    def read(self) -> Contents:
        """Read what is served, of what the last look has found.

        Raises:
            InvalidSetting: the file holds something else.
        """
        added, operators = {path: path for path in self._added() if name_of(path)}, self._operators(self._last[2])
        try:
            data = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            # The store of jobs reports a path that is no directory at all.
            if _status(self._file) is None:
                return Contents(added, {}, operators)
            raise self._wrong(f"cannot be read: {error}") from None
        aliases = data.get("aliases") if isinstance(data, dict) else None
        if not isinstance(aliases, dict) or not all(
            _NAME.fullmatch(name) and isinstance(reference, str) and _NAME.fullmatch(reference)
            for name, reference in aliases.items()
        ):
            raise self._wrong("this server did not write")
        return Contents(added, aliases, operators)

    def _wrong(self, wrong: str) -> InvalidSetting:
        return InvalidSetting("tokenizers", f"has {self._file}, which {wrong}; put back a copy, or remove it")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold off all other writers, in whatever process."""
        self.added.mkdir(parents=True, exist_ok=True)
        with (self.added / "lock").open("ab") as lock:
            flock(lock, LOCK_EX)
            yield

    def place(self, hash: str, name: str) -> Path:
        """Return where an artifact that is added belongs."""
        return self.added / f"{hash.removeprefix('sha256:')}-{name}"

    def change(self, before: Contents, after: Contents) -> None:
        """Make the directory another; the caller holds the lock."""
        coming = {place: now for place, now in after.added.items() if now != place}
        if coming or after.aliases != before.aliases:
            # Also the same aliases: the earlier version, whose list they end, would put aside what it does not list.
            self._write(after.aliases)
        for place, now in coming.items():
            self._put(now, place)
        for place in before.added.keys() - after.added.keys():
            if coming:
                self._put_aside(place)
            else:
                self._drop(place)

    def _put(self, made: Path, place: Path) -> None:
        is_new = not place.exists()
        try:
            put_into_place(made, place)
        except OSError:
            if is_new and place.exists():
                self._drop(place)
            raise

    def _put_aside(self, place: Path) -> None:
        """Put a damaged artifact aside, in whose stead another came: somebody may want to repair it."""
        aside = beside_damaged(place)
        with suppress(OSError):
            place.rename(aside)
            _log.warning("%s is damaged and put aside as %s", place, aside.name)

    def _drop(self, place: Path) -> None:
        """Remove an artifact; who has it open keeps it."""
        shutil.rmtree(place.rename(self.added / f"{UPLOADS}dropped-{secrets.token_hex(8)}"), ignore_errors=True)

    def _write(self, aliases: Mapping[str, str]) -> None:
        made = self.added / f".{self._file.name}.new"
        try:
            with made.open("w", encoding="utf-8") as file:
                json.dump({"aliases": dict(aliases)}, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            made.replace(self._file)
        except BaseException:
            with suppress(OSError):
                made.unlink(missing_ok=True)
            raise

    def _changed_ns(self) -> tuple[int, ...]:
        paths = (self.path, self._watched or self.path, self.added)
        return tuple(found[0] if (found := _status(path)) else 0 for path in paths)


def name_of(place: Path) -> str | None:
    """Return the name in that of a directory that this server made."""
    found = PUBLISHED.fullmatch(place.name)
    return found and found[2]


def _status(path: Path) -> tuple[int, int, int] | None:
    """Return what differs between two versions of a file; a rename always makes another one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _stamp(directory: Path) -> object:
    """Return what differs once the files of a directory are others."""
    try:
        found = [(each.name, each.stat()) for each in os.scandir(directory)]
    except OSError:
        return None
    return sorted((name, status.st_ctime_ns, status.st_size) for name, status in found)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(directory) if not entry.name.startswith("."))
    except OSError:
        return []
