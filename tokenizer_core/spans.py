"""Places in a text, in bytes, code points or UTF-16 units."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tokenizer_core.config import Unit

Spans = npt.NDArray[np.uint32]

_SEPARATORS = "\x1c\x1d\x1e\x1f"
"""Python counts them as white space, Unicode does not."""


def length_in(text: str, unit: Unit) -> int:
    """Return the length of a text."""
    if unit == "char":
        return len(text)
    return len(text.encode("utf-8")) if unit == "byte" else len(text.encode("utf-16-le")) // 2


def edges(text: str, unit: Unit) -> npt.NDArray[np.int64]:
    """Return where each character begins, and the end; shape (len(text) + 1,)."""
    if unit == "char":
        return np.arange(len(text) + 1)
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    wide = [1 << 16] if unit == "utf16" else [1 << 7, 1 << 11, 1 << 16]
    sizes = 1 + sum((points >= least).astype(np.int64) for least in wide)
    return np.concatenate(([0], np.cumsum(sizes)))


def trimmed(spans: Spans, text: str, unit: Unit) -> Spans:
    """Leave white space at both ends out of spans; what is white space alone becomes empty, at its end."""
    places = edges(text, unit)
    # One more than there are characters: behind the text nothing is white space.
    is_space = np.array([*(c.isspace() and c not in _SEPARATORS for c in text), False], bool)
    numbers = np.arange(len(is_space))
    # Of each character: the first one from it on that is no white space, and the end of the last one up to it.
    following = np.minimum.accumulate(np.where(is_space, len(text), numbers)[::-1])[::-1]
    before = np.maximum.accumulate(np.where(is_space, 0, np.minimum(numbers + 1, len(text))))
    first = np.searchsorted(places, spans[:, 0], side="right") - 1
    last = np.maximum(np.searchsorted(places, spans[:, 1]) - 1, 0)
    starts = np.minimum(np.where(is_space[first], places[following[first]], spans[:, 0]), spans[:, 1])
    ends = np.where(is_space[last], places[before[last]], spans[:, 1])
    return np.stack((starts, np.maximum(ends, starts)), axis=1).astype(np.uint32)
