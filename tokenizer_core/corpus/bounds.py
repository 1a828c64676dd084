"""Bounds of a corpus from a caller: paths, URLs, bytes.

A local path is checked twice: in the search for files, and on the opened file itself. So no link leads out of the
roots, even one that is made in between.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Set
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import IO, NamedTuple

from tokenizer_core.arguments import check_flag, check_kind, check_unicode, optional_integer, path_of, tuple_of
from tokenizer_core.corpus.addresses import is_public_host
from tokenizer_core.corpus.roots import RealRoots
from tokenizer_core.errors import CorpusForbidden, CorpusNotFound, CorpusTooLarge, InvalidCorpus

_BY_NAME_ONLY = {"s3", "s3a", "gs", "gcs"}
"""Schemes whose URLs name no host: where they lead is a setting of this machine."""

MAX_PATH_BYTES = 4095
"""Linux opens no longer path."""

_LOCAL = {"file", "local"}
_WEB = {"http", "https"}


class Place(NamedTuple):
    """A place to search for files: a path, or the literal beginning of a glob pattern, and the rest."""

    beginning: Path
    pattern: str = ""

    @classmethod
    def of(cls, path: Path, plain: Iterable[Path] = ()) -> Place:
        """Tell a pattern from a path.

        Args:
            plain: directories whose names are never patterns.
        """
        if not glob.has_magic(str(path)):
            return cls(path)
        known = max((len(one.parts) for one in plain if path.is_relative_to(one)), default=0)
        parts = path.parts[known:]
        rest = [*dropwhile(lambda part: not glob.has_magic(part), parts)]
        return cls(Path(*path.parts[: len(path.parts) - len(rest)]), "/".join(rest))

    @property
    def path(self) -> Path:
        """Return both as they were given."""
        return self.beginning / self.pattern


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a corpus; an empty bound or ``None`` restricts nothing.

    Attributes:
        roots: local files must be below one of these, after all links; a relative path begins at the first.
        closed: directories below a root that do not belong to it, nor anything in them.
        uploads: a file directly in this directory is found by its literal name, which is never a pattern.
        schemes: of URLs, such as ``https``.
        max_bytes: of all files, unpacked.
        max_entries: of directories that are looked at to find the files; two links to the directory they are in make
            any tree endless.
        public_addresses_only: no URL leads to an address of this machine or of a private network, not even by a
            redirect or by a name that resolves to one.

    Raises:
        InvalidOption: a field is of another type: a string of one scheme would hold each of its letters.
    """

    roots: tuple[Path, ...] = ()
    schemes: frozenset[str] = frozenset()
    max_bytes: int | None = None
    public_addresses_only: bool = False
    closed: tuple[Path, ...] = ()
    uploads: Path | None = None
    max_entries: int | None = 1 << 24

    def __post_init__(self) -> None:
        for name in ("roots", "closed"):
            paths = tuple_of(getattr(self, name), name)
            object.__setattr__(self, name, tuple(path_of(path, f"{name}[{at}]") for at, path in enumerate(paths)))
        if self.uploads is not None:
            object.__setattr__(self, "uploads", path_of(self.uploads, "uploads"))
        check_kind(self.schemes, Set, "schemes")
        for scheme in self.schemes:
            check_unicode(scheme, "schemes")
        object.__setattr__(self, "schemes", frozenset(self.schemes))
        object.__setattr__(self, "max_bytes", optional_integer(self.max_bytes, "max_bytes", 0))
        object.__setattr__(self, "max_entries", optional_integer(self.max_entries, "max_entries", 0))
        check_flag(self.public_addresses_only, "public_addresses_only")

    def real_roots(self) -> RealRoots:
        """Return the roots as links lead now."""
        return RealRoots(self.roots, self.closed)

    def local(self, path: str, field: str, real: RealRoots | None = None) -> Place:
        """Return where files of a path or glob pattern are to be looked for.

        Args:
            real: the roots, looked at once for many paths; by default as they are now.

        Raises:
            CorpusForbidden: ``path_forbidden``, whether there is such a file or not.
        """
        if (size := len(path.encode("utf-8", "surrogatepass"))) > MAX_PATH_BYTES:
            message = (
                f"{path[:200]}... has {size} bytes, and no path has more than {MAX_PATH_BYTES}; name a shorter one"
            )
            raise CorpusForbidden(message, code="path_forbidden", field=field)
        if not self.roots:
            return Place.of(Path(path))
        placed = self.roots[0] / path
        if placed.parent == self.uploads and placed.name != "..":
            return Place(placed)
        real = real or self.real_roots()
        place = Place.of(placed, real.with_magic)
        if ".." in placed.parts or not real.holds(place.beginning):
            raise self.outside(path, field)
        return place

    def open(self, path: Path, field: str) -> IO[bytes]:
        """Open a regular file.

        Raises:
            CorpusForbidden: ``path_forbidden``, if the opened file is outside the roots.
        """
        # O_NONBLOCK: opening a pipe must not wait for its other end.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if self.roots and not self._is_held(path, status):
                raise self.outside(str(path), field)
            if not stat.S_ISREG(status.st_mode):
                raise InvalidCorpus(f"{path} is not a regular file", file=str(path), field=field)
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise

    def scheme(self, url: str, field: str) -> str:
        """Return the scheme of a URL that may be read; ``file`` is a local path.

        Raises:
            CorpusForbidden: ``scheme_forbidden``, ``address_forbidden``.
        """
        scheme = url.partition("://")[0].lower()
        # fsspec, which reads all but http and https, would follow a chain such as s3://a::file:///etc/passwd.
        is_chain = "::" in url and scheme not in _WEB
        if self.schemes and (scheme not in self.schemes or is_chain):
            allowed = ", ".join(sorted(self.schemes))
            message = f"URLs with {scheme[:40]}:// may not be read here; use {allowed}"
            raise CorpusForbidden(message, code="scheme_forbidden", field=field)
        if self.public_addresses_only and scheme not in {*_WEB, *_LOCAL, *_BY_NAME_ONLY}:
            raise CorpusForbidden(
                f"where {scheme[:40]}:// leads cannot be checked here; use https", code="address_forbidden", field=field
            )
        return "file" if scheme in _LOCAL else scheme

    @staticmethod
    def is_public_host(host: str) -> bool:
        """Tell whether a URL's host may be public, by its name or address alone, without asking a resolver."""
        return is_public_host(host)

    def outside(self, path: str, field: str) -> CorpusForbidden:
        """Say that a path leads out of the roots."""
        return CorpusForbidden(
            f"{path[:200]} is outside the directories that a corpus may lie in", code="path_forbidden", field=field
        )

    def check_size(self, size: int, field: str = "corpus") -> None:
        """Refuse more bytes than there may be.

        Raises:
            CorpusTooLarge
        """
        if self.max_bytes is not None and size > self.max_bytes:
            message = f"the corpus has more than {self.max_bytes} bytes, unpacked; train on less"
            raise CorpusTooLarge(message, field=field)

    def check_entries(self, entries: int, field: str = "corpus") -> None:
        """Refuse to look at more entries of directories than may be looked at.

        Raises:
            CorpusTooLarge
        """
        if self.max_entries is not None and entries > self.max_entries:
            message = f"the files are not found among {self.max_entries} entries of directories; name fewer directories"
            raise CorpusTooLarge(message, field=field)

    def _is_held(self, path: Path, opened: os.stat_result) -> bool:
        """Tell whether the opened file is the present target of this path, below a root."""
        real = self.real_roots()
        try:
            return real.holds(path) and os.path.samestat(os.lstat(real.real(path)), opened)
        except OSError:
            return False


UNBOUNDED = Bounds()


def not_found(url: str, reason: object, field: str) -> CorpusNotFound:
    """Say that a URL cannot be read."""
    return CorpusNotFound(f"{url[:200]} cannot be read: {reason}", field=field)
