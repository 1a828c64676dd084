"""What the counting routes make of a request: messages as templates read them, each with the field it came from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from service.answers import chats
from service.bodies.json_body import refuse_many_values
from service.errors import ServiceError, quote
from service.schemas.fields import Object
from service.settings import Settings
from service.tokenizers.loaded import Loaded
from tokenizer_core import RenderedChat, media_of

_MESSAGE = re.compile(r"messages\[(\d+)\](.*)", re.DOTALL)
_TOOL = re.compile(r"(tools\[\d+\])\.function\.(\w+)(.*)", re.DOTALL)
_ARGUMENTS = {"template_args.reasoning_effort": "reasoning.effort"}
"""Variables of a template, and the fields of a request that they are."""

BETWEEN = "\n"
"""Stands between text parts of one turn, as vLLM puts it for templates that take one string."""


class Conversation:
    """Turns that are gathered from a request.

    Args:
        joined: whether what a caller says in two messages in a row is one turn; the assistant's always is.
        parameters: the name of the field that holds the schema of a tool's arguments.
    """

    def __init__(self, *, joined: bool, parameters: str) -> None:
        self.messages: list[Object] = []
        self._places: list[str] = []
        self._joined, self._parameters = joined, parameters
        self._names: dict[str, str] = {}
        self._gathered: list[tuple[Object, str, list[str]]] = []

    def say(self, role: str, text: str, place: str) -> None:
        """Add what somebody says."""
        self._gather(self._turn(role, place, joined=self._joined or role == "assistant"), "content", text)

    def think(self, text: str, place: str) -> None:
        """Add the assistant's reasoning."""
        self._gather(self._turn("assistant", place, joined=True), "reasoning_content", text)

    def call(self, id: str, name: str, arguments: Any, place: str) -> None:
        """Add the call of a function."""
        message = self._turn("assistant", place, joined=True)
        self._names[id] = name
        called = {"name": name, "arguments": arguments}
        message.setdefault("tool_calls", []).append({"id": id, "type": "function", "function": called})

    def answer(self, id: str, text: str, place: str) -> None:
        """Add what a function returned."""
        named = {"name": self._names[id]} if id in self._names else {}
        self.messages.append({"role": "tool", "tool_call_id": id, **named, "content": text})
        self._places.append(place)

    def complete(self) -> None:
        """Join the texts of every turn, when all are there: joined one by one, each would copy those before it."""
        for message, name, texts in self._gathered:
            message[name] = BETWEEN.join(texts)

    def count(self, loaded: Loaded, settings: Settings, **rendering: Any) -> int:
        """Count the ids of the prompt that a model would be given.

        Errors:
            those of chats, at the fields of the request
        """
        for message in self.messages:
            message.setdefault("content", "")
        try:
            encoded = chats.encode_one(loaded, self.messages, "messages", settings, **rendering)
            self._refuse_what_is_left_out(encoded.rendered, rendering.get("tools"))
            return len(encoded.ids)
        except ServiceError as error:
            error.path = self._sent(error.path or "") or None
            raise

    def _sent(self, path: str) -> str:
        """Return the field of the request that a field of what was rendered came from."""
        message, tool = _MESSAGE.fullmatch(path), _TOOL.fullmatch(path)
        if message is not None:
            return self._places[int(message[1])]
        if tool is not None:
            return f"{tool[1]}.{self._parameters if tool[2] == 'parameters' else tool[2]}{tool[3]}"
        return _ARGUMENTS.get(path, path)

    def _refuse_what_is_left_out(self, rendered: RenderedChat, tools: object) -> None:
        """Refuse tools and calls of which a template that knows none of them writes nothing."""
        written = {(span.message, re.split(r"[.\[]", span.field, maxsplit=1)[0]) for span in rendered.spans}
        if tools and (None, "tools") not in written:
            raise ServiceError("invalid_option", "this tokenizer's chat template writes no tools", "tools")
        for at, message in enumerate(self.messages):
            if "tool_calls" in message and (at, "tool_calls") not in written:
                raise ServiceError(
                    "invalid_option", "this tokenizer's chat template writes no calls of tools", f"messages[{at}]"
                )

    def _gather(self, message: Object, name: str, text: str) -> None:
        if name not in message:
            message[name] = []
            self._gathered.append((message, name, message[name]))
        message[name].append(text)

    def _turn(self, role: str, place: str, *, joined: bool) -> Object:
        if joined and self.messages and self.messages[-1]["role"] == role:
            return self.messages[-1]
        self.messages.append({"role": role})
        self._places.append(place)
        return self.messages[-1]


