"""The page of the Python API, made of signatures and docstrings: ``python -m tests.support.api_page`` writes it."""

from __future__ import annotations

import inspect
import re
from types import FunctionType, MethodDescriptorType
from typing import Any

import tokenizer_core
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "python.md"

MOST_PARAMETERS = 8
"""Of a function with more, only those are shown that must be given."""

HEAD = """# The Python API

The first clause of each docstring; `help(tokenizer_core.train)` says more. Settings of training (`TrainSettings`,
`UnigramSettings` and others) are in [a list](training.md#settings), errors [beside their
codes](errors.md#codes-of-the-library). Other names of the package are for the service.
"""


def page() -> str:
    """Return the page."""
    names = [name for name in dir(tokenizer_core) if name != "VERSION"]
    values = {name: getattr(tokenizer_core, name) for name in names}
    kinds = {name: value for name, value in values.items() if isinstance(value, type)}
    left_out = {name for name, value in kinds.items() if issubclass(value, Exception) or re.search(".Settings$", name)}
    classes = {name: value for name, value in kinds.items() if name not in left_out}
    shown = [HEAD, "## Functions\n", *(_line(name, value) for name, value in values.items() if name not in kinds)]
    shown += ["\n## `Tokenizer`\n", *(_line(name, value) for name, value in _members(tokenizer_core.Tokenizer))]
    shown += ["\n## Other classes\n", *(_class(name, value) for name, value in classes.items() if name != "Tokenizer")]
    return "\n".join([*shown, ""])


def _class(name: str, kind: type[Any]) -> str:
    members = [f"`{member}`" for member, _ in _members(kind) if member != "to_dict"]
    return f"- `{name}`: {_first(kind)}" + (f" It has {', '.join(members)}." if members else "")


def _members(kind: type[Any]) -> list[tuple[str, Any]]:
    everything = {name: value for one in reversed(kind.__mro__[:-1]) for name, value in vars(one).items()}
    shown = (property, FunctionType, MethodDescriptorType, classmethod, staticmethod)
    return [
        (name, getattr(kind, name)) for name, value in everything.items() if name[0] != "_" and isinstance(value, shown)
    ]


def _line(name: str, value: Any) -> str:
    if isinstance(value, property):
        return f"- `{name}`: {_first(value)}"
    parameters = [one for one in inspect.signature(value).parameters.values() if one.name not in ("self", "cls")]
    given = [_parameter(one) for one in parameters]
    if len(given) > MOST_PARAMETERS:
        given = [one.name for one in parameters if one.default is one.empty] + ["..."]
    return f"- `{name}({', '.join(given)})`: {_first(value)}"


def _parameter(one: inspect.Parameter) -> str:
    if one.kind is one.VAR_KEYWORD:
        return f"**{one.name}"
    return one.name if one.default is one.empty else f"{one.name}={_default(one.default)}"


def _default(value: Any) -> str:
    return repr(value) if isinstance(value, bool | int | float | str | None) else "..."


def _first(value: Any) -> str:
    """Return the first clause of a docstring, in Markdown."""
    text = " ".join((inspect.getdoc(value) or "").split()).replace("``", "`")
    return re.split(r"[.;:] ", re.sub(r":\w+:`", "`", text) + " ", maxsplit=1)[0].strip() + "."


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
