"""The needs of every drop-in route for prompts: ids of prompts and texts of ids, read as an engine reads them.

A prompt's literals of special tokens become tokens: whoever sends a prompt to an engine has rendered it. Content that
users wrote belongs into ``messages``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from service.errors import ServiceError, core_errors_at
from service.http.response_json import Answer, Blocks, TokenStrings
from service.registry.served import ServedTokenizer
from service.routes.texts import Ids
from service.state import ServerState


def encode(loaded: ServedTokenizer, prompt: str, *, add_special_tokens: bool, path: str = "prompt") -> Ids:
    """Return the ids of a prompt."""
    with core_errors_at(path):
        return loaded.tokenizer.encode(prompt, special_tokens="parse", add_special_tokens=add_special_tokens)


def decode(loaded: ServedTokenizer, tokens: Sequence[int], *, skip_special_tokens: bool, path: str = "tokens") -> str:
    """Return the text of ids."""
    with core_errors_at(path):
        return loaded.tokenizer.decode(np.array(tokens, np.uint32), skip_special_tokens=skip_special_tokens)


def ids_of(loaded: ServedTokenizer, ids: Sequence[int], path: str) -> Ids:
    """Return ids that a request gives; each has a token, or decoding refuses it.

    Errors:
        ``unknown_token_id``
    """
    decode(loaded, ids, skip_special_tokens=False, path=path)
    return np.array(ids, np.uint32)


def refuse_template(template: object) -> None:
    """Refuse a template that comes with a request.

    Errors:
        ``invalid_option``
    """
    if template is not None:
        raise ServiceError(
            "invalid_option",
            "a template comes with the tokenizer, never with a request; leave this out",
            "chat_template",
        )


def refuse_fields(body: BaseModel, names: Sequence[str]) -> None:
    """Refuse fields that change the ids where they are taken, rather than ignore them as unknown ones.

    Errors:
        ``invalid_option``
    """
    for name in names:
        if getattr(body, name) is not None:
            raise ServiceError("invalid_option", f"{name} changes the ids and is not taken here; leave it out", name)


def written(
    state: ServerState, loaded: ServedTokenizer, model: str | None, tokens: int, *parts: bytes | Ids | TokenStrings
) -> Answer:
    """Return an answer that is written in parts, each of them bytes or what becomes a list.

    Args:
        model: what the request names.
    """
    blocks = Blocks()
    for part in parts:
        if isinstance(part, bytes):
            blocks.add(part)
        else:
            blocks.add_json(part)
    return Answer(blocks.finish(), tokens, loaded.hash, headers=state.engines.headers(model, loaded))
