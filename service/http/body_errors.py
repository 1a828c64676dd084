"""The one most telling error of a JSON body, with its place, and the field that was meant for one that is missing.

Only here a body is read by Python's own ``json``: to find the field of a lone surrogate, or of a misspelt name.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from service.errors import ServiceError, quote
from tokenizer_core import did_you_mean

_SEARCHED_BYTES = 1 << 20
_MAX_ERRORS = 64
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_COMPRESSED = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""The first bytes of gzip and zstd, with which no text begins."""

_JSON_PLACE = re.compile(r" at line (\d+) column (\d+)$")
_ID_FIELDS = ("ids", "tokens")
"""Fields that hold ids, or lists of ids."""

_BY_NAME = ("texts",)
"""Fields that hold values by names of the caller's."""

CALLED_ELSEWHERE = {
    "model": "tokenizer",
    "prompt": "text",
    "prompts": "text",
    "input": "text",
    "inputs": "text",
    "content": "text",
    "input_ids": "ids",
    "token_ids": "ids",
    "tokens": "ids",
    "chat_template_kwargs": "template_args",
    "chat_template": "template",
    "truncation": "max_length",
    "parts": "return",
    "paths": "files",
    "labels": "return",
    "max_tokens": "max_length",
}
"""Aliases of our fields in other APIs."""

_STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")

_MESSAGE = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content", "thinking", "type")
"""Fields of messages, none of which is a mistake."""

_READ_BY_TEMPLATES = ("role", "content")
"""Fields of messages that the service does not miss, but most templates do."""

_EXPECTED = {
    "int_type": "a whole number",
    "string_type": "a string",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_type": "an object",
    "dict_type": "an object",
}


def explain(error: ValidationError, body: bytes, model: type[BaseModel], nested: str | None = None) -> ServiceError:
    """Turn what pydantic found into the one most telling error.

    Args:
        model: of the body.
        nested: objects have objects in their fields, whose places are written ``settings.vocab_size``; the word stands
            before them.
    """
    if error.error_count() > _MAX_ERRORS:
        # Only unknown fields can be so many, and listing them would take longer than finding them did.
        return ServiceError("unknown_field", f"the body has {error.error_count()} errors, most of them unknown fields")
    # A value may be as large as the body.
    found = error.errors(include_url=False, include_input=len(body) <= _SEARCHED_BYTES)
    unknown = next((item["loc"] for item in found if item["type"] == "extra_forbidden"), ())
    if nested is not None:
        found = [{**item, "loc": _dotted(nested, item["loc"])} for item in found if item["loc"]] or found
    first = next((item for item in found if item["type"] == "extra_forbidden"), found[0])
    if first["type"] == "json_invalid":
        refused = _explain_json(first["ctx"]["error"], body)
        refused.path = f"{nested}.{refused.path}" if nested and refused.path else refused.path
        return refused
    within = set[str]().union(*(_fields_within(field.annotation) for field in model.model_fields.values()))
    if unknown:
        name = _path(first["loc"], {*within, str(first["loc"][-1])}) or ""
        near = _nearest_field(model, unknown) or "; see /docs"
        return ServiceError("unknown_field", f"{quote(name)} is not a field of this request{near}", name)
    group = [item for item in found if item["loc"][:1] == first["loc"][:1]]
    return _explain_field(group, within)


def _nearest_field(model: type[BaseModel], place: tuple[int | str, ...]) -> str:
    """Name the field that is nearest to an unknown one, the last name of ``place``, in the object that it stands in."""
    *within, wrong = map(str, place)
    for name in within:
        inner = model.model_fields[name].annotation if name in model.model_fields else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return ""
        model = inner
    for name, field in model.model_fields.items():
        if wrong in _fields_within(field.annotation):
            return f"; did you mean '{name}.{wrong}'?"
    known = [field.alias or name for name, field in model.model_fields.items()]
    return did_you_mean(wrong, known, CALLED_ELSEWHERE)


def _fields_within(kind: Any) -> set[str]:
    """Return the names of all fields of the objects that a value of a type has."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return set[str]().union(*map(_fields_within, get_args(kind)))
    return set(kind.model_fields).union(*(_fields_within(field.annotation) for field in kind.model_fields.values()))


def _explain_field(group: list[Any], names: Collection[str]) -> ServiceError:
    """Explain the errors of one field: one for every form that its value could have had."""
    # A value that has the form but not the range is more telling than one without the form; then the deepest is. Of one
    # form only the first counts, and of several the one that fits longest.
    firsts: dict[tuple[object, ...], Any] = {}
    for item in group:
        form = *(part for part in item["loc"] if isinstance(part, str)), item["type"] in _EXPECTED
        firsts.setdefault(form, item)
    worst = next((item for item in group if _is_too_long(item)), None) or max(
        firsts.values(), key=lambda item: (item["type"] not in _EXPECTED, _depth(item))
    )
    path, kind = _path(worst["loc"], names), worst["type"]
    if kind == "missing":
        return ServiceError("missing_field", "this field is required", path)
    if _is_too_long(worst):
        most, nested = worst["ctx"]["max_length"], "list[list[" in str(worst["loc"][1:2])
        if worst["loc"][0] in _ID_FIELDS and (not nested or _depth(worst)[0]):
            return ServiceError("too_many_ids", f"there are more than {most} ids; send fewer in one request", path)
        return ServiceError("too_many_items", f"there are more than {most} items; send fewer in one request", path)
    if kind in _EXPECTED:
        here = [item for item in group if _path(item["loc"], names) == path and item["type"] in _EXPECTED]
        expected = dict.fromkeys(_EXPECTED[item["type"]] for item in here)
        return ServiceError("invalid_type", f"this must be {' or '.join(expected)}", path)
    if worst["loc"][0] == "ids":
        return ServiceError("unknown_token_id", "no token has this id", path)
    message = worst["msg"]
    if kind == "literal_error":
        message += did_you_mean(str(worst.get("input", "")), re.findall("'(.*?)'", worst["ctx"]["expected"]))
    return ServiceError("invalid_value", message[:1].lower() + message[1:], path)


def _is_too_long(item: Any) -> bool:
    """Tell whether a list is over a limit of the server; a span, which always has two ends, is not."""
    return bool(item["type"] == "too_long" and item["loc"][0] != "return" and item["ctx"]["max_length"] != 2)


def _depth(item: Any) -> tuple[int, int]:
    indexes = [part for part in item["loc"] if isinstance(part, int)]
    return len(indexes), indexes[-1] if indexes else -1


def _dotted(prefix: str, loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Join the names at the beginning of a place to one."""
    names = list(itertools.takewhile(lambda part: isinstance(part, str), loc))
    return (".".join([*([prefix] if prefix else []), *map(str, names)]), *loc[len(names) :])


