"""Make an input that an engine reads otherwise as small as still shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Body = dict[str, Any]

MOST_TRIES = 60
"""Requests to an engine for one difference."""


def smallest(body: Body, differs: Callable[[Body], bool]) -> Body:
    """Return the smallest body that was found to differ still; greedy, and bounded."""
    tries = 0
    shrunk = True
    while shrunk:
        shrunk = False
        for candidate in _smaller(body):
            if tries == MOST_TRIES:
                return body
            tries += 1
            if differs(candidate):
                body, shrunk = candidate, True
                break
    return body


def _smaller(body: Body) -> Iterator[Body]:
    """Yield bodies with a part left out, the large parts first."""
    if "prompt" in body:
        for text in _shorter(body["prompt"]):
            yield {**body, "prompt": text}
        return
    for name in ("tools", "chat_template_kwargs", "add_generation_prompt", "continue_final_message"):
        if name in body:
            yield {key: value for key, value in body.items() if key != name}
    messages, tools = body["messages"], body.get("tools", ())
    if len(messages) > 1:
        for at in range(len(messages)):
            yield {**body, "messages": messages[:at] + messages[at + 1 :]}
    if len(tools) > 1:
        for at in range(len(tools)):
            yield {**body, "tools": tools[:at] + tools[at + 1 :]}
    for at, message in enumerate(messages):
        for name in message.keys() - {"role", "content"}:
            less = {key: value for key, value in message.items() if key != name}
            yield {**body, "messages": [*messages[:at], less, *messages[at + 1 :]]}
        if isinstance(message.get("content"), str):
            for text in _shorter(message["content"]):
                yield {**body, "messages": [*messages[:at], {**message, "content": text}, *messages[at + 1 :]]}


def _shorter(text: str) -> Iterator[str]:
    """Yield a half, then the text without its ends."""
    if len(text) > 1:
        half = len(text) // 2
        yield text[:half]
        yield text[half:]
    if len(text) > 2:
        yield text[1:]
        yield text[:-1]
