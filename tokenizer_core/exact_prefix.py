"""Append messages to the ids that an engine really saw, without changing one of these ids.

An engine generates other ids than a tokenizer makes of the same text, and many templates write an old turn otherwise
than the model wrote it. Agents and reinforcement learning need the ids as they were. Where the template goes on from
its text, the two are joined at the special token that ends a turn: no merge crosses it, so what follows has the ids
that it has in the whole chat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.arguments import integer_of
from tokenizer_core.chat.encoding import ChatPolicy, EncodedChat
from tokenizer_core.chat.rendering import RenderingOptions
from tokenizer_core.errors import HistoryRewritten, InvalidOption, TemplateLimit
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing import Unpack

MOST_TEXT = 1 << 24
"""Characters of all histories that are held against each other: their number grows with the square of the steps."""

Message = Mapping[str, Any]
Ids = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContinuedChat(ShortRepr):
    """A chat that begins with ids of an engine.

    Attributes:
        ids: uint32, shape (n,); the prefix as it was, and what was appended.
        appended: how many ids stand behind the prefix.
        inserted: the ids among them that end the turn that the prefix left open.
        assistant_mask: int64, shape (appended,); 1 on what the assistant says in the appended ids.
        retokenized_equal: whether encoding the whole chat anew gives the same ids.
        chat: the whole chat, encoded anew.
    """

    ids: Ids
    appended: int
    inserted: tuple[int, ...]
    assistant_mask: npt.NDArray[np.int64]
    retokenized_equal: bool
    chat: EncodedChat


def continue_chat(
    tokenizer: Tokenizer,
    messages: Sequence[Message],
    prefix_ids: Sequence[int] | Ids,
    *,
    new_from: int,
    special_tokens: ChatPolicy = "text",
    **options: Unpack[RenderingOptions],
) -> ContinuedChat:
    """Append the messages from ``new_from`` on to ids that stand for those before.

    The prefix may end with its turn or within it; the token that ends the turn is put in where it is missing.

    Args:
        options: those of ``Tokenizer.render_chat``, for the whole chat.

    Raises:
        HistoryRewritten: the template writes the earlier messages otherwise once the later ones follow.
        InvalidOption: ``new_from`` is no place between messages, or the template ends no turn there.
        UnknownTokenId: at the place in the prefix. Those of ``Tokenizer.encode_chat``.
    """
    messages = list(messages)
    at = integer_of(new_from, "new_from", 1)
    if at >= len(messages):
        message = f"new_from is {at}, and the last of {len(messages)} messages is {len(messages) - 1}"
        raise InvalidOption(message, field="new_from")
    tokenizer.decode_bytes(prefix_ids)
    prefix = np.asarray(prefix_ids, dtype=np.uint32)
    whole = tokenizer.encode_chat(messages, special_tokens=special_tokens, **options)
    join, closing = _join(_history(tokenizer, messages[:at], special_tokens, options), whole)
    ends = {int(whole.ids[join]), closing}
    is_open = len(prefix) == 0 or int(prefix[-1]) not in ends
    rest = slice(join if is_open else join + 1, None)
    ids = np.concatenate((prefix, whole.ids[rest]))
    return ContinuedChat(
        ids,
        len(ids) - len(prefix),
        (int(whole.ids[join]),) if is_open else (),
        whole.assistant_mask[rest],
        np.array_equal(ids, whole.ids),
        whole,
    )


def prefix_stable(
    tokenizer: Tokenizer,
    messages: Sequence[Message],
    *,
    special_tokens: ChatPolicy = "text",
    **options: Unpack[RenderingOptions],
) -> list[bool]:
    """Tell of each answer of the assistant that messages follow whether what follows extends the ids up to it.

    Raises:
        TemplateLimit: the histories are too many and too long. Those of ``Tokenizer.encode_chat``.
    """
    messages = list(messages)
    ends = [at + 1 for at, message in enumerate(messages[:-1]) if message.get("role") == "assistant"]
    histories = tokenizer.chat_renderer(**_closed(options))
    stable: list[bool] = []
    past, size = None, 0
    for end in (*ends, len(messages)):
        if end < len(messages):
            chat = tokenizer.encode_chat(histories.render(messages[:end]), special_tokens=special_tokens)
        else:
            chat = tokenizer.encode_chat(messages, special_tokens=special_tokens, **options)
        if past is not None:
            stable.append(_continues(past, chat))
        past, size = chat, size + len(chat.rendered.text)
        if size > MOST_TEXT:
            raise TemplateLimit(
                f"the histories of {len(ends)} answers are more than {MOST_TEXT} characters together; ask for fewer",
                field="messages",
            )
    return stable


def _continues(past: EncodedChat, chat: EncodedChat) -> bool:
    try:
        _join(past, chat)
    except (HistoryRewritten, InvalidOption):
        return False
    return True


def _closed(options: RenderingOptions) -> RenderingOptions:
    """Return the options of a rendering that ends with its last turn."""
    return {**options, "add_generation_prompt": False, "continue_final_message": False}


def _history(
    tokenizer: Tokenizer, messages: Sequence[Message], special_tokens: ChatPolicy, options: RenderingOptions
) -> EncodedChat:
    return tokenizer.encode_chat(messages, special_tokens=special_tokens, **_closed(options))


def _join(past: EncodedChat, whole: EncodedChat) -> tuple[int, int]:
    """Return where in the whole chat the token stands that ends the history, and the one that ends it alone.

    These may differ: some models end an answer with one token while it is the last, and with another in history.
    """
    ends = np.flatnonzero(past.control)
    said = max((span.end for span in past.rendered.spans if span.message is not None), default=0)
    if len(ends) == 0 or past.spans[ends[-1], 0] < said:
        raise InvalidOption(
            "the chat template ends the last turn before new_from with no special token; ids cannot be joined there",
            field="new_from",
        )
    start = int(past.spans[ends[-1], 0])
    old, new = past.rendered.text, whole.rendered.text
    if old[:start] != new[:start]:
        raise _rewritten(past, next(at for at in range(start) if at >= len(new) or old[at] != new[at]))
    places = np.flatnonzero(whole.control & (whole.spans[:, 0] == start))
    if len(places) == 0:
        raise _rewritten(past, start)
    return int(places[0]), int(past.ids[ends[-1]])


def _rewritten(past: EncodedChat, at: int) -> HistoryRewritten:
    """Name the first message whose text is another, by the place where the texts part."""
    spans = [span for span in past.rendered.spans if span.message is not None]
    message = next((span.message for span in spans if span.end > at), spans[-1].message if spans else 0)
    return HistoryRewritten(
        f"the chat template writes messages[{message}] otherwise once new messages follow; send the ids of the whole "
        "chat instead",
        field=f"messages[{message}]",
    )
