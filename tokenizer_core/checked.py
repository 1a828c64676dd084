"""Frozen dataclasses whose fields are declared once: their types are checked, their names are those of the JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from tokenizer_core.arguments import (
    check_character,
    check_choice,
    check_flag,
    check_kind,
    check_unicode,
    integer_of,
    tuple_of,
)

Character = Annotated[str, "one character"]

Check = Callable[[Any, str], Any]
"""Returns a value as its field keeps it, or refuses it by the field's name (``InvalidOption``)."""


class Checked:
    """The base of frozen dataclasses that come from a caller or a file and become JSON.

    A field of type ``bool``, ``str``, ``Character``, ``int`` (0 or more), ``Literal``, ``tuple[X, ...]``, ``X | None``
    or of a class is checked when an instance is made; a list becomes a tuple.

    Raises:
        InvalidOption: a value has another type; at the field.
    """

    __slots__ = ()

    TYPE: ClassVar[str] = ""
    """The value of the key ``type``; empty for none, or if a field has this name."""
    SPARSE: ClassVar[frozenset[str]] = frozenset()
    """Fields that are left out where they say nothing: JSON from before they were known stays the same."""

    def __post_init__(self) -> None:
        for name, check in _checks_of(type(self)):
            object.__setattr__(self, name, check(getattr(self, name), name))

    def _json(self) -> dict[str, Any]:
        document: dict[str, Any] = {"type": self.TYPE} if self.TYPE else {}
        for name, _ in _checks_of(type(self)):
            value = getattr(self, name)
            if value or name not in self.SPARSE:
                document[name] = _plain(value)
        return document


_CHECKS: dict[type[Checked], tuple[tuple[str, Check], ...]] = {}
"""The fields of each class in their order, each with its check."""


def _checks_of(kind: type[Checked]) -> tuple[tuple[str, Check], ...]:
    if (known := _CHECKS.get(kind)) is not None:
        return known
    hints = get_type_hints(kind, include_extras=True)
    return _CHECKS.setdefault(
        kind, tuple((name, _check_of(hint)) for name, hint in hints.items() if get_origin(hint) is not ClassVar)
    )


def _check_of(hint: Any) -> Check:
    if hint is int:
        return partial(integer_of, least=0)
    for simple, check in ((bool, check_flag), (str, check_unicode), (Character, check_character)):
        if hint == simple:
            return partial(_kept, check)
    if get_origin(hint) is Literal:
        return partial(_kept, lambda value, name: check_choice(value, hint, name))
    if get_origin(hint) is tuple:
        return partial(_each, _check_of(get_args(hint)[0]))
    if get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint):
        (rest,) = [one for one in get_args(hint) if one is not NoneType]
        return partial(_unless_none, _check_of(rest))
    return partial(_kept, lambda value, name: check_kind(value, hint, name))


def _kept(check: Callable[[Any, str], None], value: Any, name: str) -> Any:
    check(value, name)
    return value


def _each(check: Check, values: Any, name: str) -> tuple[Any, ...]:
    return tuple(check(value, f"{name}[{index}]") for index, value in enumerate(tuple_of(values, name)))


def _unless_none(check: Check, value: Any, name: str) -> Any:
    return None if value is None else check(value, name)


def _plain(value: Any) -> Any:
    """Return a field's value as JSON has it: bytes in base64."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value._json() if hasattr(value, "_json") else value
