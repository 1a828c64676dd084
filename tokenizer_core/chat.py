"""Chats to ids: only what the template writes becomes an added token, and every token has an author."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from tokenizer_core._kernel import Pipeline
from tokenizer_core.chat_rendering import RenderedChat
from tokenizer_core.errors import InvalidOption, ReservedLiteral

Unit = Literal["byte", "char", "utf16"]
ChatPolicy = Literal["text", "reject", "parse"]
"""What the literal of an added token in a caller's text means: text, an error, or the token."""

IGNORED = -100
"""The label of a token that is not trained on; cross-entropy losses ignore it by default."""


@dataclass(frozen=True)
class ReservedSpan:
    """The literal of an added token in a caller's text, in characters of the rendered text; it was encoded as text."""

    start: int
    end: int
    literal: str


@dataclass(frozen=True, eq=False)
class EncodedChat:
    """A chat as ids.

    Attributes:
        ids: uint32, shape (n,).
        spans: uint32, shape (n, 2): the characters of the rendered text that each id stands for.
        rendered: the text and who wrote it.
        reserved_literals: where the caller wrote what would be an added token if the template had.
        control: bool, shape (n,): the id is a special token.
    """

    ids: npt.NDArray[np.uint32]
    spans: npt.NDArray[np.uint32]
    rendered: RenderedChat
    reserved_literals: tuple[ReservedSpan, ...]
    control: npt.NDArray[np.bool_]

    @cached_property
    def attention_mask(self) -> npt.NDArray[np.int64]:
        """One for every id: nothing is padding yet."""
        return np.ones(len(self.ids), dtype=np.int64)

    @cached_property
    def position_ids(self) -> npt.NDArray[np.int64]:
        """Count the ids from 0."""
        return np.arange(len(self.ids), dtype=np.int64)

    @cached_property
    def assistant_mask(self) -> npt.NDArray[np.int64]:
        """One where a token overlaps what the assistant says, as ``labels(train_on="assistant")`` has it."""
        return self._overlapping(self._trained("assistant")).astype(np.int64)

    @cached_property
    def message_index(self) -> npt.NDArray[np.int64]:
        """Return the message that a token has its first character of a caller from; -1 where it has none."""
        index = np.full(len(self.ids), -1, dtype=np.int64)
        for span in reversed(self.rendered.spans):
            if span.message is not None:
                index[self._overlapping([(span.start, span.end)])] = span.message
        return index

    def labels(self, *, train_on: str | Sequence[str] = "assistant") -> npt.NDArray[np.int64]:
        """Return the ids to train on and -100 elsewhere, without a shift: ``labels[i]`` belongs to ``ids[i]``.

        A token is trained on if at least one of its characters is. Those of the assistant are what stands in
        ``{% generation %}`` where the template has it; else a turn reaches from its first character to its last, and
        on through the first special token if only the template's text stands before that.

        Args:
            train_on: ``"assistant"`` (every turn), ``"last"`` (the last turn of the assistant), or roles.

        Raises:
            InvalidOption: no message has the role.
        """
        return np.where(self._overlapping(self._trained(train_on)), self.ids.astype(np.int64), IGNORED)

    def straddling(self, *, train_on: str | Sequence[str] = "assistant") -> npt.NDArray[np.bool_]:
        """Tell which tokens have characters that are trained on and characters that are not; their labels are ids."""
        trained = np.zeros(len(self.rendered.text) + 1, dtype=np.int64)
        for start, end in self._trained(train_on):
            trained[start + 1 : end + 1] = 1
        before = np.cumsum(trained)
        inside = before[self.spans[:, 1]] - before[self.spans[:, 0]]
        return (inside > 0) & (inside < self.spans[:, 1].astype(np.int64) - self.spans[:, 0])

    def _trained(self, train_on: str | Sequence[str]) -> list[tuple[int, int]]:
        roles = self.rendered.roles
        if train_on == "last":
            last = max((at for at, role in enumerate(roles) if role == "assistant"), default=None)
            return [] if last is None else self._turns([last])
        if train_on == "assistant" and self.rendered.generated:
            return list(self.rendered.generated)
        if train_on == "assistant":
            return self._turns([at for at, role in enumerate(roles) if role == "assistant"])
        wanted = {train_on} if isinstance(train_on, str) else set(train_on)
        unknown = wanted.difference(roles)
        if unknown:
            raise InvalidOption(
                f'no message has the role {min(unknown)[:80]!r}; train_on is "assistant", "last" or roles of messages',
                field="train_on",
            )
        return self._turns([at for at, role in enumerate(roles) if role in wanted])

    def _turns(self, messages: list[int]) -> list[tuple[int, int]]:
        """Return what of the text these messages are, in order."""
        spans = []
        for message in messages:
            if self.rendered.generated and self.rendered.roles[message] == "assistant":
                spans += self._blocks(message)
            elif (turn := self.rendered.turn(message)) is not None:
                spans.append((turn[0], self._closed(turn)))
        return spans

    def _blocks(self, message: int) -> list[tuple[int, int]]:
        """Return the ``{% generation %}`` blocks of a message; one without text of it stands between its neighbours."""
        blocks = self.rendered.generated
        turn = self.rendered.turn(message)
        own = [] if turn is None else [block for block in blocks if block[0] < turn[1] and turn[0] < block[1]]
        if own:
            return own
        others = [(span.message, span.start, span.end) for span in self.rendered.spans if span.message is not None]
        start = max((end for at, _, end in others if at < message), default=0)
        end = min((start for at, start, _ in others if at > message), default=len(self.rendered.text))
        return [block for block in blocks if start <= block[0] and block[1] <= end]

    def _closed(self, turn: tuple[int, int]) -> int:
        """Return where the special token behind a turn ends, or the turn if another's text comes first."""
        end = turn[1]
        foreign = min(
            (span.start for span in self.rendered.spans if span.start >= end), default=len(self.rendered.text)
        )
        at = int(np.searchsorted(self.spans[:, 0], end))
        while at < len(self.ids) and self.spans[at, 0] < foreign:
            if self.control[at]:
                return int(self.spans[at, 1])
            at += 1
        return end

    def _overlapping(self, characters: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
        """Tell which tokens share a character with one of the spans."""
        mask = np.zeros(len(self.ids), dtype=np.bool_)
        for start, end in characters:
            mask |= (self.spans[:, 0] < end) & (self.spans[:, 1] > start)
        return mask


def encode(
    pipeline: Pipeline, specials: frozenset[int], rendered: RenderedChat, special_tokens: ChatPolicy
) -> EncodedChat:
    """Encode a rendered chat; see ``Tokenizer.encode_chat``."""
    ids, spans, refused = places(pipeline, rendered, "char", special_tokens)
    control = np.isin(ids, np.fromiter(specials, dtype=np.uint32))
    return EncodedChat(ids, spans, rendered, tuple(ReservedSpan(*found) for found in refused), control)


def places(
    pipeline: Pipeline, rendered: RenderedChat, unit: Unit, special_tokens: ChatPolicy
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], list[tuple[int, int, str]]]:
    """Return the ids of a rendered chat, their spans in ``unit`` and the literals, in characters, that are text."""
    if special_tokens == "parse":
        return *pipeline.offsets(rendered.text, unit, "parse"), []
    if special_tokens not in ("text", "reject"):
        raise InvalidOption(
            f'special_tokens of a chat is "text", "reject" or "parse", not {special_tokens!r}', field="special_tokens"
        )
    ids, spans, refused = pipeline.encode_chat(rendered.text, [span[2:] for span in rendered.spans], unit)
    if special_tokens == "reject" and refused:
        _reject(rendered, *refused[0])
    return ids, spans, refused


def _reject(rendered: RenderedChat, start: int, end: int, literal: str) -> None:
    """Raise for a literal, at the field of the caller that has a hand in it."""
    first = next(span for span in rendered.spans if span.end > start)
    place = "" if first.message is None else f"messages[{first.message}]."
    raise ReservedLiteral(
        f"{place}{first.field[:100]} makes {literal[:100]!r}, the literal of an added token; "
        'pass special_tokens="text" to encode it as ordinary text',
        field=f"{place}{first.field}",
        literal=literal,
        span=[start, end],
        unit="char",
    )
