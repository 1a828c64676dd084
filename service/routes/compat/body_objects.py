"""Fields of a request that are objects: texts are read with their places, tools and the arguments of calls as engines
give them to templates; other content is refused by its name."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from service.errors import ServiceError, quote
from service.http.json_body import refuse_many_values
from service.schemas.fields import Object
from tokenizer_core import media_of

Text = tuple[str, str]
"""A text, and the field of the request that has it."""

_IF_SENT = ("strict", "defer_loading")


class Uncountable:
    """The parts of a request that no template writes: each is refused, or skipped and listed.

    Attributes:
        skips: whether it is skipped.
        skipped: the path and the type of each, in the order in which they are found.
    """

    def __init__(self, *, skip: bool = False) -> None:
        self.skips = skip
        self.skipped: list[Object] = []

    def find(self, what: str, kind: str, place: str, *, field: str = "type") -> None:
        """Refuse or skip what is of a kind that cannot be counted.

        Errors:
            ``invalid_option``
        """
        self.unless_skipped(kind, place, refused(what, kind, place, field=field))

    def unless_skipped(self, kind: str, place: str, error: ServiceError) -> None:
        """Raise an error that means that something is not in the count, or note what."""
        if not self.skips:
            raise error
        self.skipped.append({"path": place, "type": kind})

    def nothing_left(self, way: str, place: str) -> ServiceError:
        """Say that there is nothing to count, and whether that is so because all of it was skipped."""
        if not self.skipped:
            return ServiceError("missing_field", f"there is nothing to count; {way}", place)
        first = self.skipped[0]
        left_out = f"{len(self.skipped)} left out, first {first['path'][:80]} of type {quote(first['type'])}"
        return ServiceError("invalid_option", f"nothing is left to count: {left_out}; {way}", place)


def refused(what: str, kind: str, place: str, *, field: str = "type") -> ServiceError:
    """Refuse by its name what cannot be counted; leaving it out would be a wrong count."""
    return ServiceError(
        "invalid_option",
        f"{what} of type {quote(kind)} is not supported: only text is counted here",
        f"{place}.{field}",
    )


def kind_of(item: Mapping[str, Any], place: str, default: str | None = None) -> str:
    """Return the type of an object."""
    return text_of(item, "type", place) if default is None or item.get("type") is not None else default


def text_of(values: Mapping[str, Any], name: str, place: str) -> str:
    """Return a required string."""
    value = values.get(name)
    if isinstance(value, str):
        return value
    if value is None:
        raise ServiceError("missing_field", "this field is required", f"{place}.{name}")
    raise ServiceError("invalid_type", "this must be a string", f"{place}.{name}")


def object_of(value: Any, place: str) -> Object:
    """Return what must be an object."""
    if not isinstance(value, dict):
        raise ServiceError("invalid_type", "this must be an object", place)
    return value


def objects_of(value: object, place: str) -> list[Object]:
    """Return the objects of what could also have been a string."""
    if not isinstance(value, list):
        raise ServiceError("invalid_type", "this must be a string or a list of objects", place)
    for at, item in enumerate(value):
        object_of(item, f"{place}[{at}]")
    return value


def not_text(item: Mapping[str, Any], types: Mapping[str, str]) -> tuple[str, str] | None:
    """Return why a part is not text alone: the name of its type or of its media, and the field that says so."""
    kind = item.get("type")
    return (kind, "type") if isinstance(kind, str) and kind not in types else media_of(item)


def text_of_part(item: Mapping[str, Any], place: str, types: Mapping[str, str], part: str) -> str:
    """Return the text of one part.

    Args:
        types: the field that holds the text, by the types of part that are text.
        part: what an error calls a part.

    Errors:
        ``invalid_option`` for a part of another type, or with media; ``missing_field``, ``invalid_type``
    """
    found = not_text(item, types)
    if found is not None:
        raise refused(part, found[0], place, field=found[1])
    return text_of(item, types[kind_of(item, place)], place)


def texts_of(content: object, place: str, types: Mapping[str, str], part: str, uncountable: Uncountable) -> list[Text]:
    """Return the texts of a string or a list of parts; ``types`` and ``part`` are those of ``text_of_part``."""
    if content is None:
        raise ServiceError("missing_field", "this field is required", place)
    if isinstance(content, str):
        return [(content, place)]
    texts = []
    for at, item in enumerate(objects_of(content, place)):
        here = f"{place}[{at}]"
        found = not_text(item, types)
        if found is not None:
            uncountable.find(part, found[0], here, field=found[1])
        if found is None or item.get("type") in types:
            texts.append((text_of(item, types[kind_of(item, here)], here), here))
    return texts


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


def tool_of(described: Object, place: str) -> Tool:
    """Return the tool that is a function."""
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
