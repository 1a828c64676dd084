"""The sandbox for tracked values: every operation on text keeps the origins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any

import jinja2
from jinja2 import runtime
from jinja2.filters import make_attrgetter
from jinja2.sandbox import safe_range

from tokenizer_core.errors import TemplateUntrackable
from tokenizer_core.template import formatting, meter
from tokenizer_core.template.growth import charge_filter, ticking
from tokenizer_core.template.numbers import number
from tokenizer_core.template.sandbox import NATIVE_FILTERS, PlainEnvironment, contextual, made
from tokenizer_core.template.string_filters import STRING_FILTERS
from tokenizer_core.template.tracked import (
    TEMPLATE,
    Tracked,
    bare,
    code_of,
    concat,
    generated,
    text_of,
    tracked,
    written,
)

_CHOOSING = frozenset(["attr", "d", "default", "first", "last", "max", "min"])
"""Filters that return one of the values that they are given, with the origins that it has."""

_NUMBERS = (int, float, complex)


class TrackingEnvironment(PlainEnvironment):
    """The same, for tracked values."""

    concat = staticmethod(concat)

    def __init__(self) -> None:
        super().__init__()
        self.finalize = _finalize
        for name in NATIVE_FILTERS:
            self.filters[name] = _native(name, self.native_filters[name])
        for name, function in (*STRING_FILTERS.items(), ("_joined", _joined)):
            self.filters[name] = contextual(function)
        self.filters["join"] = _join
        self.globals["range"] = _range

    def generated(self, text: str) -> str:
        return generated(text)

    def string_method(
        self,
        owner: str,
        method: Any,
        args: tuple[Any, ...],
        options: Mapping[str, Any],  # noqa: ARG002
    ) -> tuple[Any, tuple[Any, ...]]:
        # It charges for itself, whoever calls it; its options are as they are.
        return getattr(tracked(owner), method.__name__), args

    def call_binop(self, context: runtime.Context, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, str):
            if operator == "%":
                return formatting.percent(left, right)
            if operator == "+" and isinstance(right, str):
                return concat([left, right])
        if isinstance(right, str) and operator == "*":
            left, right = right, left
        if isinstance(left, str):
            left = tracked(left)
        result = super().call_binop(context, operator, left, right)
        return number(result, code_of((left, right))) if isinstance(result, _NUMBERS) else result

    def formatted(self, template: str, args: Any, kwargs: Any) -> str:
        return formatting.braces(template, args, kwargs, formatting.ChargedFormatter(self))


def _native(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """Use Jinja's own filter; text or a number that it makes of the caller's is the caller's as a whole."""

    @jinja2.pass_context
    def filtered(context: runtime.Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        if name == "sum":
            if not isinstance(kwargs.get("start", (*args, 0, 0)[1]), (int, float)):
                raise TemplateUntrackable("the chat template sums what are not numbers, which is not tracked")
            # Python adds what it can without asking the numbers themselves.
            value = value if isinstance(value, Sized) else list(ticking(value, meter.OBJECT))
        result = made(run(context, charge_filter(name, value, args, kwargs), *args, **kwargs))
        if name in ("length", "count") or name in _CHOOSING or isinstance(result, Tracked):
            return result
        if isinstance(result, str):
            return written(bare(result), code_of((value, args, kwargs)))
        return number(result, code_of((value, args, kwargs))) if isinstance(result, _NUMBERS) else result

    return filtered


def _range(*args: Any) -> Any:
    """Count as ``range`` does; the numbers are the caller's if one of those that say which they are is."""
    numbers = safe_range(*args)
    code = code_of(args)
    if code == TEMPLATE:
        return numbers
    meter.charge(meter.PIECE * len(numbers))
    return [number(each, code) for each in numbers]


@jinja2.pass_context
def _join(context: runtime.Context, value: Iterable[Any], d: Any = "", attribute: str | int | None = None) -> str:
    if attribute is not None:
        value = map(make_attrgetter(context.environment, attribute), value)
    return tracked(text_of(d)).join(map(_finalize, value))


def _joined(*values: Any) -> str:
    return concat([_finalize(value) for value in values])


def _finalize(value: Any) -> str:
    if isinstance(value, str):
        return value
    meter.charge(meter.OBJECT)
    meter.charge_weight(value)
    return text_of(value)
