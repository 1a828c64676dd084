"""vLLM's messages and tools: what is wrong, by its place. The kernel gives them the form that templates read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from service.errors import ServiceError, quote
from service.routes.compat.anthropic import BILLING_HEADER
from service.routes.compat.body_objects import arguments_of, function, object_of, refuse_many_arguments, text_of_part
from service.schemas.fields import Object

_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal", "thinking": "thinking"}
"""The parts that are text, and the field that has it."""

_SILENT = ("assistant", "function")
"""The roles whose content may be null."""

_STRINGS = ("name", "task", "tool_call_id")
_REQUIRED = "this field is required"
_PART = re.compile(r"messages\[(\d+)\]\.content\[(\d+)\]\.text")


def read(messages: Sequence[Object]) -> list[Object]:
    """Check messages, and return them with text parts and objects as the arguments of calls.

    Errors:
        ``invalid_option`` for a part that is not text, by its type; ``missing_field``, ``invalid_type``,
        ``too_many_values``
    """
    called = [_calls(message, f"messages[{at}].tool_calls") for at, message in enumerate(messages)]
    refuse_many_arguments((call["function"].get("arguments") for calls in called for call in calls), "messages")
    return [
        _message(message, calls, f"messages[{at}]")
        for at, (message, calls) in enumerate(zip(messages, called, strict=True))
    ]


def sent(path: str, messages: Sequence[Object]) -> str:
    """Return the field of a request that a field of what ``read`` made of its messages came from."""
    part = _PART.match(path)
    if part is None:
        return path
    content = messages[int(part[1])]["content"]
    field = "" if isinstance(content, str) else f"[{part[2]}].{_TEXTS[content[int(part[2])]['type']]}"
    return f"messages[{part[1]}].content{field}"


def read_tools(tools: Sequence[Object] | None) -> list[Object] | None:
    """Check tools.

    Errors:
        ``missing_field``, ``invalid_type``
    """
    return None if tools is None else [_tool(tool, f"tools[{at}]") for at, tool in enumerate(tools)]


def _message(message: Object, calls: Sequence[Object], place: str) -> Object:
    """Return one message; ``calls`` are its checked calls."""
    role = message.get("role")
    if not isinstance(role, str):
        # Most templates would leave the message out without a word.
        code, wrong = ("invalid_type", "this must be a string") if "role" in message else ("missing_field", _REQUIRED)
        raise ServiceError(code, wrong, f"{place}.role")
    for name in _STRINGS:
        if not isinstance(message.get(name, ""), str if name != "tool_call_id" else str | None):
            raise ServiceError("invalid_type", "this must be a string", f"{place}.{name}")
    if "content" in message and message["content"] is None and role not in _SILENT:
        raise ServiceError("invalid_type", "this must be a string or a list", f"{place}.content")
    given = {**message, "tool_calls": [_call(call, f"{place}.tool_calls[{at}]") for at, call in enumerate(calls)]}
    if message.get("content") is not None:
        given["content"] = _content(message["content"], f"{place}.content")
        if role == "system":
            given["content"] = _without_header(given["content"])
    return given


def _content(content: Any, place: str) -> Any:
    """Return a text, or text parts with the fields that are the caller's own."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ServiceError("invalid_type", "this must be a string or a list", place)
    # A string is not a part here: a million of them, in 3 MB, would become as many objects.
    parts = [(object_of(part, f"{place}[{at}]"), f"{place}[{at}]") for at, part in enumerate(content)]
    return [{**part, "type": "text", "text": text_of_part(part, here, _TEXTS, "a part")} for part, here in parts]


def _without_header(content: Any) -> Any:
    """Take away the line that Claude Code begins a system text with, as vLLM does."""
    if isinstance(content, str):
        return content.partition("\n")[2] if content.startswith(BILLING_HEADER) else content
    texts = [{**part, "text": _without_header(part["text"])} for part in content]
    return [new for part, new in zip(content, texts, strict=True) if new["text"] or not part["text"]]


def _calls(message: Object, place: str) -> list[Object]:
    """Return the calls of an assistant's message."""
    calls = message.get("tool_calls")
    if message.get("role") != "assistant" or calls is None:
        return []
    if not isinstance(calls, list):
        raise ServiceError("invalid_type", "this must be a list", place)
    for at, call in enumerate(calls):
        object_of(object_of(call, f"{place}[{at}]").get("function"), f"{place}[{at}].function")
    return calls


def _call(call: Object, place: str) -> Object:
    """Return a call with its arguments as an object; what is none counts as an empty one."""
    function, given = call["function"], call["function"].get("arguments")
    parsed = arguments_of(given, f"{place}.function.arguments") if isinstance(given, str) else given
    return {**call, "function": {**function, "arguments": parsed if isinstance(parsed, dict) else {}}}


def _tool(tool: Object, place: str) -> Object:
    described = function(object_of(tool.get("function"), f"{place}.function"), f"{place}.function")
    if (kind := tool.get("type", "function")) != "function":
        raise ServiceError("invalid_value", f"{quote(kind)} is no type of tool; send function", f"{place}.type")
    return {**tool, "function": described}
