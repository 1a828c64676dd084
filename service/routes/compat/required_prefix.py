"""``required_prefix_token_ids``: ids that an engine really saw, which a longer chat must begin with.

NeMo-RL and Megatron-LM send it so that what a model generated is never tokenized again. The turns are matched by how
many of them end, not by their text: Megatron-LM's rule, which holds also where a template rewrites history.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from service.errors import ServiceError
from service.registry.served import ServedTokenizer
from service.routes.texts import Ids
from service.schemas.fields import Object

FIELD = "required_prefix_token_ids"

_IDS_OF_A_MESSAGE = ("prompt_token_ids", "generation_token_ids")
"""Where NeMo-RL keeps the ids of an answer: what the engine saw, and what it made."""


def given(chat: Sequence[Object], field: Sequence[int] | None) -> tuple[Sequence[int], str]:
    """Return the ids that a chat must begin with, and the place that has them: the field, or the last message with ids.

    NeMo-RL keeps what an engine saw and made beside the answer that it became.

    Errors:
        ``invalid_type``
    """
    if field is not None:
        return field, FIELD
    for at, message in reversed(list(enumerate(chat))):
        if all(name in message for name in _IDS_OF_A_MESSAGE):
            found: list[int] = []
            for name in _IDS_OF_A_MESSAGE:
                ids = message[name]
                if type(ids) is not list or not all(type(id) is int and 0 <= id < 1 << 32 for id in ids):
                    raise ServiceError("invalid_type", "this must be a list of ids", f"messages[{at}].{name}")
                found += ids
            return found, f"messages[{at}].{_IDS_OF_A_MESSAGE[0]}"
    return [], FIELD


def history(chat: Sequence[Object]) -> Sequence[Object]:
    """Return the messages that the prefix stands for: up to the assistant's last one, or all."""
    turns = [at for at, message in enumerate(chat) if message.get("role") == "assistant"]
    return chat[: turns[-1] + 1] if turns else chat


def ends_of_turns(loaded: ServedTokenizer, past: Ids) -> frozenset[int]:
    """Return the ids that end a turn: the tokenizer's eos, and the special token that ends the history."""
    tokenizer = loaded.tokenizer
    specials = frozenset(tokenizer.special_tokens.values())
    last = next((int(id) for id in past[::-1] if int(id) in specials), None)
    eos = tokenizer.settings.eos
    found = {last, None if eos is None else tokenizer.special_tokens.get(eos)}
    return frozenset(id for id in found if id is not None)


def continued(prefix: Ids, past: Ids, whole: Ids, ends: Collection[int]) -> Ids:
    """Return ``prefix`` and what ``whole`` has behind the turns that ``past`` has.

    Args:
        past: ids of the history alone.
        whole: ids of the whole chat.
        ends: ids that end a turn; one at the end of the prefix stays, and is not written again.

    Errors:
        ``invalid_option``: the history has no end of a turn, or the chat has fewer.
    """
    if len(prefix) == 0:
        return whole
    known = np.array(sorted(ends), np.uint32)
    turns = int(np.isin(past, known).sum())
    if turns == 0:
        raise ServiceError(
            "invalid_option", "no turn ends in the messages that the prefix stands for; leave it out", FIELD
        )
    places = np.flatnonzero(np.isin(whole, known))
    if len(places) < turns:
        raise ServiceError(
            "invalid_option",
            f"the chat has {len(places)} ends of turns and its history {turns}: the template rewrites history",
            FIELD,
        )
    rest = whole[int(places[turns - 1]) :]
    return np.concatenate((prefix, rest[_written(prefix, rest, ends) :]))


def _written(prefix: Ids, rest: Ids, ends: Collection[int]) -> int:
    """Return how many ids of ``rest``, from the end of a turn on, the prefix has already.

    An engine stops at the end of a turn. A prefix that a template wrote has what it writes behind that, too: a line
    break in many.
    """
    tail = prefix[-len(rest) :]
    found = np.flatnonzero(np.isin(tail, np.array(sorted(ends), np.uint32)))
    end = tail[found[-1] :] if len(found) else tail[:0]
    return len(end) if np.array_equal(end[1:], rest[1 : len(end)]) else 0
