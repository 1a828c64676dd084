"""Match a glob pattern as ``glob`` does, with an error for unreadable directories, and each path once.

``glob`` passes over a directory that cannot be listed, whose texts would be missing without a word, and walks a tree
anew for every ``**``: of eight the last directories are looked at a million times. Here a directory is looked at once,
for all parts of the pattern that it may stand at.
"""

from __future__ import annotations

import errno
import glob
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from fnmatch import fnmatchcase
from functools import partial

MAX_PARTS = 256
"""Of a pattern: each is held against every entry of a directory."""

NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""A file in the place of a directory, what has just been removed, and links that lead to nothing or round and round."""

Look = Callable[[int], None]
"""Called with how many entries are looked at next; what it raises ends the search."""


def matches(directory: str, parts: Sequence[str], look: Look, passed_over: Set[int] = NOTHING_THERE) -> Iterator[str]:
    """Yield every path below a directory that the parts of a pattern match, the nearest first.

    Args:
        passed_over: numbers of errors that mean that nothing is there.

    Raises:
        OSError: a directory cannot be listed, or something in it cannot be looked at.
    """
    last = len(parts) - 1
    waiting: deque[tuple[str, set[int]]] = deque([(directory, {0})])
    while waiting:
        here, places = waiting.popleft()
        found: set[str] = set()
        below: dict[str, set[int]] = {}
        for path, is_directory, place in _below(here, parts, _with_none_for_stars(parts, places), look, passed_over):
            if place == last and path not in found:
                found.add(path)
                yield path
            onward = {place + 1} if place < last else set()
            if parts[place] == "**":
                onward.add(place)
            if onward and is_directory():
                below.setdefault(path, set()).update(onward)
        waiting.extend(below.items())


def _with_none_for_stars(parts: Sequence[str], places: Iterable[int]) -> set[int]:
    """Return the parts that come next where ``**`` may also stand for no directory at all."""
    reached = set(places)
    for place in range(min(reached), len(parts) - 1):
        if place in reached and parts[place] == "**":
            reached.add(place + 1)
    return reached


def _below(
    directory: str, parts: Sequence[str], places: set[int], look: Look, passed_over: Set[int]
) -> Iterator[tuple[str, Callable[[], bool], int]]:
    """Yield what is in a directory and matches one of the parts: its path, whether it is a directory, and the part."""
    patterns = [place for place in places if glob.has_magic(parts[place])]
    for place in places.difference(patterns):
        path = f"{directory.rstrip('/')}/{parts[place]}"
        look(1)
        if place < len(parts) - 1:
            # A later listing shows if it is a directory.
            yield path, lambda: True, place
        elif _is_there(path, passed_over):
            yield path, lambda: False, place
    if not patterns:
        return
    for entry in _entries(directory, passed_over):
        look(len(patterns))
        for place in patterns:
            part = parts[place]
            # A hidden name is matched only by a part that begins so too.
            if entry.name.startswith(".") and not part.startswith("."):
                continue
            if part == "**" or fnmatchcase(entry.name, part):
                yield entry.path, partial(_is_directory, entry, passed_over), place


def _entries(directory: str, passed_over: Set[int]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            yield from found
    except OSError as error:
        if error.errno not in passed_over:
            raise


def _is_directory(entry: os.DirEntry[str], passed_over: Set[int]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        # Links that lead round and round may make a path too long before they are too many.
        if error.errno not in {*passed_over, errno.ENAMETOOLONG}:
            raise
        return False


def _is_there(path: str, passed_over: Set[int]) -> bool:
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno not in passed_over:
            raise
        return False
    return True
