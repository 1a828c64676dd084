"""Jinja's filters for text, with the origin of every character."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jinja2.filters import do_title

from tokenizer_core.template import formatting, meter
from tokenizer_core.template.growth import charge_indent
from tokenizer_core.template.tracked import Tracked, bare, code_of, concat, text_of, tracked, written


def _text(value: Any) -> Tracked:
    meter.charge_weight(value)
    return tracked(text_of(value))


def _method(name: str) -> Callable[..., str]:
    def filtered(value: Any, *args: Any, **kwargs: Any) -> str:
        method: Callable[..., str] = getattr(_text(value), name)
        return method(*args, **kwargs)

    return filtered


def _trim(value: Any, chars: str | None = None) -> str:
    return _text(value).strip(chars)


def _center(value: Any, width: int = 80) -> str:
    return _text(value).center(width)


def _title(value: Any) -> str:
    text = _text(value)
    meter.charge(meter.OBJECT * len(text))
    return written(bare(do_title(bare(text))), code_of(text))


def _replace(value: Any, old: Any, new: Any, count: int | None = None) -> str:
    return _text(value).replace(text_of(old), text_of(new), -1 if count is None else count)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else text_of(value)


def _indent(value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    text = _text(value)
    charge_indent(text, width)
    margin = width if isinstance(width, str) else " " * width
    # A text that ends in a line break keeps it: one more stands behind it while the lines are cut.
    text = _text(concat([text, "\n"]))
    pieces: list[str] = []
    ended = ""
    for at, (line, whole) in enumerate(zip(text.splitlines(), text.splitlines(True), strict=True)):
        if at:
            # Whoever ended the line wrote the break, whatever it is written as.
            pieces.append(written("\n", code_of(ended)))
        ended = whole[len(line) :]
        if (at and (line or blank)) or (at == 0 and first):
            pieces.append(margin)
        pieces.append(line)
    return concat(pieces)


def _format(value: Any, *args: Any, **kwargs: Any) -> str:
    return formatting.percent(_string(value), kwargs or args)


STRING_FILTERS: dict[str, Callable[..., Any]] = {
    "capitalize": _method("capitalize"),
    "center": _center,
    "format": _format,
    "indent": _indent,
    "lower": _method("lower"),
    "replace": _replace,
    "safe": _string,
    "string": _string,
    "title": _title,
    "tojson": formatting.tojson,
    "trim": _trim,
    "upper": _method("upper"),
}
"""By name; ``join`` needs the environment and stands with it."""
