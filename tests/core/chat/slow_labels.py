"""The slow truth about what a chat trains on: its history is rendered again before each turn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from tokenizer_core import EncodedChat, RenderedChat
from tokenizer_core.chat.rendered import Span

IGNORED = -100
Ranges = list[tuple[int, int]]
Places = npt.NDArray[np.int64]

MARKS = (
    ("<think>", "</think>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
)
"""The marks round reasoning, of the models that have it. The opening mark may be a part of the prompt."""

EXACT_TURNS = 32
"""Turns before which the messages are rendered again. In longer chats that would take time by the square of their
length, and the prompt is that of an earlier turn behind a message of the same role."""


def labels(chat: EncodedChat, train_on: str | Sequence[str], reasoning: str) -> Places:
    trained = Truth(chat).trained(train_on)
    if reasoning != "all":
        trained = without_reasoning(chat.rendered.text, trained, chat.rendered.spans, reasoning)
    is_trained = np.zeros(len(chat.ids), dtype=np.bool_)
    for start, end in trained:
        is_trained |= (chat.spans[:, 0] < end) & (chat.spans[:, 1] > start) & (chat.spans[:, 0] < chat.spans[:, 1])
    return np.where(is_trained, chat.ids.astype(np.int64), IGNORED)


def message_index(chat: EncodedChat) -> Places:
    index = np.full(len(chat.ids), -1, dtype=np.int64)
    for at, (start, end) in enumerate(chat.spans.tolist()):
        for span in chat.rendered.spans:
            if span.message is not None and span.start < end and span.end > start and start < end:
                index[at] = span.message
                break
    return index


class Truth:
    """What of the text of a chat is trained on."""

    def __init__(self, chat: EncodedChat) -> None:
        self.rendered, self.ids, self.spans, self.control = chat.rendered, chat.ids, chat.spans, chat.control

    def trained(self, train_on: str | Sequence[str]) -> Ranges:
        roles = self.rendered.roles
        assistant = [at for at, role in enumerate(roles) if role == "assistant"]
        if train_on == "last":
            return self.turns(assistant[-1:])
        if train_on == "assistant":
            return list(self.rendered.generated) or self.turns(assistant)
        return self.turns([at for at, role in enumerate(roles) if role in train_on])

    def turns(self, messages: list[int]) -> list[tuple[int, int]]:
        """Return what of the text these messages are, in order."""
        spans = []
        for message in messages:
            if self.rendered.generated and self.rendered.roles[message] == "assistant":
                spans += self._blocks(message)
            elif self.rendered.roles[message] == "assistant":
                spans += self._model.of(message)
            elif message in self._said:
                start, end = self._said[message]
                spans.append((start, self._closed(end)))
        return spans

    @cached_property
    def _model(self) -> Turns:
        return Turns(self.rendered, self.spans, self.control)

    @cached_property
    def _said(self) -> dict[int, tuple[int, int]]:
        """From the first to the last character of every message that is rendered, but for its role."""
        said: dict[int, tuple[int, int]] = {}
        for span in self.rendered.spans:
            if span.message is not None and span.field != "role":
                start, end = said.get(span.message, (span.start, span.end))
                said[span.message] = start, max(end, span.end)
        return said

    def _blocks(self, message: int) -> list[tuple[int, int]]:
        """Return the ``{% generation %}`` blocks of a message; one without its text is between its neighbours."""
        blocks, (starts, ends) = self.rendered.generated, self._block_bounds
        if message in self._said:
            start, end = self._said[message]
            own = blocks[np.searchsorted(ends, start, side="right") : np.searchsorted(starts, end, side="left")]
            if own:
                return list(own)
        start, end = self._neighbours[message]
        return list(blocks[np.searchsorted(starts, start, side="left") : np.searchsorted(ends, end, side="right")])

    @cached_property
    def _block_bounds(self) -> tuple[Places, Places]:
        """The beginnings and the ends of the blocks."""
        starts, ends = _array(self.rendered.generated).T
        return starts, ends

    @cached_property
    def _neighbours(self) -> Places:
        """For every message, where those before it end and those behind it begin."""
        messages, length = len(self.rendered.roles), len(self.rendered.text)
        ends, starts = np.zeros(messages + 1, dtype=np.int64), np.full(messages + 1, length, dtype=np.int64)
        for span in self.rendered.spans:
            if span.message is not None:
                ends[span.message + 1] = max(ends[span.message + 1], span.end)
                starts[span.message] = min(starts[span.message], span.start)
        before, behind = np.maximum.accumulate(ends), np.minimum.accumulate(starts[::-1])[::-1]
        return np.stack((before[:-1], behind[1:]), axis=1)

    def _closed(self, end: int) -> int:
        """Return where the special token behind a turn ends, or the turn if another's text comes first."""
        foreign_at = int(np.searchsorted(self._written_from, end))
        foreign = self._written_from[foreign_at] if foreign_at < len(self._written_from) else len(self.rendered.text)
        at = int(np.searchsorted(self._begins, end))
        while at < len(self.ids) and self.spans[at, 0] < foreign:
            if self.control[at]:
                return int(self.spans[at, 1])
            at += 1
        return end

    @cached_property
    def _written_from(self) -> Places:
        """The beginnings of the caller's spans, in order."""
        return np.array([span.start for span in self.rendered.spans], dtype=np.int64)

    @cached_property
    def _begins(self) -> Places:
        """The beginnings of the tokens, as int64, so that a search copies nothing."""
        return self.spans[:, 0].astype(np.int64)


