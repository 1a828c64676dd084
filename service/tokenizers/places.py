"""Where trained artifacts lie in their directory.

The place is ``<hex digits of the hash>[-<name>]``. The hash covers what can change an id: another artifact of that hash
and name, with another template, other roles or another corpus, lies beside the first, in
``<the same>+<hex digits of its manifest's hash>``.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import secrets
from pathlib import Path

from tokenizer_core import ArtifactError, Tokenizer

MANIFEST = "manifest.json"
"""It pins every file of an artifact, so two of equal manifests are equal."""

_DIGITS = 32
"""Of the manifest's hash: with all 64 the name of a directory could be longer than 255 bytes."""

_log = logging.getLogger("tokd.jobs")


def put_into_place(made: Path, place: Path) -> Path:
    """Move an artifact to its place, or beside it where another one stands, in one step; return where it is.

    A damaged one that is there is renamed: a place is named after its content, so that content would otherwise never
    have a place again.
    """
    while not _move(made, place):
        digits = hashlib.sha256((made / MANIFEST).read_bytes()).hexdigest()[:_DIGITS]
        place = place.with_name(f"{place.name}+{digits}")
    descriptor = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return place


def first_of(directory: Path, digits: str, name: str | None = None, *, any_name: bool = False) -> Path | None:
    """Return the place of an artifact of a hash: of several the one whose manifest is the oldest.

    So what is published later never changes what a reference stands for.

    Args:
        name: that the place has; ``None`` is a place without one.
        any_name: take those with any name and without one.
    """
    named = "" if name is None else f"-{re.escape(name)}"
    places = re.compile(f"{digits}(?:-[^+]*)?(?:[+].*)?" if any_name else rf"{digits}{named}(?:[+].*)?")
    oldest: tuple[int, str] | None = None
    try:
        found = [path for path in directory.iterdir() if places.fullmatch(path.name)]
    except OSError:
        return None
    for path in found:
        try:
            one = (path / MANIFEST).stat().st_mtime_ns, path.name
        except OSError:
            continue
        oldest = one if oldest is None else min(oldest, one)
    return None if oldest is None else directory / oldest[1]


def _move(made: Path, place: Path) -> bool:
    """Move an artifact to a place, unless an equal one is there; return ``False`` if another one is, which stays."""
    try:
        made.rename(place)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise
        try:
            Tokenizer.open(place)
            return (place / MANIFEST).read_bytes() == (made / MANIFEST).read_bytes()
        except ArtifactError as damage:
            aside = place.with_name(f".{place.name[:64]}.damaged-{secrets.token_hex(8)}")
            _log.error("%s is damaged and put aside as %s: %s", place, aside.name, damage.message)
            place.rename(aside)
            _keep_age(aside / MANIFEST, made / MANIFEST)
            made.rename(place)
    return True


def _keep_age(damaged: Path, fresh: Path) -> None:
    """Let what is made again be as old as what was damaged, or its hash would serve another from now on."""
    try:
        if damaged.read_bytes() == fresh.read_bytes():
            status = damaged.stat()
            os.utime(fresh, ns=(status.st_atime_ns, status.st_mtime_ns))
    except OSError:
        # Without a manifest nobody knows what was there.
        return
