"""Check a caller's arguments: numbers, flags, paths and functions; every refusal names the argument."""

from __future__ import annotations

import os
from numbers import Integral
from pathlib import Path
from types import UnionType
from typing import Any, get_args

from tokenizer_core.errors import InvalidOption, shown
from tokenizer_core.nearest import did_you_mean


def whole_number(value: object) -> int | None:
    """Return an integer, NumPy's included, as an ``int``; ``None`` for anything else, also for ``True`` and ``1.0``."""
    return None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)


def integer_of(value: object, field: str, least: int | None = None) -> int:
    """Return an integer, NumPy's included, as an ``int``.

    Args:
        least: the smallest allowed value.

    Raises:
        InvalidOption: ``value`` is not an integer, or is smaller.
    """
    number = whole_number(value)
    if number is None or (least is not None and number < least):
        bound = "" if least is None else f" from {least} on"
        raise InvalidOption(f"{field} is a whole number{bound}, not {shown(value)}", field=field)
    return number


def optional_integer(value: object, field: str, least: int | None = None) -> int | None:
    """Return ``None`` as it is, and anything else as ``integer_of`` does."""
    return None if value is None else integer_of(value, field, least)


def holds_surrogate(text: str) -> bool:
    """Return whether a string holds a lone surrogate, which no Unicode text does."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def check_unicode(value: object, field: str) -> None:
    """Refuse anything but a string without lone surrogates.

    Raises:
        InvalidOption
    """
    if not isinstance(value, str) or holds_surrogate(value):
        raise InvalidOption(f"{field} is a string of Unicode, not {shown(value)}", field=field)


def check_flag(value: object, field: str) -> None:
    """Refuse anything but a ``bool``: the string ``"false"`` would count as true.

    Raises:
        InvalidOption
    """
    if not isinstance(value, bool):
        raise InvalidOption(f"{field} is True or False, not {shown(value)}", field=field)


def check_flag_or_name(value: object, field: str) -> None:
    """Refuse anything but a ``bool`` or a name.

    Raises:
        InvalidOption
    """
    if value == "" or not isinstance(value, bool | str):
        raise InvalidOption(f"{field} is True, False or the name of a field, not {shown(value)}", field=field)


def check_choice(value: object, choices: Any, field: str) -> None:
    """Refuse anything but one of the words of a ``Literal``.

    Raises:
        InvalidOption
    """
    words = get_args(choices)
    if not isinstance(value, str) or value not in words:
        near = did_you_mean(value, (word for word in words if isinstance(word, str))) if isinstance(value, str) else ""
        raise InvalidOption(f"{field} is one of {', '.join(map(repr, words))}, not {shown(value)}{near}", field=field)


def check_kind(value: object, kind: type | UnionType, field: str) -> None:
    """Refuse what is not an instance of a class, or of one of several.

    Raises:
        InvalidOption
    """
    if not isinstance(value, kind):
        names = " or a ".join(one.__name__ for one in get_args(kind) or (kind,))
        raise InvalidOption(f"{field} is a {names}, not {type(value).__name__}", field=field)


def holds_items(value: Any) -> bool:
    """Return whether a value can be iterated; NumPy's array without a dimension has ``__iter__``, and cannot."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def tuple_of(values: Any, field: str) -> tuple[Any, ...]:
    """Return a list or tuple as a tuple.

    Raises:
        InvalidOption: it is neither.
    """
    if not isinstance(values, list | tuple):
        raise InvalidOption(f"{field} is a tuple or a list, not {type(values).__name__}", field=field)
    return tuple(values)


def check_call(value: object, field: str) -> None:
    """Refuse anything but ``None`` or what can be called.

    Raises:
        InvalidOption
    """
    if value is not None and not callable(value):
        raise InvalidOption(f"{field} is a function, not {shown(value)}", field=field)


def path_of(value: object, field: str = "path") -> Path:
    """Return a path as a ``Path``.

    Raises:
        InvalidOption: ``value`` is not a path, or is empty.
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str):
        raise InvalidOption(f"{field} is a path as a string or a pathlib.Path, not {shown(value)}", field=field)
    if not text:
        raise InvalidOption(f'{field} is empty; the working directory is "."', field=field)
    return Path(text)


def place_of(value: object, field: str = "path") -> Path:
    """Return a path that a file can have, as a ``Path``.

    Raises:
        InvalidOption: no file can be called so.
    """
    path = path_of(value, field)
    try:
        is_name = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise InvalidOption(f"{field} cannot be {shown(str(path))}: no file is called so", field=field)
    return path
