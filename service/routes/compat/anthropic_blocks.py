"""Anthropic's messages and their blocks as a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.errors import ServiceError
from service.routes.compat.conversation import (
    Conversation,
    functions,
    joined_text,
    objects_of,
    part_kind,
    refused,
    text_of,
)
from service.schemas.fields import Object

PARAMETERS = "input_schema"
_ROLES = ("user", "assistant", "system")
_TEXTS = {"text": "text"}


def read(system: str | list[Object] | None, messages: list[Object]) -> Conversation:
    """Return the conversation of a request; what one side says in a row is one turn.

    Errors:
        ``invalid_option`` for a block that is not text, by its type; ``missing_field``, ``invalid_type``
    """
    conversation = Conversation(joined=True, parameters=PARAMETERS)
    if system is not None:
        conversation.say("system", joined_text(system, "system", _TEXTS, "a block"), "system")
    for at, message in enumerate(messages):
        place = f"messages[{at}]"
        role = text_of(message, "role", place)
        if role not in _ROLES:
            raise ServiceError("invalid_value", f"a role is one of {', '.join(_ROLES)}", f"{place}.role")
        content = message.get("content")
        if isinstance(content, str):
            conversation.say(role, content, place)
            continue
        if content is None:
            raise ServiceError("missing_field", "this field is required", f"{place}.content")
        for index, block in enumerate(objects_of(content, f"{place}.content")):
            _add(conversation, role, block, f"{place}.content[{index}]")
    conversation.complete()
    return conversation


def read_tools(tools: list[Object] | None) -> list[Object] | None:
    """Return the caller's own tools as templates read them; one that Anthropic's server would run is refused."""
    return functions(tools, PARAMETERS, kind="custom", default="custom")


def goes_on(messages: list[Object]) -> bool:
    """Tell whether the last message is the beginning of the answer, which the model goes on with."""
    if not messages or messages[-1]["role"] != "assistant":
        return False
    return bool(messages[-1].get("content")) and "tool_calls" not in messages[-1]


def _add(conversation: Conversation, role: str, block: Mapping[str, Any], place: str) -> None:
    kind = part_kind(block, "a block", place)
    if kind == "text":
        conversation.say(role, text_of(block, "text", place), place)
    elif kind == "thinking" and role == "assistant":
        conversation.think(text_of(block, "thinking", place), place)
    elif kind == "tool_use" and role == "assistant":
        arguments = block.get("input")
        if not isinstance(arguments, dict):
            raise ServiceError("invalid_type", "this must be an object", f"{place}.input")
        conversation.call(text_of(block, "id", place), text_of(block, "name", place), arguments, place)
    elif kind == "tool_result" and role == "user":
        content = block.get("content")
        text = "" if content is None else joined_text(content, f"{place}.content", _TEXTS, "a block")
        conversation.answer(text_of(block, "tool_use_id", place), text, place)
    else:
        raise refused(f"a block in a message of role {role}", kind, place)
