"""Probe a chat template with small messages, to learn its behaviour before a caller's chat."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tokenizer_core.errors import InputError
from tokenizer_core.template import Origins, Shared, compiled

_SPECIALS = {f"{name}_token": f"<{name}>" for name in ("bos", "eos", "pad", "unk", "sep", "cls", "mask")}


def probe(source: str, messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Render messages that no caller wrote, once, and return the text; None if the template fails or refuses them.

    In a server, whoever calls this holds the turn of the request.
    """
    return _rendered(source, json.dumps(messages))


@lru_cache(maxsize=512)
def _rendered(source: str, messages: str) -> str | None:
    variables = {**_SPECIALS, "tools": None, "documents": None, "add_generation_prompt": False}
    shared = Shared(Origins(), variables)
    origins = Origins(shared.origins)
    chat = [origins.track(message, at, "") for at, message in enumerate(json.loads(messages))]
    try:
        return compiled(source).render(origins, chat, shared).text
    except InputError:
        return None