def _array(spans: Sequence[tuple[int, int]]) -> Places:
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


class Turns:
    """The turns of a rendered chat, in characters.

    A turn begins where the generation prompt of the messages before it ends: at the end of the longest prefix that the
    prompt and the turn's text share, or of the longest end of the prompt that the turn begins with. It ends with the
    last special token behind the message's own text. A message that the template does not write in a loop over messages
    stands between what ends the chat before it and what ends the chat with it.

    Args:
        spans: the characters of each id.
        control: whether the id is a special token.
    """

    def __init__(self, rendered: RenderedChat, spans: npt.NDArray[np.uint32], control: npt.NDArray[np.bool_]) -> None:
        self._rendered, self._text = rendered, rendered.text
        special = spans[control].astype(np.int64)
        self._begins: list[int] = special[:, 0].tolist()
        self._exact, self._prompts = EXACT_TURNS, dict[str, tuple[str, bool]]()
        self._closes_late: bool | None = None
        self._exact_bounds, self._closings = 2 * EXACT_TURNS, dict[str, str]()
        self._ends: list[int] = special[:, 1].tolist()

    def of(self, message: int) -> Ranges:
        """Return what the model has to write of a message; nothing if the template leaves the message out."""
        ranges: Ranges = []
        for at, (start, end) in enumerate(self._parts.get(message) or self._between(message)):
            foreign = [span for span in self._in(start, end) if span.message not in (message, None)]
            begin = start if at else self._begin(message, start, end)
            if foreign:
                # The answer of a tool stands within the turn: the model stops before, and may go on behind.
                ranges.append((begin, max(begin, self._stop(message, start, end))))
                behind = foreign[-1].end
                own = [span for span in self._in(behind, end) if span.message == message]
                if not own:
                    continue
                begin = own[0].start
            ranges.append((begin, self._end(message, begin, end)))
        return [(start, end) for start, end in ranges if start < end]

    @cached_property
    def _parts(self) -> dict[int, Ranges]:
        parts: dict[int, Ranges] = {}
        for message, start, end in self._rendered.parts:
            parts.setdefault(message, []).append((start, end))
        return parts

    def _between(self, message: int) -> Ranges:
        """Return where a message stands that the template writes without a loop over messages."""
        start, end = self._bound(message), self._bound(message + 1)
        return [(start, end)] if start < end else []

    def _closed_late(self, message: int, end: int) -> int:
        """Return where a turn ends that the template ends with the next message, if one token ends a chat there."""
        if self._closes_late is not False:
            bound, role = self._bound(message + 1), self._rendered.roles[message]
            is_closing = self._text.startswith(self._closings.get(role, ""), self._said[message + 1])
            self._closes_late = is_closing and bound == self._ends[bisect_left(self._begins, end)]
            return bound if self._closes_late else end
        return end

    def _bound(self, count: int) -> int:
        """Return where the first messages of the chat end: behind the last text of theirs, and what closes it."""
        if count == 0:
            return 0
        said, role = self._said[count], self._rendered.roles[count - 1]
        if role not in self._closings or self._exact_bounds > 0:
            self._exact_bounds -= 1
            self._closings[role] = _closing(self._rendered, count)
        bound = said + common(self._closings[role], self._text[said:])
        special = bisect_left(self._begins, bound) - 1
        return self._begins[special] if special >= 0 and bound < self._ends[special] else bound

    @cached_property
    def _said(self) -> list[int]:
        """For every number of messages, where the text of the last of them ends that has any."""
        ends = dict.fromkeys(range(len(self._rendered.roles)), 0)
        ends.update((span.message, span.end) for span in self._rendered.spans if span.message is not None)
        return list(accumulate(ends.values(), lambda before, end: end or before, initial=0))

    @cached_property
    def _span_ends(self) -> list[int]:
        return [span.end for span in self._rendered.spans]

    def _in(self, start: int, end: int) -> Sequence[Span]:
        """Return the callers' spans between two places."""
        spans = self._rendered.spans
        first = bisect_left(self._span_ends, start + 1)
        behind = first
        while behind < len(spans) and spans[behind].start < end:
            behind += 1
        return spans[first:behind]

    def _own(self, message: int, start: int, end: int) -> list[Span]:
        """Return what the message itself says there, but for its role."""
        return [span for span in self._in(start, end) if span.message == message and span.field != "role"]

    def _begin(self, message: int, start: int, end: int) -> int:
        (prompt, is_asked), part = self._prompt(message), self._text[start:end]
        own = self._own(message, start, end)
        first = own[0].start if own else end
        shared = max(common(prompt, part), common(prompt.lstrip(), part), _joined(prompt, part))
        if not is_asked:
            shared = min(shared, first - start)
        if shared == 0:
            found = self._text.find(prompt.strip(), start, first) if prompt.strip() else -1
            if found >= 0:
                return found + len(prompt.strip())
            # If a template begins no turn by itself, its heading is the text that it writes with the role.
            headings = [span.end for span in self._in(start, first) if span.field == "role"]
            if not headings:
                return start
            closing = bisect_left(self._begins, max(headings))
            return min([first, *self._begins[closing : closing + 1]])
        begin = start + shared
        special = bisect_left(self._begins, begin) - 1
        # A prefix may end within the token that ends an empty turn.
        return self._begins[special] if special >= 0 and begin < self._ends[special] else begin

    def _prompt(self, message: int) -> tuple[str, bool]:
        """Return the generation prompt before a message."""
        before = self._rendered.roles[message - 1] if message else ""
        if before not in self._prompts or self._exact > 0:
            self._exact -= 1
            self._prompts[before] = _prompt(self._rendered, message)
        return self._prompts[before]

    def _stop(self, message: int, start: int, end: int) -> int:
        """Return where a turn ends if no message follows it."""
        alone = _part(self._rendered, message)
        return start + common(alone, self._text[start:end])

    def _end(self, message: int, begin: int, end: int) -> int:
        own = self._own(message, begin, end)
        said = max(own[-1].end if own else begin, begin)
        first = bisect_left(self._begins, said)
        last = bisect_left(self._begins, end) - 1
        written = begin + len(self._text[begin:end].rstrip())
        if last >= first:
            # Behind the end of a call may stand an end of the turn that is no special token.
            stop = max(min(self._ends[last], end), written)
            return self._closed_late(message, end) if stop == end and end in self._begins[last + 1 : last + 2] else stop
        # Some templates write what ends a turn with the next message.
        following = last + 1
        if following < len(self._begins) and not self._text[end : self._begins[following]].strip():
            stop = self._ends[following]
            if not self._in(end, stop):
                return stop
        return max(said, written)


