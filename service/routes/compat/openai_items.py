"""OpenAI's input items as a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.errors import ServiceError
from service.routes.compat.conversation import (
    Conversation,
    arguments_of,
    functions,
    joined_text,
    kind_of,
    refuse_many_arguments,
    refused,
    text_of,
)
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

PARAMETERS = "parameters"
_ROLES = ("user", "assistant", "system", "developer")


def read(instructions: str | None, items: str | list[Object] | None) -> Conversation:
    """Return the conversation of a request.

    Errors:
        ``invalid_option`` for an item or a part that is not text, by its type; ``missing_field``, ``invalid_type``
    """
    conversation = Conversation(joined=False, parameters=PARAMETERS)
    if instructions is not None:
        conversation.say("system", instructions, "instructions")
    if isinstance(items, str):
        conversation.say("user", items, "input")
    else:
        calls = (item for item in items or () if item.get("type") == "function_call")
        refuse_many_arguments((call.get("arguments") for call in calls), "input")
    for at, item in enumerate(items if isinstance(items, list) else ()):
        _add(conversation, item, f"input[{at}]")
    if not conversation.messages:
        raise ServiceError("missing_field", "there is nothing to count; send input, or instructions", "input")
    conversation.complete()
    return conversation


def read_tools(tools: list[Object] | None) -> list[Object] | None:
    """Return the tools as templates read them; one that is not a function is refused by its type."""
    return functions(tools, PARAMETERS, kind="function")


def _add(conversation: Conversation, item: Mapping[str, Any], place: str) -> None:
    kind = kind_of(item, place, "message")
    if kind == "message":
        role = text_of(item, "role", place)
        if role not in _ROLES:
            raise ServiceError("invalid_value", f"a role is one of {', '.join(_ROLES)}", f"{place}.role")
        conversation.say(role, _text(item.get("content"), f"{place}.content"), place)
    elif kind == "function_call":
        arguments = arguments_of(text_of(item, "arguments", place))
        conversation.call(text_of(item, "call_id", place), text_of(item, "name", place), arguments, place)
    elif kind == "function_call_output":
        conversation.answer(text_of(item, "call_id", place), _text(item.get("output"), f"{place}.output"), place)
    elif kind == "reasoning":
        _think(conversation, item, place)
    else:
        raise refused("an item", kind, place)


def _think(conversation: Conversation, item: Mapping[str, Any], place: str) -> None:
    """Add reasoning: its text if it is there, else its summary; what is only there encrypted cannot be counted."""
    name = "content" if item.get("content") else "summary"
    parts = item.get(name)
    if parts:
        conversation.think(_text(parts, f"{place}.{name}"), place)
    elif item.get("encrypted_content") is not None:
        raise ServiceError(
            "invalid_option",
            "encrypted reasoning cannot be counted; send its content, or leave the item out",
            f"{place}.encrypted_content",
        )


def _text(content: object, place: str) -> str:
    if content is None:
        raise ServiceError("missing_field", "this field is required", place)
    return joined_text(content, place, _TEXTS, "a part")
