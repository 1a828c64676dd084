"""The directory names of trained artifacts.

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
from contextlib import suppress
from pathlib import Path
from typing import Any

from service.errors import ServiceError
from tokenizer_core import ArtifactError, HashMismatch, TokdError, Tokenizer

MANIFEST = "manifest.json"
"""It pins every file of an artifact, so two of equal manifests are equal."""

PUBLISHED = re.compile(r"([0-9a-f]{64})(?:-([^+]*))?(?:[+].*)?")
"""Names of such directories, with the digits of the hash and the name."""

_DIGITS = 32
"""Of the manifest's hash: with all 64 the name of a directory could be longer than 255 bytes."""

_HASH_DIGITS = 64

_log = logging.getLogger("tokd.jobs")


def put_into_place(made: Path, place: Path) -> Path:
    """Move an artifact to its place, or beside an existing one, in one step; return its path.

    A damaged one that is there is renamed: a place is named after its content, so that content would otherwise never
    have a place again.
    """
    while not _move(made, place):
        digits = hashlib.sha256((made / MANIFEST).read_bytes()).hexdigest()[:_DIGITS]
        place = place.with_name(f"{place.name}+{digits}")
    sync_directory(place.parent)
    return place


def sync_directory(directory: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def verified(place: Path, hash: str, **options: Any) -> Tokenizer:
    """Open the artifact of a place; ``options`` are those of ``Tokenizer.open``.

    Raises:
        ArtifactError: it is damaged, or not the one of this hash.
    """
    tokenizer = Tokenizer.open(place, **options)
    if tokenizer.hash != hash:
        raise HashMismatch(f"it holds {tokenizer.hash}; a directory is named after what it holds")
    return tokenizer


def damaged(place: Path, error: TokdError) -> ServiceError:
    """Return the error for an artifact that cannot be opened: a caller learns so much, and the log what is wrong."""
    _log.error("%s is not served: %s", place, error.message)
    detail = "the files of this artifact are damaged on this server, or of another version; train it again"
    return ServiceError("artifact_damaged", detail)


def first_of(directory: Path, digits: str, name: str | None = None, *, any_name: bool = False) -> Path | None:
    """Return the place of an artifact of a hash: of several the one whose manifest is the oldest.

    So a later artifact never changes the meaning of a reference.

    Args:
        name: that the place has; ``None`` is a place without one.
        any_name: take those with any name and without one.
    """
    found: list[tuple[int, str]] = []
    with suppress(OSError):
        for path in directory.iterdir():
            place = PUBLISHED.fullmatch(path.name)
            if place and place[1] == digits and (any_name or place[2] == name):
                with suppress(OSError):
                    found.append(((path / MANIFEST).stat().st_mtime_ns, path.name))
    return directory / min(found)[1] if found else None


def beside_damaged(place: Path) -> Path:
    """Return where a damaged artifact is put aside, hidden from whoever looks for artifacts."""
    return place.with_name(f".{place.name[:64]}.damaged-{secrets.token_hex(8)}")


def _move(made: Path, place: Path) -> bool:
    """Move an artifact to a place, unless an equal one is there; return ``False`` if another one is, which stays."""
    try:
        made.rename(place)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            raise
        try:
            verified(place, f"sha256:{place.name[:_HASH_DIGITS]}")
            return (place / MANIFEST).read_bytes() == (made / MANIFEST).read_bytes()
        except ArtifactError as damage:
            aside = beside_damaged(place)
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
