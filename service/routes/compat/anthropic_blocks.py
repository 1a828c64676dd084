"""Anthropic's messages, their blocks and tools, as vLLM reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.errors import ServiceError
from service.routes.compat.body_objects import (
    Text,
    Tool,
    Uncountable,
    function,
    kind_of,
    not_text,
    object_of,
    objects_of,
    text_of,
    texts_of,
    tool_of,
)
from service.routes.compat.conversation import Conversation, Turn
from service.schemas.fields import Object

PARAMETERS = "input_schema"
_ROLES = ("user", "assistant", "system")
_TEXTS = {"text": "text"}
_BLOCKS = {
    "user": {"text": "text", "tool_result": ""},
    "assistant": {"text": "text", "thinking": "", "redacted_thinking": "", "tool_use": ""},
}
"""The types of blocks that each side has."""

BILLING_HEADER = "x-anthropic-billing-header"
"""Claude Code begins a block of the system with it: a hash of the request, which the model is not given."""


def read(conversation: Conversation, system: str | list[Object] | None, messages: list[Object]) -> None:
    """Add the turns of a request.

    Errors:
        ``invalid_option`` for a block that is not text, by its type; ``missing_field``, ``invalid_type``
    """
    uncountable = conversation.uncountable
    if isinstance(system, str):
        _add_system(conversation, [(system, "system")], "system")
    elif system is not None:
        _add_system(conversation, _unbilled(texts_of(system, "system", _TEXTS, "a block", uncountable)), "system")
    for at, message in enumerate(messages):
        _add(conversation, message, f"messages[{at}]")
    if not conversation.turns:
        raise uncountable.nothing_left("send a message with a text", "messages")


def read_tools(tools: list[Object] | None, uncountable: Uncountable) -> list[Tool]:
    """Return Anthropic's tools that are the caller's own: without a type, or of type ``custom``."""
    found = []
    for at, tool in enumerate(tools or ()):
        place = f"tools[{at}]"
        kind = kind_of(tool, place, "custom")
        if kind == "custom":
            found.append(tool_of(function(tool, place, parameters=PARAMETERS), place))
        else:
            uncountable.find("a tool", kind, place)
    return found


def _add(conversation: Conversation, message: Object, place: str) -> None:
    role, content = text_of(message, "role", place), message.get("content")
    if role not in _ROLES:
        raise ServiceError("invalid_value", f"a role is one of {', '.join(_ROLES)}", f"{place}.role")
    if content == []:
        raise ServiceError(
            "invalid_value", "a message has a text or at least one block; leave empty messages out", f"{place}.content"
        )
    if role == "system":
        texts = texts_of(content, f"{place}.content", _TEXTS, "a block", conversation.uncountable)
        _add_system(conversation, _unbilled(texts), place)
    elif isinstance(content, str):
        conversation.add(Turn(role, place, [(content, place)]))
    elif content is None:
        raise ServiceError("missing_field", "this field is required", f"{place}.content")
    else:
        _add_blocks(conversation, role, objects_of(content, f"{place}.content"), place)


def _add_blocks(conversation: Conversation, role: str, blocks: list[Object], place: str) -> None:
    """Add the results of tools before the turn that holds them, and the turn if anything else is in it."""
    turn, has_own = Turn(role, place), role == "assistant"
    for index, block in enumerate(blocks):
        here = f"{place}.content[{index}]"
        found = not_text(block, _BLOCKS[role])
        if found is not None:
            conversation.uncountable.find(f"a block in a message of role {role}", found[0], here, field=found[1])
            has_own = True
            if block.get("type") != "text":
                continue
        kind = kind_of(block, here)
        if kind == "tool_result":
            _add_result(conversation, block, here)
        else:
            _read(turn, kind, block, here)
    if has_own or turn.texts:
        conversation.add(turn)


def _read(turn: Turn, kind: str, block: Mapping[str, Any], place: str) -> None:
    """Read a block into its turn; thinking that is redacted is no text to any model but the one that wrote it."""
    if kind == "text":
        text = text_of(block, "text", place)
        turn.texts += [(text, place)] if text else []
    elif kind == "thinking":
        turn.thoughts.append((text_of(block, "thinking", place), place))
    elif kind == "tool_use":
        arguments = object_of(block.get("input"), f"{place}.input")
        turn.call(text_of(block, "id", place), text_of(block, "name", place), arguments, place)


def _add_result(conversation: Conversation, block: Mapping[str, Any], place: str) -> None:
    id, content = text_of(block, "tool_use_id", place), block.get("content")
    texts: list[Text] = []
    if content is not None:
        texts = texts_of(content, f"{place}.content", _TEXTS, "a block", conversation.uncountable)
    conversation.add(Turn("tool", place, [(text, place) for text, _ in texts], "\n", answers=id))


def _add_system(conversation: Conversation, texts: list[Text], place: str) -> None:
    if any(text for text, _ in texts):
        conversation.add(Turn("system", place, texts, ""))


def _unbilled(texts: list[Text]) -> list[Text]:
    return [each for each in texts if not each[0].startswith(BILLING_HEADER)]
