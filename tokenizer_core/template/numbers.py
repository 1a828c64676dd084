"""Numbers that know whether a caller wrote them, and pass this to computed numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tokenizer_core.errors import TemplateUntrackable
from tokenizer_core.template.tracked import TEMPLATE, written


class TrackedInt(int):
    """A number of the caller: its digits are the caller's characters, and so are those of what is computed from it."""

    _code: int

    def __repr__(self) -> str:
        return written(super().__repr__(), self._code)

    __str__ = __repr__


class TrackedFloat(float):
    """See ``TrackedInt``."""

    _code: int

    def __repr__(self) -> str:
        return written(super().__repr__(), self._code)

    __str__ = __repr__


def number(value: Any, code: int) -> Any:
    """Mark a number with a code; whatever is not a number, has an origin, or is the template's, stays as it is."""
    if code != TEMPLATE and isinstance(value, complex):
        raise TemplateUntrackable("the chat template computes a complex number, whose parts are not tracked")
    if code == TEMPLATE or isinstance(value, (bool, TrackedInt, TrackedFloat)) or not isinstance(value, (int, float)):
        return value
    marked: TrackedInt | TrackedFloat = TrackedInt(value) if isinstance(value, int) else TrackedFloat(value)
    marked._code = code
    return marked


_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
_COMPUTED = (
    *(f"__{side}{name}__" for name in _OPERATORS for side in ("", "r")),
    *(f"__{name}__" for name in ("neg", "pos", "abs", "invert", "round", "floor", "ceil", "trunc")),
    "conjugate",
)
_PARTS = ("real", "imag", "numerator", "denominator")


def _keeping(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: number(compute(self, *args), self._code)


for _tracked, _plain in ((TrackedInt, int), (TrackedFloat, float)):
    for _name in _COMPUTED:
        if hasattr(_plain, _name):
            setattr(_tracked, _name, _keeping(getattr(_plain, _name)))
    for _name in _PARTS:
        if hasattr(_plain, _name):
            setattr(_tracked, _name, property(_keeping(getattr(_plain, _name).__get__)))
