"""Parts of message content: refuse by name what is not text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from tokenizer_core._kernel import MEDIA, MEDIA_BESIDE, ChatTemplate
from tokenizer_core.errors import InvalidOption

MAX_DEPTH = 100
"""Content nested deeper is refused as a whole."""

_MEDIA = frozenset(MEDIA)
"""The types of parts that stand for tokens which no template writes, and the keys that hold what they are made from."""

_BESIDE = frozenset(MEDIA_BESIDE)
"""The keys under which some clients send media beside the content of a message."""

_SPOKEN = ("system", "developer", "user", "assistant")
"""The roles whose content is text. What a tool answers is data of any form, which templates print."""

_COMPARED = re.compile(r"""type['"]?\]?\s*(?:==|in\b)\s*(['"][^'"]*['"]|[\[(][^\])]*)""")
_QUOTED = re.compile(r"""['"]([^'"]*)['"]""")


def media_of(part: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the kind of media in a content part and the field that names it; None if there is none.

    A part is media by its type, or by a key whatever its type: templates look for either. A key that is null is no
    media: tables of messages have all keys in every part.
    """
    kind = part.get("type")
    if isinstance(kind, str) and kind in _MEDIA:
        return kind, "type"
    found = next((key for key in part if key in _MEDIA and part[key] is not None), None)
    return None if found is None else (found, "type" if kind is None else found)


def refuse_media(messages: Sequence[Mapping[str, Any]]) -> None:
    """Refuse media by their names, beside content and at any depth of it: their ids do not come from the template.

    Raises:
        InvalidOption
    """
    for at, message in enumerate(messages):
        named = () if _BESIDE.isdisjoint(message) else message
        beside = next((key for key in named if key in _BESIDE and not _is_empty(message[key])), None)
        if beside is not None:
            raise InvalidOption(
                f"{beside!r} beside content is not supported; only text is encoded here",
                field=f"messages[{at}].{beside}",
            )
        content = message.get("content")
        if not isinstance(content, str):
            _refuse_in(content, f"messages[{at}].content", 0)


def _is_empty(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, (str, list, tuple, Mapping)) and not value)


def _refuse_in(content: Any, place: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        return  # What is nested deeper is refused as a whole.
    if isinstance(content, (list, tuple)):
        for index, part in enumerate(content):
            _refuse_in(part, f"{place}[{index}]", depth + 1)
    elif isinstance(content, Mapping):
        media = media_of(content)
        if media is not None:
            raise InvalidOption(
                f"a content part of type {media[0]!r} is not supported; only text is encoded here",
                field=f"{place}.{media[1]}",
            )
        for key in ("content", "text"):
            _refuse_in(content.get(key), f"{place}.{key}", depth + 1)


def present(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message without media that are null in its parts.

    Tables of messages have every key in every part, and templates only look whether ``image`` is a key.
    """
    content = message.get("content")
    if not isinstance(content, (list, tuple)) or not any(map(_has_null_media, content)):
        return message
    return {**message, "content": [_without_null_media(part) if _has_null_media(part) else part for part in content]}


def _has_null_media(part: Any) -> bool:
    return isinstance(part, Mapping) and any(key in _MEDIA and value is None for key, value in part.items())


def _without_null_media(part: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in _MEDIA or value is not None}


def check_parts(messages: Sequence[Mapping[str, Any]], engine: ChatTemplate, source: str) -> None:
    """Refuse content that most templates print as it is or leave out, unless this one asks for it.

    Args:
        engine, source: the template.

    Raises:
        InvalidOption: content that is neither a string nor text parts.
    """
    for at, message in enumerate(messages):
        content, role = message.get("content"), message.get("role")
        if content is None or isinstance(content, str) or role not in _SPOKEN:
            continue
        place = f"messages[{at}].content"
        if not isinstance(content, (list, tuple)):
            raise InvalidOption("content is a string or a list of parts", field=place)
        for index, part in enumerate(content):
            if not (isinstance(part, str) and engine.reads_string_parts(role)):
                _check_part(part, source, f"{place}[{index}]")


def _check_part(part: Any, source: str, place: str) -> None:
    if not isinstance(part, Mapping):
        raise InvalidOption('a content part is an object, {"type": "text", "text": ...}', field=place)
    kind = part.get("type")
    if kind == "text" and not isinstance(part.get("text"), str):
        raise InvalidOption("a content part of type 'text' has its text, a string, as text", field=f"{place}.text")
    if kind == "text" or (isinstance(kind, str) and kind in _types_named_in(source)):
        return
    named = f"of type {kind[:80]!r}" if isinstance(kind, str) else "without a type"
    raise InvalidOption(
        f'a content part {named} is not supported here; the text of a part is {{"type": "text", "text": ...}}',
        field=f"{place}.type",
    )


@lru_cache(maxsize=128)
def _types_named_in(source: str) -> frozenset[str]:
    """Return what a template compares types with: it knows what to do with parts of these."""
    return frozenset(name for found in _COMPARED.findall(source) for name in _QUOTED.findall(found))
