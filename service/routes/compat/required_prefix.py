"""``required_prefix_token_ids``: ids that an engine really saw, which a longer chat must begin with.

NeMo-RL and Megatron-LM send it so that what a model generated is never tokenized again. The ids stay also where the
template rewrites history.
"""

from __future__ import annotations

from collections.abc import Sequence

from service.errors import ServiceError, from_core
from service.registry.served import ServedTokenizer
from service.routes.texts import Ids
from service.schemas.fields import Object
from tokenizer_core import EncodedChat, JsonList, TokdError, continue_ids

FIELD = "required_prefix_token_ids"

_IDS_OF_A_MESSAGE = ("prompt_token_ids", "generation_token_ids")
"""The fields in which NeMo-RL keeps the ids of an answer: those the engine saw, and those it made."""


def given(chat: Sequence[Object], field: Sequence[int] | None) -> tuple[Sequence[int], str]:
    """Return the ids that a chat must begin with, and the place that has them: the field, or the last message with ids.

    NeMo-RL keeps what an engine saw and made beside the answer that it became.

    Errors:
        ``invalid_type``
    """
    if field is not None:
        return field, FIELD
    if isinstance(chat, JsonList) and b"token_ids" not in chat.json and b"\\u" not in chat.json:
        return [], FIELD
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


def continued(loaded: ServedTokenizer, prefix: Ids, past: EncodedChat, whole: EncodedChat) -> Ids:
    """Return ``prefix`` and what ``whole`` has behind the history that ``past`` is.

    Errors:
        ``invalid_option``: no special token ends the history, or nothing of its last turn is in the whole chat.
    """
    try:
        return continue_ids(loaded.tokenizer, prefix, past, whole)
    except TokdError as error:
        raise ServiceError("invalid_option", from_core(error, FIELD).detail, FIELD) from error