def _prompt(chat: RenderedChat, message: int) -> tuple[str, bool]:
    """Return the generation prompt behind the messages before one, and whether the template writes it if asked to."""
    for count in (message or None, None):
        ended, rendered = chat.history.render(count, False), chat.history.render(count, True)
        if ended is None or rendered is None:
            continue
        begun, parts = rendered.text, rendered.turns
        # A template may write it within its loop over messages, or more than it behind them.
        behind = [begun[parts[-1][2] :]] if parts else []
        added = begun[len(ended.text) :] if begun.startswith(ended.text) else ""
        return max([*behind, added], key=len), begun != ended.text
    return "", False


def _part(chat: RenderedChat, message: int) -> str:
    """Return what the template writes of a message that is the last; nothing if it fails."""
    alone = chat.history.render(message + 1, False)
    return next((alone.text[start:end] for of, start, end in alone.turns if of == message), "") if alone else ""


def _closing(chat: RenderedChat, count: int) -> str:
    """Return what the template writes behind the text of the first messages if no more follow."""
    alone = chat.history.render(count, False)
    if alone is None:
        return ""
    said = max(((message, end) for message, _, _, end in alone.spans if message is not None), default=(0, 0))
    return alone.text[said[1] :]


def common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _joined(one: str, other: str) -> int:
    """Return how long the longest end of one text is that another begins with."""
    return next((size for size in range(min(len(one), len(other)), 0, -1) if other.startswith(one[-size:])), 0)


