"""Tell whether strings given as a corpus are texts, or file names by mistake, without a long search.

A text can read like a pattern for every file there is: ``/**/ int main(void) { return 0; }``.
"""

from __future__ import annotations

import glob
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from tokenizer_core.corpus.bounds import MAX_PATH_BYTES, Place

LOOKS = 50_000
"""Directory entries looked at for one list; a pattern that has matched nothing by then is taken for a text."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")


def name_files(corpus: Iterable[object]) -> bool:
    """Tell whether all are strings that lead to files, or could lead to some elsewhere."""
    search = _Search()
    return all(isinstance(text, str) and search.finds(text) for text in corpus)


class _Search:
    """Looks for what strings name, until it has looked at ``LOOKS`` entries."""

    def __init__(self) -> None:
        self._left = LOOKS

    def finds(self, text: str) -> bool:
        if not text or len(text) > MAX_PATH_BYTES or "\n" in text:
            return False
        if _URL.fullmatch(text):
            return True
        try:
            return Path(text).exists() or (glob.has_magic(text) and self._matches(Place.of(Path(text))))
        except (OSError, ValueError):
            return False

    def _matches(self, place: Place) -> bool:
        """Tell whether a pattern matches anything, nearest directories first: ``glob`` would search all of them."""
        parts = place.pattern.split("/")
        waiting = deque([(str(place.beginning), 0)])
        while waiting and self._left > 0:
            self._left -= 1
            directory, at = waiting.popleft()
            part, is_last = parts[at], at + 1 == len(parts)
            if not glob.has_magic(part):
                there = f"{directory}/{part}"
                if not is_last:
                    waiting.append((there, at + 1))
                elif os.path.lexists(there):
                    return True
            elif part == "**" and not is_last:
                waiting.append((directory, at + 1))
                waiting.extend((entry.path, at) for entry in self._entries(directory, part) if _is_directory(entry))
            else:
                for entry in self._entries(directory, part):
                    if fnmatchcase(entry.name, part):
                        if is_last:
                            return True
                        if _is_directory(entry):
                            waiting.append((entry.path, at + 1))
        return False

    def _entries(self, directory: str, part: str) -> Iterator[os.DirEntry[str]]:
        """Look at what is in a directory, if it is one; a hidden name is matched only by a part that begins so too."""
        try:
            with os.scandir(directory) as found:
                for entry in found:
                    self._left -= 1
                    if self._left < 0:
                        return
                    if part.startswith(".") or not entry.name.startswith("."):
                        yield entry
        except OSError:
            return


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
