"""OpenAI's input items and tools, as vLLM reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.errors import ServiceError
from service.routes.compat.body_objects import (
    Tool,
    Uncountable,
    arguments_of,
    function,
    kind_of,
    objects_of,
    refuse_many_arguments,
    text_of,
    texts_of,
    tool_of,
)
from service.routes.compat.conversation import Conversation, Turn
from service.schemas.fields import Object

_TEXTS = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "refusal": "refusal",
}
"""The parts that are text, and the field that has it."""

_ROLES = ("user", "assistant", "system", "developer")
_BEGUN = ("in_progress", "incomplete")


def read(conversation: Conversation, instructions: str | None, items: str | list[Object] | None) -> None:
    """Add the turns of a request.

    Errors:
        ``invalid_option`` for an item or a part that is not text, by its type; ``missing_field``, ``invalid_type``
    """
    if instructions:
        conversation.add(Turn("system", "instructions", [(instructions, "instructions")]))
    if isinstance(items, str):
        conversation.add(Turn("user", "input", [(items, "input")]))
    else:
        calls = (item for item in items or () if item.get("type") == "function_call")
        refuse_many_arguments((call.get("arguments") for call in calls), "input")
    for at, item in enumerate(items if isinstance(items, list) else ()):
        _add(conversation, item, f"input[{at}]")
    if not conversation.turns:
        raise conversation.uncountable.nothing_left("send input, or instructions", "input")


def goes_on(items: str | list[Object] | None) -> bool:
    """Tell whether the last item is a message of the assistant that is not complete, which the model goes on with."""
    last = items[-1] if isinstance(items, list) and items else {}
    return last.get("type", "message") == "message" and last.get("role") == "assistant" and last.get("status") in _BEGUN


def read_tools(tools: list[Object] | None, uncountable: Uncountable) -> list[Tool]:
    """Return OpenAI's functions, those of namespaces too: as vLLM names them, with the namespace before."""
    found = []
    for at, tool in enumerate(tools or ()):
        place = f"tools[{at}]"
        kind = kind_of(tool, place)
        if kind == "function":
            found.append(tool_of(function(tool, place), place))
        elif kind == "namespace":
            found += _of_namespace(tool, place, uncountable)
        else:
            uncountable.find("a tool", kind, place)
    return found


def _in_namespace(namespace: str, name: str) -> str:
    """Return what a function of a namespace is called in a template."""
    return f"{namespace}__{name}"


def _of_namespace(namespace: Object, place: str, uncountable: Uncountable) -> list[Tool]:
    found, prefix = [], text_of(namespace, "name", place)
    for at, tool in enumerate(objects_of(namespace.get("tools"), f"{place}.tools")):
        here = f"{place}.tools[{at}]"
        kind = kind_of(tool, here)
        if kind == "function":
            name = _in_namespace(prefix, text_of(tool, "name", here))
            found.append(tool_of(function(tool, here, name=name), here))
        else:
            uncountable.find("a tool", kind, here)
    return found


def _add(conversation: Conversation, item: Mapping[str, Any], place: str) -> None:
    kind = kind_of(item, place, "message")
    if kind == "message":
        _add_message(conversation, item, place)
    elif kind == "function_call":
        name = text_of(item, "name", place)
        arguments = arguments_of(text_of(item, "arguments", place), f"{place}.arguments")
        if item.get("namespace") is not None:
            name = _in_namespace(text_of(item, "namespace", place), name)
        given = arguments if isinstance(arguments, dict) else {}
        _assistant(conversation, place).call(text_of(item, "call_id", place), name, given, place)
    elif kind == "function_call_output":
        id = text_of(item, "call_id", place)
        texts = texts_of(item.get("output"), f"{place}.output", _TEXTS, "a part", conversation.uncountable)
        conversation.add(Turn("tool", place, [(text, place) for text, _ in texts], answers=id))
    elif kind == "reasoning":
        _add_reasoning(conversation, item, place)
    else:
        conversation.uncountable.find("an item", kind, place)


def _add_message(conversation: Conversation, item: Mapping[str, Any], place: str) -> None:
    role = text_of(item, "role", place)
    if role not in _ROLES:
        raise ServiceError("invalid_value", f"a role is one of {', '.join(_ROLES)}", f"{place}.role")
    content = item.get("content")
    texts = texts_of(content, f"{place}.content", _TEXTS, "a part", conversation.uncountable)
    if isinstance(content, str):
        texts = [(content, place)]
    turn = _assistant(conversation, place) if role == "assistant" else None
    if turn is None or turn.texts:
        turn = conversation.add(Turn(role, place))
    turn.texts += texts


def _add_reasoning(conversation: Conversation, item: Mapping[str, Any], place: str) -> None:
    """Add reasoning: its text if it is there, else its summary; what is only there encrypted cannot be counted."""
    name = "content" if item.get("content") else "summary"
    parts = item.get(name)
    if parts:
        texts = texts_of(parts, f"{place}.{name}", _TEXTS, "a part", conversation.uncountable)
        turn = _assistant(conversation, place)
        if turn.thoughts:
            turn = conversation.add(Turn("assistant", place))
        turn.thoughts.append(("\n".join(text for text, _ in texts), place))
    elif item.get("encrypted_content") is not None:
        error = ServiceError(
            "invalid_option",
            "encrypted reasoning cannot be counted; send its content, or leave the item out",
            f"{place}.encrypted_content",
        )
        conversation.uncountable.unless_skipped("encrypted_content", place, error)


def _assistant(conversation: Conversation, place: str) -> Turn:
    """Return the assistant's turn that an item belongs to: what the assistant does in a row is one."""
    if conversation.turns and conversation.turns[-1].role == "assistant":
        return conversation.turns[-1]
    return conversation.add(Turn("assistant", place))
