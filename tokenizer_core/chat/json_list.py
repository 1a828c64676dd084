"""Lists of a caller's objects that stay JSON until somebody looks at them: the kernel reads them as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tokenizer_core._kernel import chat_json, cut_out_lists, ends_of_objects


class JsonList(Sequence[Any]):
    """A list of objects: messages, tools or documents.

    Args:
        json: a list of objects, in UTF-8.
        ends: where each object ends in it, if that is known.
    """

    def __init__(self, json: bytes, ends: list[int] | None = None) -> None:
        self.json = json
        if ends is not None:
            self._ends = ends

    @cached_property
    def values(self) -> list[Any]:
        """The objects."""
        values: list[Any] = json.loads(self.json)
        return values

    @cached_property
    def _ends(self) -> list[int] | None:
        # Deeper lists and longer numbers than any body has are not looked into.
        return ends_of_objects(self.json)

    def __len__(self) -> int:
        return len(self.values if self._ends is None else self._ends)

    def __getitem__(self, at: Any) -> Any:
        """Return an object, or some of them; the first ones stay JSON."""
        if self._ends is None or not isinstance(at, slice) or at.start is not None or at.step is not None:
            return self.values[at]
        ends = self._ends[at]
        return JsonList(self.json[: ends[-1]] + b"]" if ends else b"[]", ends)


def json_of(values: Sequence[Any], field: str) -> bytes:
    """Return a list as JSON; errors are those of ``chat_json``."""
    return values.json if isinstance(values, JsonList) else chat_json(list(values), field)


def cut_out(body: bytes, names: list[str]) -> tuple[bytes, dict[str, JsonList | list[JsonList]]] | None:
    """Return a body without what its lists of objects hold, and these lists; arguments as of ``cut_out_lists``."""
    cut = cut_out_lists(body, names)
    return cut and (
        cut[0],
        {
            name: [JsonList(*each) for each in found] if isinstance(found, list) else JsonList(*found)
            for name, found in cut[1].items()
        },
    )
