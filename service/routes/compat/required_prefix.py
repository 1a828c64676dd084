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
    cut = int(places[turns - 1])
    return np.concatenate((prefix, whole[cut + (int(prefix[-1]) in ends) :]))