def _path(loc: tuple[int | str, ...], names: Collection[str]) -> str | None:
    """Write a place as ``ids[3][0]`` or ``texts.greeting[0]``; the names of a union's branches are left out.

    Args:
        names: the fields of objects within the body.
    """
    if not loc:
        return None
    name = f".{str(loc[1])[:80]}" if loc[0] in _BY_NAME and len(loc) > 1 else ""
    steps = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc[1:] if _is_step(part, names))
    return f"{loc[0]}{name}" + "".join(steps)


def _is_step(part: int | str, names: Collection[str]) -> bool:
    return isinstance(part, int) or part in names


def _explain_json(message: str, body: bytes) -> ServiceError:
    if body.startswith(_COMPRESSED):
        return ServiceError("unsupported_encoding", "the body is compressed, and not JSON; send it as it is")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        what = "UTF-16 or UTF-32" if b"\0" in body[:4] else "not UTF-8"
        return ServiceError("invalid_unicode", f"the body is {what} at byte {error.start}; send it as UTF-8")
    place = _JSON_PLACE.search(message)
    if place is not None:
        line, column = int(place[1]), int(place[2])
        at = _line_start(body, line) + column
        if _SURROGATE.search(body, max(0, at - 14), at + 2):
            return ServiceError(
                "invalid_unicode",
                f"a surrogate stands alone in a string, which no Unicode text has, at line {line} column {column}",
                _find_surrogate(body),
            )
    if body[:4].count(0) >= 2 or b"\0" in body[:2]:
        return ServiceError("invalid_unicode", "the body is UTF-16 or UTF-32; send it as UTF-8")
    if body.startswith(b"\xef\xbb\xbf"):
        return ServiceError("invalid_json", "the body begins with a byte order mark; send JSON without it")
    return ServiceError("invalid_json", f"the body is not JSON: {message}" if body else "the body is empty; send JSON")


def _line_start(body: bytes, line: int) -> int:
    start = 0
    for _ in range(min(line, _SEARCHED_BYTES) - 1):
        start = body.find(b"\n", start) + 1
    return start


def _find_surrogate(body: bytes) -> str | None:
    """Find the field whose string holds a lone surrogate, in a body of a sensible size."""
    if len(body) > _SEARCHED_BYTES:
        return None
    try:
        root = json.loads(body)
    except (ValueError, RecursionError):
        return None
    # One iterator for every list and object that the search is inside of, and where it stands in each: a path that was
    # written for every value would take the length of its names times their number.
    inside: list[Iterator[tuple[int | str, Any]]] = [iter([("", root)])]
    place: list[int | str] = [""]
    while inside:
        step, value = next(inside[-1], (None, None))
        if step is None:
            inside.pop()
            place.pop()
            continue
        # A key that is not valid Unicode is reported at the object that has it.
        if isinstance(step, str) and not _is_unicode(step):
            return _joined(place[1:-1])
        place[-1] = step
        if isinstance(value, str):
            if not _is_unicode(value):
                return _joined(place[1:])
        elif isinstance(value, (list, dict)):
            inside.append(enumerate(value) if isinstance(value, list) else iter(value.items()))
            place.append("")
    return None


def _joined(place: list[int | str]) -> str | None:
    """Write a place as ``messages[0].content``."""
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return path.removeprefix(".") or None


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def name_mistyped(error: ServiceError, body: bytes, fields: Collection[str]) -> None:
    """Let an error about a missing field name what the body has in its place, if that is near.

    Args:
        fields: those of the body.
    """
    if error.path is None or len(body) > _SEARCHED_BYTES:
        return
    *within, missing = [int(index) if index else name for name, index in _STEPS.findall(error.path)] or [""]
    try:
        place = json.loads(body)
        for step in within:
            place = place[step]
    except (ValueError, RecursionError, LookupError, TypeError):
        return
    if not isinstance(place, dict) or missing in place or not isinstance(missing, str):
        return
    if error.code != "missing_field" and missing not in _READ_BY_TEMPLATES:
        return
    known = (*_MESSAGE, missing) if within else fields
    wrong = next((key for key in place if key not in known and _is_near(key, missing)), None)
    if wrong is not None:
        error.detail += f"; {quote(wrong)} is not a field; did you mean {missing!r}?"


def _is_near(key: str, missing: str) -> bool:
    def meaning(word: str) -> str:
        return CALLED_ELSEWHERE.get(word, word)

    return meaning(key) == meaning(missing) or bool(did_you_mean(key, [missing]))
