"""Proof of a derived template: turns that the chat template writes are read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tokenizer_core import _kernel
from tokenizer_core.responses.calls import places
from tokenizer_core.responses.probes import KEYS, NAMES, SAID, THOUGHT, Prober, Turn, call, tool

_HAZARDS = (
    'it\'s "so"',
    "a\\b\n\tc",
    "{}[],:=()",
    "</x> <y> &amp; <|z|>",
    "",
    " spaced ",
    "3",
    "é 👩‍👩‍👧",
    "'",
    '"',
    "\\",
)
VALUES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "no arguments": ("string", ()),
    "strings": ("string", ("Red", "two words")),
    "strings with quotes or marks": ("string", _HAZARDS),
    "integers": ("integer", (0, -3, 12345678)),
    "numbers": ("number", (1.5, -0.25)),
    "booleans": ("boolean", (True, False)),
    "null": ("null", (None,)),
    "lists": ("array", ([], [1, "<&>", True], [[{"a": "b"}]])),
    "objects": ("object", ({}, {"a": [1, {"b": "<&>"}], "d": "it's"})),
}
"""Values of arguments, and their type in a tool's schema, by how a note calls them."""
_PLAIN = SAID, " spaced\n\n", "a < b\n<b>c</b>", "{}"


def failures(prober: Prober, spec: Mapping[str, Any], rest: Callable[[Turn], int]) -> Iterator[tuple[str, bool, str]]:
    """Return the fields that are not read back, if what is read makes the same text, and the kind of arguments, if any.

    Args:
        rest: where a turn goes on behind its anchor; 0 if it has none.
    """
    engine = _kernel.ResponseTemplate(json.dumps(spec))
    for kind, turn in _turns(prober):
        start = rest(turn) if turn.slots and (not kind or places(turn)) else 0
        if start and (wrong := _wrong(prober, turn, start, engine)):
            yield *wrong, kind


def _turns(prober: Prober) -> Iterator[tuple[str, Turn]]:
    """Return turns to read back, with the kind of their arguments."""
    for content in _PLAIN:
        for thought in ("", THOUGHT, "one\n\ntwo <b>"):
            more = {"reasoning_content": thought} if thought else {}
            for turn in prober.turns({"content": content, **more}):
                yield "", turn
    for kind, (of, values) in VALUES.items():
        given = {f"{KEYS[0]}_{at}": value for at, value in enumerate(values)}
        tools = [tool(name, dict.fromkeys(given, of)) for name in NAMES]
        for count, content, more in ((1, "", {}), (2, "", {}), (2, SAID, {"reasoning_content": THOUGHT})):
            calls = [call(at, NAMES[at], given, prober.arguments) for at in range(count)]
            message = {"role": "assistant", "content": content, **more, "tool_calls": calls}
            options = next((turn.options for turn in prober.turns(message, tools)), None)
            for history in range(2):
                if options and (written := prober.turn(message, history, options)):
                    yield kind, written


def _wrong(prober: Prober, turn: Turn, start: int, engine: _kernel.ResponseTemplate) -> tuple[str, bool] | None:
    """Return the field that is not read back from a turn, and whether what is read makes the same text."""
    begun = len(turn.prompt) if turn.text.startswith(turn.prompt) else start
    parser = _kernel.ResponseParser(engine, turn.text[:begun], json.dumps(list(turn.options[0])))
    parser.feed(turn.text[begun:])
    got = json.loads(parser.finish())["message"]
    wanted = {
        "reasoning_content": turn.written("reasoning_content"),
        "tool_calls": _calls(turn.message) if places(turn) else [],
        "content": turn.written("content"),
    }
    found = {**got, "tool_calls": _calls(got)}
    wrong = next((field for field, value in wanted.items() if (found.get(field) or type(value)()) != value), None)
    if wrong is None:
        return None
    if calls := got.get("tool_calls"):
        got["tool_calls"] = [{"id": f"callid00{at}", **each} for at, each in enumerate(calls)]
    again: Turn | None = prober.turn(got, turn.history, turn.options)
    return wrong, again is not None and again.text == turn.text


def _calls(message: Mapping[str, Any]) -> list[Any]:
    """Return the names of calls with their arguments as JSON."""
    called = []
    for function in (each["function"] for each in message.get("tool_calls") or ()):
        given = function["arguments"]
        given = json.loads(given) if isinstance(given, str) and given[:1] == "{" else given
        called.append((function["name"], json.dumps(given, sort_keys=True)))
    return called
