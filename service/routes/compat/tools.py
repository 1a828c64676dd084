"""Tools as engines give them to templates, each with the field of the request that it came from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from service.errors import ServiceError, quote
from service.http.json_body import refuse_many_values
from service.routes.compat.parts import Uncountable, kind_of, objects_of, text_of
from service.schemas.fields import Object

_IF_SENT = ("strict", "defer_loading")


class Tool(NamedTuple):
    """A tool as a template reads it, and its field."""

    given: Object
    place: str


def function(values: Mapping[str, Any], place: str, *, parameters: str = "parameters", name: str = "") -> Object:
    """Return a function with the fields of vLLM in its order; a description that is not sent is null.

    Args:
        parameters: the name of the field that holds the schema of its arguments.
        name: a name in place of its own.

    Errors:
        ``missing_field``, ``invalid_type``
    """
    own = text_of(values, "name", place)
    description = None if values.get("description") is None else text_of(values, "description", place)
    schema = values.get(parameters)
    if not isinstance(schema, dict | None):
        raise ServiceError("invalid_type", "this must be an object", f"{place}.{parameters}")
    described: Object = {"name": name or own, "description": description, "parameters": schema}
    return described | {field: values[field] for field in _IF_SENT if values.get(field) is not None}


def custom_tools(tools: list[Object] | None, uncountable: Uncountable, *, parameters: str) -> list[Tool]:
    """Return Anthropic's tools that are the caller's own: without a type, or of type ``custom``."""
    found = []
    for at, tool in enumerate(tools or ()):
        place = f"tools[{at}]"
        kind = kind_of(tool, place, "custom")
        if kind == "custom":
            found.append(_tool(function(tool, place, parameters=parameters), place))
        else:
            uncountable.find("a tool", kind, place)
    return found


def function_tools(tools: list[Object] | None, uncountable: Uncountable) -> list[Tool]:
    """Return OpenAI's functions, those of namespaces too: as vLLM names them, with the namespace before."""
    found = []
    for at, tool in enumerate(tools or ()):
        place = f"tools[{at}]"
        kind = kind_of(tool, place)
        if kind == "function":
            found.append(_tool(function(tool, place), place))
        elif kind == "namespace":
            found += _of_namespace(tool, place, uncountable)
        else:
            uncountable.find("a tool", kind, place)
    return found


def in_namespace(namespace: str, name: str) -> str:
    """Return what a function of a namespace is called in a template."""
    return f"{namespace}__{name}"


def _of_namespace(namespace: Object, place: str, uncountable: Uncountable) -> list[Tool]:
    found, prefix = [], text_of(namespace, "name", place)
    for at, tool in enumerate(objects_of(namespace.get("tools"), f"{place}.tools")):
        here = f"{place}.tools[{at}]"
        kind = kind_of(tool, here)
        if kind == "function":
            name = in_namespace(prefix, text_of(tool, "name", here))
            found.append(_tool(function(tool, here, name=name), here))
        else:
            uncountable.find("a tool", kind, here)
    return found


def _tool(described: Object, place: str) -> Tool:
    return Tool({"type": "function", "function": described}, place)


def _integer(digits: str) -> int:
    # Python's own, called from Python: others can run between the numbers. 7,000 of 4,300 digits take a second.
    return int(digits)


def refuse_many_arguments(given: Iterable[object], path: str) -> None:
    """Bound the arguments of all calls as the body is bounded: they are JSON in strings, which cost nothing there.

    Errors:
        ``too_many_values``
    """
    refuse_many_values(*(arguments.encode() for arguments in given if isinstance(arguments, str)), path=path)


class _NoNumberOfJson(Exception):
    """A number that JSON does not have, or that no variable can hold."""


def _refuse_number(written: str) -> NoReturn:
    raise _NoNumberOfJson(written)


def _finite(written: str) -> float:
    value = float(written)
    return value if math.isfinite(value) else _refuse_number(written)


def arguments_of(text: str, place: str) -> Any:
    """Read arguments that are JSON, as engines do before they render; what is not an object stays text.

    Errors:
        ``invalid_option`` at ``place`` for a number such as NaN, which Python's reader takes
    """
    try:
        value = json.loads(text, parse_int=_integer, parse_float=_finite, parse_constant=_refuse_number)
    except _NoNumberOfJson as error:
        raise ServiceError(
            "invalid_option", f"{quote(str(error))} is not a number of JSON; send null or a string", place
        ) from None
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text
