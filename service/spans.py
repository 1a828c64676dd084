"""Text to ids and their places, and which of them lie in given spans."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from service.answers import Answer, write
from service.encoding import Array, offsets_of, texts_of, token_texts
from service.errors import ServiceError
from service.registry import Loaded
from service.schemas import OffsetsRequest


def offsets(loaded: Loaded, request: OffsetsRequest) -> Answer:
    """Answer ``/offsets``."""
    texts = texts_of(request)
    targets = _targets(request, len(texts))
    encoded = [offsets_of(loaded.tokenizer, request, index, request.unit) for index in range(len(texts))]
    fields: dict[str, Any] = {"ids": [each.ids for each in encoded], "spans": [each.spans for each in encoded]}
    if request.tokens:
        fields["tokens"] = [token_texts(loaded.tokenizer, each.ids) for each in encoded]
    if targets is not None:
        fields["mask"] = [overlaps(each.spans, wanted) for each, wanted in zip(encoded, targets, strict=True)]
    return write(loaded, request.text, fields, sum(len(each.ids) for each in encoded))


def overlaps(spans: Array, targets: Array) -> npt.NDArray[np.uint8]:
    """Return 1 for every span that shares at least one position with a target; spans and targets are half-open.

    Args:
        spans: shape (n, 2).
        targets: shape (m, 2), in any order, overlapping or not.
    """
    mask = np.zeros(len(spans), np.uint8)
    targets = targets[targets[:, 0] < targets[:, 1]]
    if not len(targets):
        return mask
    targets = targets[np.argsort(targets[:, 0], kind="stable")]
    # Of all targets that begin before a span ends, the one that reaches furthest decides.
    reach = np.maximum.accumulate(targets[:, 1])
    before = np.searchsorted(targets[:, 0], spans[:, 1], side="left")
    mask[(before > 0) & (reach[before - 1] > spans[:, 0]) & (spans[:, 0] < spans[:, 1])] = 1
    return mask


def _targets(request: OffsetsRequest, rows: int) -> list[Array] | None:
    """Check target spans against the texts; one array of shape (m, 2) a text."""
    given: Any = request.target_spans
    if given is None:
        return None
    one = isinstance(request.text, str)
    if given and (isinstance(given[0][0] if given[0] else [], list) is one):
        wanted = "one list of spans" if one else "one list of spans a text"
        raise ServiceError("invalid_type", f"this must be {wanted}", "target_spans")
    lists = [given] if one else given
    if len(lists) != rows:
        raise ServiceError(
            "invalid_value", f"there are {rows} texts and {len(lists)} lists of target spans", "target_spans"
        )
    return [
        _checked_spans(spans, _length(text, request.unit), "target_spans" if one else f"target_spans[{index}]")
        for index, (spans, text) in enumerate(zip(lists, texts_of(request), strict=True))
    ]


def _checked_spans(spans: Any, length: int, path: str) -> Array:
    array = np.array(spans, np.int64).reshape(-1, 2)
    bad = np.flatnonzero((array[:, 0] > array[:, 1]) | (array[:, 1] > length))
    if len(bad):
        raise ServiceError(
            "invalid_value",
            f"a span must have start <= end <= {length}, the length of the text in its unit",
            f"{path}[{bad[0]}]",
        )
    return array


def _length(text: str, unit: str) -> int:
    if unit == "char":
        return len(text)
    return len(text.encode("utf-8")) if unit == "byte" else len(text.encode("utf-16-le")) // 2
