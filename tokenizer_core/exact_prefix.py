"""Append messages to the ids that an engine really saw, without changing one of these ids.

An engine generates other ids than a tokenizer makes of the same text, and many templates write an old turn otherwise
than the model wrote it. Agents and reinforcement learning need the ids as they were. The two are joined at the special
token that ends the last old turn: no merge crosses it, so what follows has the ids that it has in the whole chat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from tokenizer_core.arguments import check_choice, integer_of
from tokenizer_core.chat.encoding import ChatPolicy, EncodedChat
from tokenizer_core.chat.rendering import RenderingOptions, check_options
from tokenizer_core.errors import HistoryRewritten, InvalidOption, TemplateLimit
from tokenizer_core.short_repr import ShortRepr
from tokenizer_core.tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing import Unpack

MOST_TEXT = 1 << 24
"""Characters of all histories that are held against each other: their number grows with the square of the steps."""

Message = Mapping[str, Any]
Ids = npt.NDArray[np.uint32]
Indices = npt.NDArray[np.intp]
RewrittenHistory = Literal["refuse", "keep"]
"""The action where the template writes the earlier messages otherwise once others follow: refuse, or keep the ids."""


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
    rewritten: RewrittenHistory = "refuse",
    special_tokens: ChatPolicy = "text",
    **options: Unpack[RenderingOptions],
) -> ContinuedChat:
    """Append the messages from ``new_from`` on to ids that stand for those before.

    Args:
        prefix_ids: end within the last old turn, with the token that ends it, as an engine does, or behind that, as
            ``Tokenizer.encode_chat`` does. What is missing of the turn's end is put in.
        rewritten: ``"keep"`` goes on behind the ids also where the template writes the old turns otherwise now.
        options: those of ``Tokenizer.render_chat``, for the whole chat.

    Raises:
        HistoryRewritten: the template writes the earlier messages otherwise once the later ones follow.
        InvalidOption: ``new_from`` is no place between messages, or the template ends no turn there.
        UnknownTokenId: at the place in the prefix. Those of ``Tokenizer.encode_chat``.
    """
    check_options("continue_chat", options, ("new_from", "rewritten", "special_tokens"))
    messages = list(messages)
    at = integer_of(new_from, "new_from", 1)
    if at >= len(messages):
        message = f"new_from is {at}, and the last of {len(messages)} messages is {len(messages) - 1}"
        raise InvalidOption(message, field="new_from")
    check_choice(rewritten, RewrittenHistory, "rewritten")
    tokenizer.decode_bytes(prefix_ids)
    past = tokenizer.encode_chat(messages[:at], special_tokens=special_tokens, **_closed(options))
    whole = tokenizer.encode_chat(messages, special_tokens=special_tokens, **options)
    prefix = np.asarray(prefix_ids, dtype=np.uint32)
    joint = _join(past, whole, keeps=rewritten == "keep")
    place = _place(tokenizer, prefix, joint)
    ids, at = _behind(tokenizer, whole, place)
    parted = len(ids) - len(whole.ids) + at
    mask = np.concatenate((whole.assistant_mask[at - 1 : at].repeat(parted), whole.assistant_mask[at:]))
    is_open = place <= whole.spans[joint.new, 0]
    inserted = ids[: parted + joint.new + 1 - at if is_open else 0]
    every = np.concatenate((prefix, ids))
    is_equal = np.array_equal(every, whole.ids)
    return ContinuedChat(every, len(ids), tuple(inserted.tolist()), mask, is_equal, whole)


def continue_ids(tokenizer: Tokenizer, prefix_ids: Sequence[int] | Ids, past: EncodedChat, whole: EncodedChat) -> Ids:
    """Append to ids what a chat has behind its history, as ``continue_chat`` does where ids of a history are kept.

    Args:
        past: the history alone, without a generation prompt.
        whole: a chat that begins with the same messages.
    """
    prefix = np.asarray(prefix_ids, dtype=np.uint32)
    place = _place(tokenizer, prefix, _join(past, whole, keeps=True))
    return np.concatenate((prefix, _behind(tokenizer, whole, place)[0]))


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
    check_options("prefix_stable", options, ("special_tokens",))
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
        _join(past, chat, keeps=False)
    except (HistoryRewritten, InvalidOption):
        return False
    return True


def _closed(options: RenderingOptions) -> RenderingOptions:
    """Return the options of a rendering that ends with its last turn."""
    return {**options, "add_generation_prompt": False, "continue_final_message": False}


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """The token that ends a history alone, and the one that ends the same turn in the whole chat.

    These may differ: some models end an answer with one token while it is the last, and with another in history.

    Attributes:
        old, new: the indices of the two; no ``old`` where the next turn's first token ends the turn before it.
        marks: the indices of all special tokens behind what the history says.
        first: the index of the first special token that the whole chat has behind what the turn says, up to ``new``.
    """

    past: EncodedChat
    whole: EncodedChat
    old: int | None
    new: int
    marks: Indices
    first: int


def _join(past: EncodedChat, whole: EncodedChat, *, keeps: bool) -> _Joint:
    """Find the token that ends the last turn of a history.

    Raises:
        HistoryRewritten: the texts differ before that, and ids are not kept; or nothing is left of the last turn.
        InvalidOption: no special token ends the turn.
    """
    roles = past.rendered.roles
    # If system messages are put together, a message has another number in the whole chat.
    like_it = [at for at, role in enumerate(whole.rendered.roles) if role == roles[-1]]
    marks, olds, _ = _special_behind(past, len(roles) - 1)
    behind, news, end = _special_behind(whole, message := like_it[roles.count(roles[-1]) - 1])
    # Behind the beginning of an empty message stands what begins its text, too.
    closing = news if any(span.message == message for span in whole.rendered.spans) else news[:0]

    def joint(old: int | None, new: int) -> _Joint:
        return _Joint(past, whole, old, new, marks, int(min([new, *closing[:1]])))

    # Some templates write the end of a turn behind their loop over messages, or with the next message.
    olds = olds if len(olds) else marks[-1:]
    same, starts = _common(past.rendered.text, whole.rendered.text), past.spans[olds, 0].tolist()
    for old, start in zip(olds[::-1].tolist(), starts[::-1], strict=True):
        for new in np.flatnonzero(whole.control & (whole.spans[:, 0] == start)).tolist():
            # The token that begins the next turn may stand there, in place of the one that ends a chat.
            if start <= same and (whole.ids[new] == past.ids[old] or new in news[-1:]):
                return joint(old, new)
    news = news if len(news) else behind[np.isin(whole.ids[behind], past.ids[olds])]
    if keeps and len(news):
        alike = olds[past.ids[olds] == whole.ids[news[-1]]]
        return joint(next(iter([*alike[::-1], *olds[::-1]]), None), int(news[-1]))
    follows = len(behind) > 0 and not whole.rendered.text[end : whole.spans[behind[0], 0]].strip()
    if keeps and follows:
        return joint(None, int(behind[0]))
    if len(olds) == 0 or starts[0] <= same < len(whole.rendered.text):
        raise InvalidOption(
            f"the chat template ends the turn of messages[{len(roles) - 1}] with no special token; ids cannot be "
            "joined there",
            field="new_from",
        )
    raise _rewritten(past, same, can_keep=follows or len(news) > 0)


def _special_behind(chat: EncodedChat, message: int) -> tuple[Indices, Indices, int]:
    """Return where special tokens stand behind what a message says: before what others say, and in its own part.

    The part's end is the third value.
    """
    spans = [span for span in chat.rendered.spans if span.message is not None]
    ends = [span.end for span in spans if span.message == message]
    # An empty message ends behind its beginning.
    said = max(ends) if ends else chat.begin(message)
    if said is None:
        return np.empty(0, np.intp), np.empty(0, np.intp), 0
    starts, length = chat.spans[:, 0], len(chat.rendered.text)
    foreign = min((span.start for span in spans if span.message != message and span.start >= said), default=length)
    end = next((end for of, _, end in chat.rendered.parts if of == message and end >= said), said)
    behind = chat.control & (starts >= said) & (starts < foreign)
    return np.flatnonzero(behind), np.flatnonzero(behind & (starts < end)), end


def _place(tokenizer: Tokenizer, prefix: Ids, joint: _Joint) -> int:
    """Return the place in the text of the whole chat that a prefix reaches.

    That is behind the end of the turn if the prefix ends with it, or with what the template writes behind it, or with a
    part of that. Else the turn is open, and the place is before the first special token that closes it.
    """
    past, whole, text = joint.past, joint.whole, joint.whole.rendered.text
    start, end = whole.spans[joint.new].tolist()
    opened = int(whole.spans[joint.first, 0])
    controls = np.flatnonzero(np.isin(prefix, np.fromiter(whole.specials, np.uint32)))
    if len(controls) == 0:
        return opened
    id, tail = int(prefix[controls[-1]]), prefix[controls[-1] + 1 :]
    eos = None if joint.old is None else tokenizer.special_tokens.get(tokenizer.settings.eos or "")
    before = prefix[controls[-1] :: -1].tolist()
    marks = {at: _reached(tokenizer, past, at, tail) for at in joint.marks.tolist() if past.ids[at] == id}
    known = [at for at, place in marks.items() if place is not None and joint.old is not None]
    # Of two equal tokens that one behind the same ids.
    mark = max(known, key=lambda at: (_common(before, past.ids[at::-1].tolist()), -at), default=joint.old)
    if mark == joint.old and (known or id in (whole.ids[joint.new], eos)):
        found = _reached(tokenizer, whole, joint.new, tail)
        if found is not None:
            return found
    if not known or joint.old is None or mark is None:
        return opened
    place, old = marks[mark] or 0, int(past.spans[joint.old, 1])
    if place < old:
        left = past.rendered.text[place:old]
        return int(end - len(left) if text.endswith(left, 0, end) else start)
    shared = _common(past.rendered.text[old:place], text[end:])
    if mark == joint.old or shared == place - old:
        return int(end + shared)
    # A token that only ends a chat may stand behind the text that both have, but one that begins another turn may not.
    begin = int(past.spans[mark, 0]) - old
    return int(end + begin if id == eos and begin <= shared else start)


def _reached(tokenizer: Tokenizer, chat: EncodedChat, at: int, tail: Ids) -> int | None:
    """Return the place in a chat's text up to which ids are what the template writes behind a token, if they are."""
    behind = int(chat.spans[at, 1])
    if np.array_equal(chat.ids[at + 1 : at + 1 + len(tail)], tail):
        return int(chat.spans[at + len(tail), 1])
    written = tokenizer.decode(tail)
    said = min((span.start for span in chat.rendered.spans if span.start >= behind), default=len(chat.rendered.text))
    return behind + len(written) if chat.rendered.text.startswith(written, behind, said) else None


