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

`tokenizer_core` as a person uses it, made from its docstrings: of each the first clause, of which
`help(tokenizer_core.train)` says more. What the package has beside these names is for the service. Fields of settings
are in [a table](training.md#settings), errors [beside their codes](errors.md#codes-of-the-library).
"""


def page() -> str:
    """Return the page."""
    names = [name for name in dir(tokenizer_core) if name != "VERSION"]
    values = {name: getattr(tokenizer_core, name) for name in names}
    classes = {name: value for name, value in values.items() if isinstance(value, type)}
    shown = [HEAD, "## Functions\n", *(_line(name, value) for name, value in values.items() if name not in classes)]
    plain = ["\n## Values and settings\n"]
    for name, value in classes.items():
        if issubclass(value, Exception):
            continue
        members = [] if name.endswith("Settings") and name != "Settings" else _members(value)
        if members:
            shown += [f"\n## `{name}`\n", _first(value), "", *members]
        else:
            plain.append(f"- `{name}`: {_first(value)}")
    return "\n".join([*shown, *plain, ""])


def _members(kind: type[Any]) -> list[str]:
    lines = []
    everything = {name: value for one in reversed(kind.__mro__[:-1]) for name, value in vars(one).items()}
    for name, value in everything.items():
        if name.startswith("_") or name == "to_dict":
            continue
        if isinstance(value, property) and value.__doc__:
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
    """Return the first clause of a docstring, in Markdown."""
    text = " ".join((inspect.getdoc(value) or "").split()).replace("``", "`")
    return re.split(r"[.;:] ", re.sub(r":\w+:`", "`", text) + " ", maxsplit=1)[0].strip() + "."


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
