"""The page of the Python API, made of signatures and docstrings: ``python -m tests.support.api_page`` writes it."""

from __future__ import annotations

import inspect
import re
from types import FunctionType, MethodDescriptorType
from typing import Any

import tokenizer_core
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "python.md"

HEAD = """# The Python API

`tokenizer_core` as a person uses it, made from its docstrings; `help(tokenizer_core.Tokenizer.encode)` says more. What
the package has beside these names is for the service.
"""


def page() -> str:
    """Return the page."""
    names = [name for name in dir(tokenizer_core) if name != "VERSION"]
    values = {name: getattr(tokenizer_core, name) for name in names}
    classes = {name: value for name, value in values.items() if isinstance(value, type)}
    errors = {name: value for name, value in classes.items() if issubclass(value, Exception)}
    shown = [HEAD, "## Functions\n", *(_line(name, value) for name, value in values.items() if name not in classes)]
    for name, value in classes.items():
        if name not in errors:
            members = _members(value)
            shown += [f"\n## `{name}`\n", _first(value), *([""] if members else []), *members]
    return "\n".join([*shown, "\n## Errors\n", *(f"- `{name}`: {_first(value)}" for name, value in errors.items()), ""])


def _members(kind: type[Any]) -> list[str]:
    lines = []
    everything = {name: value for one in reversed(kind.__mro__[:-1]) for name, value in vars(one).items()}
    for name, value in everything.items():
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            lines.append(f"- `{name}`: {_first(value)}")
        elif isinstance(value, FunctionType | MethodDescriptorType | classmethod | staticmethod):
            lines.append(_line(name, getattr(kind, name)))
    return lines


def _line(name: str, value: Any) -> str:
    given = [
        f"**{one.name}"
        if one.kind is one.VAR_KEYWORD
        else one.name
        if one.default is one.empty
        else f"{one.name}={_default(one.default)}"
        for one in inspect.signature(value).parameters.values()
        if one.name not in ("self", "cls")
    ]
    return f"- `{name}({', '.join(given)})`: {_first(value)}"


def _default(value: Any) -> str:
    return repr(value) if isinstance(value, bool | int | float | str | None) else "..."


def _first(value: Any) -> str:
    """Return the first paragraph of a docstring, in Markdown."""
    text = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")
    return re.sub(r":\w+:`", "`", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