def _behind(tokenizer: Tokenizer, chat: EncodedChat, place: int) -> tuple[Ids, int]:
    """Return the ids of a chat's text from a place on, and the index of the first that the chat has too."""
    at = int(np.searchsorted(chat.spans[:, 0], place))
    end = int(chat.spans[at - 1, 1]) if at else 0
    if end <= place:
        return chat.ids[at:], at
    if chat.control[at - 1]:
        return chat.ids[at - 1 :], at - 1
    # The prefix has a part of this token's text. What a tokenizer may put before a text is not wanted.
    mark = next(iter(tokenizer.special_tokens))
    rest = tokenizer.encode(mark + chat.rendered.text[place:end], special_tokens="parse")[1:]
    return np.concatenate((rest, chat.ids[at:])), at


def _rewritten(past: EncodedChat, at: int, *, can_keep: bool) -> HistoryRewritten:
    """Name the first message whose text is another, by the place where the texts part."""
    spans = [span for span in past.rendered.spans if span.message is not None]
    message = next((span.message for span in spans if span.end > at), spans[-1].message if spans else 0)
    remedy = 'rewritten="keep" goes on behind the ids all the same' if can_keep else "send the ids of the whole chat"
    return HistoryRewritten(
        f"the chat template writes messages[{message}] otherwise once new messages follow; {remedy}",
        field=f"messages[{message}]",
    )


def _common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how many characters, or ids, two texts begin with alike."""
    alike, most = 0, min(len(one), len(other))
    while alike < most:
        middle = (alike + most + 1) // 2
        if one[alike:middle] == other[alike:middle]:
            alike = middle
        else:
            most = middle - 1
    return alike
