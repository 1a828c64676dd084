"""The kernel writes arrays as orjson does, or leaves them to it."""

from __future__ import annotations

import random

import numpy as np
import orjson
import pytest

from tokenizer_core import numbers_json


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
@pytest.mark.parametrize("shape", [(-1,), (-1, 2)])
def test_arrays_are_written_as_orjson_writes_them(kind: type[np.generic], shape: tuple[int, ...]) -> None:
    rng, limits = random.Random(str(shape)), np.iinfo(kind)  # type: ignore[type-var]
    edges = [limits.min, limits.max, 0, 1, 9, 10, 99, 100, 9_999_999, 10_000_000, 99_999_999, 100_000_000]
    for size in (0, 2, 12, 200, 5000):
        values = [rng.choice([*edges, rng.randint(limits.min, limits.max)]) for _ in range(size)]
        array = np.array(values, kind).reshape(shape)
        written = numbers_json(array)
        # Only ids have pairs.
        assert written is None if (kind, len(shape)) == (np.int64, 2) else written == plain(array)


def plain(array: np.ndarray) -> bytes:
    return orjson.dumps(array, option=orjson.OPT_SERIALIZE_NUMPY)


@pytest.mark.parametrize(
    "other",
    [np.zeros(3, np.uint8), np.zeros(3, bool), np.zeros((2, 3), np.uint32), np.zeros(3), [1, 2], None, "text"],
    ids=str,
)
def test_what_is_written_elsewhere_is_left(other: object) -> None:
    assert numbers_json(other) is None
