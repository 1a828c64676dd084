"""The field of a body that was meant for one that is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from service.errors import ServiceError, quote
from service.http.json_errors import CALLED_ELSEWHERE
from tokenizer_core import did_you_mean

_SEARCHED_BYTES = 1 << 20
_STEPS = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_MESSAGE = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content", "thinking", "type")
"""Fields of messages, none of which is a mistake."""
_READ_BY_TEMPLATES = ("role", "content")
"""Fields of messages that the service does not miss, but most templates do."""


def name_mistyped(error: ServiceError, body: bytes, fields: Collection[str]) -> None:
    """Let an error about a missing field name what the body has in its place, if that is near.

    Args:
        fields: those of the body.
    """
    if error.path is None or len(body) > _SEARCHED_BYTES:
        return
    *within, missing = [int(index) if index else name for name, index in _STEPS.findall(error.path)] or [""]
    try:
        place = json.loads(body)
        for step in within:
            place = place[step]
    except (ValueError, RecursionError, LookupError, TypeError):
        return
    if not isinstance(place, dict) or missing in place or not isinstance(missing, str):
        return
    if error.code != "missing_field" and missing not in _READ_BY_TEMPLATES:
        return
    known = (*_MESSAGE, missing) if within else fields
    wrong = next((key for key in place if key not in known and _is_near(key, missing)), None)
    if wrong is not None:
        error.detail += f"; {quote(wrong)} is not a field; did you mean {missing!r}?"


def _is_near(key: str, missing: str) -> bool:
    def meaning(word: str) -> str:
        return CALLED_ELSEWHERE.get(word, word)

    return meaning(key) == meaning(missing) or bool(did_you_mean(key, [missing]))
