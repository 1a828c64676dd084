"""Checks that the settings of every model share; each raises ``InvalidOption`` with the field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache, partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tokenizer_core.arguments import check_choice, check_flag, check_unicode, integer_of
from tokenizer_core.errors import InvalidOption

Check = Callable[[Any, str], Any]
"""Returns a value as its field keeps it, or refuses it by the field's name."""


def check_types(settings: Any) -> None:
    """Check the fields of a dataclass of settings by their types; a list of words becomes a tuple.

    A whole number that may be ``None`` is a limit: at least 1.
    """
    kind: Any = type(settings)
    for name, check in _checks(kind):
        object.__setattr__(settings, name, check(getattr(settings, name), name))


@cache
def _checks(kind: type[Any]) -> tuple[tuple[str, Check], ...]:
    hints = get_type_hints(kind)
    checks = ((one.name, _check_of(hints[one.name])) for one in fields(kind))
    return tuple((name, check) for name, check in checks if check is not None)


def _check_of(hint: Any) -> Check | None:
    kind, arguments = get_origin(hint), get_args(hint)
    if hint in _CHECKS:
        return _CHECKS[hint]
    if kind is Literal:
        return partial(_kept, lambda value, name: check_choice(value, hint, name))
    if kind is Sequence and get_origin(arguments[0]) is Literal:
        return partial(_choices, arguments[0])
    return None


def _kept(check: Callable[[Any, str], None], value: Any, name: str) -> Any:
    check(value, name)
    return value


def number_of(value: object, name: str) -> int:
    """Return a whole number of at most 32 bits."""
    number = integer_of(value, name)
    if abs(number) >= 1 << 32:
        raise InvalidOption(f"{name} is 0 or more and less than 2 ** 32", field=name)
    return number


def words_of(value: object, name: str) -> tuple[str, ...]:
    """Return a sequence of strings as a tuple; one string is none."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(word, str) for word in value):
        raise InvalidOption(f"{name} is a sequence of strings", field=name)
    return tuple(value)


def _choices(choices: Any, values: object, name: str) -> tuple[str, ...]:
    words = words_of(values, name)
    for index, word in enumerate(words):
        check_choice(word, choices, f"{name}[{index}]")
    return words


def _limit_of(value: object, name: str) -> int | None:
    number = None if value is None else number_of(value, name)
    check_limit(number, name)
    return number


def _text_of(value: object, name: str) -> str | None:
    if not isinstance(value, str | None):
        raise InvalidOption(f"{name} is a string or nothing, not {type(value).__name__}", field=name)
    if value is not None:
        check_unicode(value, name)
    return value


_CHECKS: dict[Any, Check] = {
    int: number_of,
    int | None: _limit_of,
    bool: partial(_kept, check_flag),
    str: partial(_kept, check_unicode),
    str | None: _text_of,
    Sequence[str]: words_of,
}


def check_limit(value: int | None, name: str) -> None:
    """Require at least 1, or no limit."""
    if value is not None and value < 1:
        raise InvalidOption(f"{name} is at least 1, not {value}", field=name)


def check_frequency(value: int, field: str = "min_frequency") -> None:
    """Require 0 or more."""
    if value < 0:
        raise InvalidOption(f"{field} is at least 0, not {value}", field=field)


def check_distinct(literals: Sequence[str]) -> None:
    """Refuse a special token that stands twice: a mapping would lose it."""
    seen: set[str] = set()
    for index, literal in enumerate(literals):
        if literal in seen:
            raise InvalidOption(f"the special token {literal[:80]!r} stands twice", field=f"special_tokens[{index}]")
        seen.add(literal)


def check_steps(normalizer: Sequence[str], most: int) -> None:
    """Bound the steps of a normalizer: every text that is ever encoded passes through each."""
    if len(normalizer) > most:
        raise InvalidOption(f"normalizer has at most {most} steps, not {len(normalizer)}", field="normalizer")
