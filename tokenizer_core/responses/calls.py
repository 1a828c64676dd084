"""Calls of tools as a template writes them, read off turns with marked calls."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tokenizer_core.responses.probes import KEY, Slot, Turn, shared_end, shared_start

WORD = r"""[^\s<>{}()"]+?"""
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_DECODER = json.JSONDecoder()
_TEXT = {"name": "text", "args": {"strip": False}}
_EACH = {"type": "function", "function": {"name": "{name}", "arguments": "{arguments}"}}
_ONE = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}


def escaped(literal: str) -> str:
    """Return a literal as an expression."""
    return _SPECIAL.sub(r"\\\g<0>", literal)


def any_of(literals: set[str], before: str = "") -> str:
    """Return an expression of the longest of some literals, or of the shortest with other white space in it.

    Args:
        before: what has to stand before that with other white space.
    """
    ordered = sorted(literals, key=lambda each: (-len(each), each))
    loose = before + r"\s*".join(map(escaped, re.split(r"\s+", ordered[-1].strip()))) if ordered[-1].strip() else ""
    alternatives = [*map(escaped, ordered), loose]
    return "(?:" + "|".join(dict.fromkeys(filter(None, alternatives))) + ")"


class Place(NamedTuple):
    """Where a turn has a call, or a list of calls: from its first value, or the JSON around that, to its last."""

    start: int
    end: int


@dataclass
class CallForm:
    """How calls are written.

    Attributes:
        content, arguments, transform: those of the field of a response template.
        named: the expression that follows the opening literal, with the name of the tool.
        at_once: all calls are one list.
        starts, stops: text that belongs to the calls, at the end of the opening literal and the start of the closing.
        ahead: what has to follow the opening.
    """

    content: str
    transform: dict[str, Any]
    arguments: dict[str, Any] = field(default_factory=dict)
    named: str = ""
    at_once: bool = False
    starts: str = ""
    stops: str = ""
    ahead: str = ""


def places(turn: Turn) -> list[Place]:
    """Return where the calls of a turn are; nothing if the template does not write them."""
    count = len(turn.message.get("tool_calls", ()))
    found: list[Place] = []
    for at in range(count):
        own = [slot for slot in turn.slots if slot.field.startswith(f"{at}.")]
        values = [slot for slot in own if slot.field.rpartition(".")[2] in ("value", "arguments")]
        if not turn.find(f"{at}.name"):
            return []
        begin, end = own[0].start, max(values or own, key=lambda slot: slot.end).end
        around = _json(turn.text, turn.find(f"{at}.name")[0].start, end) or _json(turn.text, own[-1].start, end)
        if around:
            begin, end = min(begin, around[0].start), around[0].end
        if not found or begin >= found[-1].end:
            found.append(Place(begin, end))
    return found


def _json(text: str, first: int, last: int) -> tuple[Place, Any] | None:
    """Return the largest JSON value that begins at or before one place, and goes on behind another."""
    for found in re.finditer(r"[\[{]", text[: first + 1]):
        try:
            value, end = _DECODER.raw_decode(text, found.start())
        except ValueError:
            continue
        if end >= last:
            return Place(found.start(), end), value
    return None


def form_of(turn: Turn, empty: Turn | None, typed: Turn | None, quoted: Turn | None) -> CallForm | None:
    """Read the form of calls off a turn of two calls, or of one, with two arguments.

    Args:
        empty, typed, quoted: turns with one call: without arguments, with a number, and with a text that has marks.
    """
    name, own = turn.find("0.name")[0], [slot for slot in turn.slots if slot.field.startswith("0.")]
    values = [slot for slot in own if slot.field.endswith((".value", ".arguments"))]
    if not values:
        return None
    if whole := _json(turn.text, name.start, values[-1].end):
        return _json_form(turn, *whole)
    if given := _json(
        turn.text, values[0].start if values[0].field == "0.arguments" else own[-1].start, values[-1].end
    ):
        return _named_json(turn, given[0])
    return _marked(turn, empty, typed, quoted)


def _json_form(turn: Turn, place: Place, value: Any) -> CallForm | None:
    listed = isinstance(value, list)
    called = turn.message["tool_calls"][0]
    first = value[0] if listed else value
    paths = {key: _path(first, wanted) for key, wanted in (("name", called["function"]["name"]), ("id", called["id"]))}
    given = called["function"]["arguments"]
    paths["arguments"] = _path(first, json.loads(given) if isinstance(given, str) else given) or _path(first, given)
    if paths["name"] is None or paths["arguments"] is None:
        return None
    follows = not listed and turn.text.startswith("{", place.end)
    root = "" if listed or follows else "content."
    function = {key: f"{{{root}{paths[key]}}}" for key in ("name", "arguments")}
    identity = {"id": f"{{{root}{paths['id']}}}"} if paths["id"] else {}
    begin = turn.text[place.start : turn.find("0.name")[0].start]
    content = "x-json-sequence" if follows else "json"
    transform = {"type": "function", **identity, "function": function}
    return CallForm(content, transform, at_once=listed or follows, ahead=escaped(begin))


