"""Which half-open spans overlap which: masks of tokens from places in a text."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.errors import InvalidOption, shown

Spans = npt.NDArray[Any]


def overlapping(spans: Spans, targets: Spans) -> npt.NDArray[np.bool_]:
    """Tell which spans share at least one position with a target; what is empty shares none.

    Args:
        spans: shape (n, 2).
        targets: shape (m, 2), in any order, overlapping or not.

    Raises:
        InvalidOption: one of them is not such an array of integers.
    """
    for field, value in (("spans", spans), ("targets", targets)):
        given: object = value
        if not isinstance(given, np.ndarray) or given.dtype.kind not in "iu" or given.shape[1:] != (2,):
            raise InvalidOption(f"{field} is an array of integers, shape (n, 2), not {shown(given)}", field=field)
    mask = np.zeros(len(spans), np.bool_)
    targets = targets[targets[:, 0] < targets[:, 1]]
    if not len(targets):
        return mask
    targets = targets[np.argsort(targets[:, 0], kind="stable")]
    # Of all targets that begin before a span ends, the one that reaches furthest decides.
    reach = np.maximum.accumulate(targets[:, 1])
    before = np.searchsorted(targets[:, 0], spans[:, 1], side="left")
    mask[(before > 0) & (reach[before - 1] > spans[:, 0]) & (spans[:, 0] < spans[:, 1])] = True
    return mask
