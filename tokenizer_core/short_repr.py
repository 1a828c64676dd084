"""Results that are shown in a line or two, however long their values are."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import fields

from tokenizer_core.errors import shown

_NUMBERS, _LONG = 10, 79
"""The numbers of an array, and the characters of another value, that are shown."""


class ShortRepr:
    """A base of dataclasses without a ``repr`` of their own: of a long value only its size is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        values = ((each.name, getattr(self, each.name)) for each in fields(self) if each.repr)  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={_short(value)}' for name, value in values)})"


def _short(value: object) -> str:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        is_long = getattr(value, "size", 0) > _NUMBERS
        return f"<{getattr(value, 'dtype', '')} of shape {shape}>" if is_long else " ".join(repr(value).split())
    text = shown(value)
    if len(text) > _LONG and isinstance(value, Sized) and not isinstance(value, str):
        return f"<{type(value).__name__} of {len(value):,}>"
    return " ".join(text.split())
