"""Find what a glob pattern matches, exactly as ``glob`` does, but never over what it cannot look at.

``glob`` passes over a directory that cannot be listed, whose texts would be missing without a word.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

MAX_PARTS = 256
"""Of a pattern: each is a level of recursion."""

_NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
"""A file in the place of a directory, what has just been removed, and links that lead to nothing or round and round."""


def matches(directory: str, parts: Sequence[str]) -> Iterator[str]:
    """Yield every path below a directory that the parts of a pattern match, and as often as there are ways to it.

    Raises:
        OSError: a directory cannot be listed, or something in it cannot be looked at.
    """
    part, rest = parts[0], parts[1:]
    if not rest:
        yield from _last(directory, part)
        return
    for below in _directories(directory, part):
        yield from matches(below, rest)


def _last(directory: str, part: str) -> Iterator[str]:
    if part == "**":
        for below in _all_below(directory):
            yield from (entry.path for entry in _entries(below, part))
    elif glob.has_magic(part):
        yield from (entry.path for entry in _entries(directory, part) if fnmatchcase(entry.name, part))
    elif _is_there(path := _inside(directory, part)):
        yield path


def _directories(directory: str, part: str) -> Iterator[str]:
    if part == "**":
        yield from _all_below(directory)
    elif glob.has_magic(part):
        for entry in _entries(directory, part):
            if fnmatchcase(entry.name, part) and _is_directory(entry):
                yield entry.path
    else:
        yield _inside(directory, part)


def _inside(directory: str, part: str) -> str:
    return f"{directory.rstrip('/')}/{part}"


def _all_below(directory: str) -> Iterator[str]:
    """Yield a directory and all below it, through links too, but none that is hidden."""
    waiting = [directory]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(entry.path for entry in _entries(one, "**") if _is_directory(entry))


def _entries(directory: str, part: str) -> list[os.DirEntry[str]]:
    """List a directory; a hidden name is matched only by a part that begins so too."""
    try:
        with os.scandir(directory) as found:
            return [entry for entry in found if part.startswith(".") or not entry.name.startswith(".")]
    except OSError as error:
        if error.errno not in _NOTHING_THERE:
            raise
        return []


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        # Links that lead round and round may make a path too long before they are too many.
        if error.errno not in {*_NOTHING_THERE, errno.ENAMETOOLONG}:
            raise
        return False


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno not in _NOTHING_THERE:
            raise
        return False
    return True