def without_reasoning(
    text: str, turns: Sequence[tuple[int, int]], spans: Sequence[Span], kept: str
) -> list[tuple[int, int]]:
    """Return turns without the reasoning at their beginning, and without the white space behind it.

    Args:
        spans: what of the text the caller wrote.
        kept: ``"written"`` leaves out reasoning without a character of the caller alone.
    """
    left = []
    for start, end in turns:
        found = _reasoning(text, start, end, spans)
        if found is not None:
            begin, inside, close, behind = found
            if kept == "none" or not (_is_written(spans, inside, close) and text[inside:close].strip()):
                left.append((start, begin))
                start = behind
        left.append((start, end))
    return [(start, end) for start, end in left if start < end]


def _is_written(spans: Sequence[Span], start: int, end: int) -> bool:
    """Tell whether the caller wrote any character between two places."""
    return any(span.start < end and span.end > start for span in spans)


def _reasoning(text: str, start: int, end: int, spans: Sequence[Span]) -> tuple[int, int, int, int] | None:
    """Return where reasoning begins with its mark and behind it, where it ends, and where the turn goes on.

    Before it stands nothing but the template's text, or it is no reasoning but a word of the answer.
    """
    for opening, closing in MARKS:
        opened, closed = text.find(opening, start, end), text.find(closing, max(0, start - len(closing) + 1), end)
        if text[max(0, start - len(opening) - 2) : start].rstrip().endswith(opening):
            begin = inside = start
        elif opened >= 0 and not _is_written(spans, start, opened) and not 0 <= closed < opened:
            begin, inside = opened, opened + len(opening)
            if text[start:begin].isspace():
                begin = start
        elif closed >= 0 and not _is_written(spans, start, closed):
            # The prompt has the opening mark, and may have the beginning of the closing one.
            begin = inside = max(start, closed)
        else:
            continue
        close = text.find(closing, inside if inside > start else closed, end)
        if close < 0:
            return begin, inside, end, end
        behind = close + len(closing)
        return begin, inside, close, behind + len(text[behind:end]) - len(text[behind:end].lstrip())
    return None