def _path(value: Any, wanted: Any) -> str | None:
    """Return where a value is in objects, by keys with points between them."""
    for key, each in value.items() if isinstance(value, dict) else ():
        if re.fullmatch(r"\w+", key) and (each == wanted or (below := _path(each, wanted)) is not None):
            return key if each == wanted else f"{key}.{below}"
    return None


def _named_json(turn: Turn, place: Place) -> CallForm:
    named = _named(turn, place.start)
    transform = {**_ONE, "id": "{id}"} if "(?P<id>" in named else _ONE
    return CallForm("json", transform, named=named, ahead=r"\{")


def _named(turn: Turn, end: int) -> str:
    """Return the expression of the name and all up to the arguments, in which the call's number may be any."""
    slots = [slot for slot in turn.slots if slot.field in ("0.name", "0.id") and slot.end <= end]
    named = ""
    for slot, stop in zip(slots, [*(each.start for each in slots[1:]), end], strict=True):
        group = f"(?P<{slot.field[2:]}>{WORD})"
        named += WORD if group in named else group
        named += re.sub(r"\b0\b", r"\\d+", escaped(turn.text[slot.end : stop]))
    return named


def _marked(turn: Turn, empty: Turn | None, typed: Turn | None, quoted: Turn | None) -> CallForm | None:
    """Read arguments between marks of their own: ``<parameter=key>value</parameter>``, ``key=value``."""
    name, keys, values = (turn.find(f"0.{kind}") for kind in ("name", "key", "value"))
    if len(values) != 2 or len(keys) < 2 or keys[0].start > values[0].start:
        return None
    second = max((key for key in keys if key.end <= values[1].start), key=lambda key: key.end)
    opened = turn.literal(name[-1].end, keys[0].start)
    equals = turn.literal(keys[0].end, values[0].start)
    parted = turn.literal(values[0].end, second.start)
    following = turn.find("1.name")
    behind = turn.literal(values[1].end, following[0].start if following else None)
    if opened == "(" and equals[:1] == "=":
        return _python(turn, name[0], equals[1:])
    if opened.endswith("{") and equals[:1] == ":":
        mark = equals[1:]
        delimiters = {"string_delims": [[mark, mark]]} if mark not in ("", '"') else {}
        named, stops = _named(turn, keys[0].start - 1), mark + "}"
        return CallForm("json", _ONE, {**delimiters, "unquoted_keys": True}, named=named, stops=stops, ahead=r"\{")
    without = opened
    if empty is not None and (blank := empty.find("0.name")):
        without = shared_start(opened, empty.literal(blank[-1].end))
    begins = opened[len(without) :] or shared_end(opened, parted)
    ends = shared_start(behind, parted.removesuffix(begins))
    if not (begins and equals and parted.endswith(begins) and ends.strip()):
        return None
    content, value, close = "xml-inline", escaped(equals) + "(?P<value>.*?)", ""
    if typed is not None and (number := typed.find("0.value")):
        other = typed.literal(typed.find("0.key")[0].end, number[0].start)
        if other != equals:
            content, value = "x-xml-inline", f"(?:{value}|{escaped(other)}(?P<json>.*?))"
    if quoted is not None and (text := quoted.find("0.value")):
        start = quoted.literal(quoted.find("0.key")[0].end, text[0].start).removeprefix(equals)
        if start:
            value = f"{escaped(equals)}(?:{escaped(start)})?(?P<value>.*?)"
            close = f"(?:{escaped(quoted.literal(text[-1].end).partition(ends.rstrip())[0])})?"
    stop = escaped(ends.rstrip()).replace(KEY, "(?P=key)")
    pattern = f'{escaped(begins)}(?P<key>[^<>"]+?){value}{close}{stop}(?=\\s*(?:{escaped(begins)}|\\Z))'
    arguments = {"tag_pattern": pattern, "value_parser": _TEXT}
    named = _named(turn, keys[0].start - len(opened) + len(without))
    return CallForm(content, _ONE, arguments, named=named, stops=ends)


def _python(turn: Turn, name: Slot, quote: str) -> CallForm:
    if turn.text[: name.start].endswith("["):
        return CallForm("python-call-list", _EACH, at_once=True, starts="[", stops=quote + ")]", ahead=r"\[")
    return CallForm("x-python-calls", _EACH, at_once=True, stops=quote + ")", ahead=r"[\w.-]+\(")