def kind_of(part: Mapping[str, Any], place: str, default: str | None = None) -> str:
    """Return the type of a part."""
    return text_of(part, "type", place) if default is None or part.get("type") is not None else default


def text_of(values: Mapping[str, Any], name: str, place: str) -> str:
    """Return a required string."""
    value = values.get(name)
    if isinstance(value, str):
        return value
    if value is None:
        raise ServiceError("missing_field", "this field is required", f"{place}.{name}")
    raise ServiceError("invalid_type", "this must be a string", f"{place}.{name}")


def objects_of(value: object, place: str) -> list[Object]:
    """Return the objects of what could also have been a string."""
    if not isinstance(value, list):
        raise ServiceError("invalid_type", "this must be a string or a list of objects", place)
    for at, item in enumerate(value):
        if not isinstance(item, dict):
            raise ServiceError("invalid_type", "this must be an object", f"{place}[{at}]")
    return value


def joined_text(content: object, place: str, fields: Mapping[str, str], part: str) -> str:
    """Join the texts of parts; a string is taken as it is.

    Args:
        fields: the field that holds the text, by the types of part that are text.
        part: what an error calls a part.

    Errors:
        ``invalid_option`` for a part of another type; ``missing_field``, ``invalid_type``
    """
    if isinstance(content, str):
        return content
    items = enumerate(objects_of(content, place))
    return BETWEEN.join(text_of_part(item, f"{place}[{at}]", fields, part) for at, item in items)


def text_of_part(item: Mapping[str, Any], place: str, fields: Mapping[str, str], part: str) -> str:
    """Return the text of one part; ``fields`` and ``part`` are those of ``joined_text``."""
    kind = item.get("type")
    if isinstance(kind, str) and kind not in fields:
        raise refused(part, kind, place)
    return text_of(item, fields[part_kind(item, part, place)], place)


def part_kind(item: Mapping[str, Any], part: str, place: str) -> str:
    """Return the type of a part; media are refused by their name, whatever type the part has, or none."""
    media = media_of(item)
    if media is not None:
        raise refused(part, media[0], place, field=media[1])
    return kind_of(item, place)


def refused(what: str, kind: str, place: str, *, field: str = "type") -> ServiceError:
    """Refuse by its name what cannot be counted; leaving it out would be a wrong count."""
    return ServiceError(
        "invalid_option",
        f"{what} of type {quote(kind)} is not supported: only text is counted here",
        f"{place}.{field}",
    )


def functions(
    tools: list[Object] | None, parameters: str, *, kind: str, default: str | None = None
) -> list[Object] | None:
    """Return tools as templates read them; one of another type than ``kind`` is refused by its type.

    Args:
        parameters: the name of the field that holds the schema of a tool's arguments.
        default: the type of a tool that names none; by default a tool must name one.

    Errors:
        ``invalid_option``, ``missing_field``, ``invalid_type``
    """
    found = []
    for at, tool in enumerate(tools or ()):
        place = f"tools[{at}]"
        named = kind_of(tool, place, default)
        if named != kind:
            raise refused("a tool", named, place)
        found.append(_function(tool, parameters, place))
    return found or None


def _function(values: Mapping[str, Any], parameters: str, place: str) -> Object:
    described: Object = {"name": text_of(values, "name", place)}
    if values.get("description") is not None:
        described["description"] = text_of(values, "description", place)
    schema = values.get(parameters)
    if schema is not None:
        if not isinstance(schema, dict):
            raise ServiceError("invalid_type", "this must be an object", f"{place}.{parameters}")
        described["parameters"] = schema
    return {"type": "function", "function": described}


def _integer(digits: str) -> int:
    # Python's own, called from Python: others can run between the numbers. 7,000 of 4,300 digits take a second.
    return int(digits)


def refuse_many_arguments(given: Iterable[object], path: str) -> None:
    """Bound the arguments of all calls as the body is bounded: they are JSON in strings, which cost nothing there.

    Errors:
        ``too_many_values``
    """
    refuse_many_values(*(arguments.encode() for arguments in given if isinstance(arguments, str)), path=path)


def arguments_of(text: str) -> Any:
    """Read arguments that are JSON, as engines do before they render; what is not an object stays text."""
    try:
        value = json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text
