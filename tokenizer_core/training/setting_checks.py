"""Checks that the settings of every model share; each raises ``InvalidOption`` with the field."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizer_core.arguments import integer_of
from tokenizer_core.errors import InvalidOption


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
