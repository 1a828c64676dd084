"""What callers give for a corpus or its files of another type is refused by the name of the argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tokenizer_core import (
    Bounds,
    Recipe,
    TrainingRun,
)
from tokenizer_core.errors import InvalidOption


@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        *(("roots", value, "roots") for value in (None, "/data", Path("/data"), {Path("/data")})),
        *(("roots", [value], "roots[0]") for value in (None, 5, b"/data", "")),
        *(("closed", value, "closed") for value in (None, "/data", Path("/data"))),
        *(("uploads", value, "uploads") for value in (5, b"/data", "", ["/data"])),
        *(("schemes", value, "schemes") for value in (None, "https", ["https"], {5}, {"a\ud800"})),
        *(("max_bytes", value, "max_bytes") for value in (True, "5", 1.5, float("nan"), -1)),
        *(("public_addresses_only", value, "public_addresses_only") for value in (None, 0, "true")),
    ],
)
def test_bounds_of_another_type_bound_nothing_and_are_refused(field: str, value: Any, place: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        Bounds(**{field: value})
    assert caught.value.place == {"field": place}


def test_bounds_may_be_of_lists_strings_and_integers_of_numpy() -> None:
    given: Any = {"roots": ["/data"], "schemes": {"https"}, "max_bytes": np.int64(5)}
    assert Bounds(**given) == Bounds(roots=(Path("/data"),), schemes=frozenset({"https"}), max_bytes=5)


@pytest.mark.parametrize("size", [None, True, 1.5, "1", 0, -1])
def test_a_shard_has_a_whole_number_of_bytes(tmp_path: Path, size: Any) -> None:
    recipe = Recipe.from_dict({"corpus": {"texts": ["low lower lowest"]}, "vocab_size": 258})
    with pytest.raises(InvalidOption) as caught:
        TrainingRun(tmp_path, recipe, shard_bytes=size)
    assert caught.value.place == {"field": "shard_bytes"}
    run = TrainingRun(tmp_path, recipe, shard_bytes=np.int64(1))  # type: ignore[arg-type]
    assert run.tokenizers()[0].vocab_size == 258
