"""Find the right name nearest to a wrong one, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from itertools import islice
from types import MappingProxyType

_LONGEST = 64
"""Characters of a wrong name that are compared, which takes quadratic time."""

_MOST = 512
"""Right names that are looked at, of perhaps as many as there are tokens."""


def did_you_mean(word: str, known: Iterable[str], elsewhere: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return ``; did you mean 'text'?`` for the known name that is nearest to ``word``, or nothing if none is near.

    Args:
        elsewhere: the known name of what others call otherwise.

    >>> from tokenizer_core import did_you_mean
    >>> did_you_mean("texts", ["ids", "text", "tokenizer"])
    "; did you mean 'text'?"
    """
    # Letters in either case are near: "Padding" for "padding".
    names = list(islice(known, _MOST))
    theirs = {other: name for other, name in elsewhere.items() if name in names and other not in names}
    by_folded = {
        name[:_LONGEST].casefold(): meant for name, meant in (*theirs.items(), *zip(names, names, strict=True))
    }
    found = difflib.get_close_matches(word[:_LONGEST].casefold(), by_folded, n=1, cutoff=0.6)
    return f"; did you mean {by_folded[found[0]]!r}?" if found else ""
