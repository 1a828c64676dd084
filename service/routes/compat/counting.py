"""The common parts of the requests and answers of the counting routes, beyond those that their peers have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from pydantic import BaseModel, Field

from service.http.response_json import Answer
from service.routes.compat import prompts
from service.routes.compat.body_objects import Uncountable
from service.routes.compat.conversation import Conversation
from service.state import ServerState

UNCOUNTABLE: Any = Field(
    None,
    description="What happens to what is not text, such as images and tools of other kinds: `refuse`, or `skip`, which "
    "counts the rest and lists in `skipped` what was left out. The default is this server's setting `uncountable`.",
)
SKIPPED: Any = Field(None, description="What was left out of the count; only if `uncountable` is `skip`.")


class Skipped(BaseModel):
    """Something of a request that is not in its count."""

    path: str = Field(description="Its field in the request.")
    type: str = Field(description="What it is.")


def counted(
    state: ServerState, body: Any, read: Callable[[Any, Uncountable], Conversation], head: bytes, **ways: Any
) -> Answer:
    """Count all that a model would be given, the beginning of its turn included, and say what is not in the count.

    Args:
        read: returns the conversation of the body.
        head: the beginning of the answer, with the place of the number.
        ways: those of ``Conversation.encode``.
    """
    loaded = state.registry.of_model(body.model)
    uncountable = Uncountable(skip=(body.uncountable or state.settings.uncountable) == "skip")
    tokens = len(read(body, uncountable).encode(state, loaded, body.model, **ways).ids)
    skipped = b',"skipped":' + orjson.dumps(uncountable.skipped) if uncountable.skips else b""
    return prompts.written(state, loaded, body.model, tokens, head % tokens, skipped, b"}")
