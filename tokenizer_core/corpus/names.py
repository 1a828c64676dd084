"""Tell whether strings given as a corpus are texts, or file names by mistake, without a long search.

A text can read like a pattern for every file there is: ``/**/ int main(void) { return 0; }``.
"""

from __future__ import annotations

import errno
import glob
import re
from collections.abc import Iterable
from pathlib import Path

from tokenizer_core.corpus.bounds import MAX_PATH_BYTES, Place
from tokenizer_core.corpus.matching import matches

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
        """Tell whether a pattern matches anything, as far as it is looked for."""
        found = matches(str(place.beginning), place.pattern.split("/"), self._look, frozenset(errno.errorcode))
        try:
            return any(found)
        except _Enough:
            return False

    def _look(self, entries: int) -> None:
        self._left -= entries
        if self._left < 0:
            raise _Enough


class _Enough(Exception):
    """There is too much to look at."""
