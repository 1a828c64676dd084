"""The parts of a chat that its model has to write: their start and their end in every turn of the assistant."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_core.chat.rendered import RenderedChat, Span

Ranges = list[tuple[int, int]]

EXACT_TURNS = 32
"""Turns before which the messages are rendered again. In longer chats that would take time by the square of their
length, and the prompt is that of an earlier turn behind a message of the same role."""


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
            self._closings[role] = self._rendered.history.closing(count)
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
            self._prompts[before] = self._rendered.history.prompt(message)
        return self._prompts[before]

    def _stop(self, message: int, start: int, end: int) -> int:
        """Return where a turn ends if no message follows it."""
        alone = self._rendered.history.part(message)
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


def common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how many characters, or ids, two texts begin with alike."""
    alike, most = 0, min(len(one), len(other))
    while alike < most:
        middle = (alike + most + 1) // 2
        if one[alike:middle] == other[alike:middle]:
            alike = middle
        else:
            most = middle - 1
    return alike


def _joined(one: str, other: str) -> int:
    """Return how long the longest end of one text is that another begins with."""
    return next((size for size in range(min(len(one), len(other)), 0, -1) if other.startswith(one[-size:])), 0)
