"""Encode chats: only the template's text becomes an added token, and every token has an author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tokenizer_core._kernel import Pipeline, SegmentCache
from tokenizer_core.arguments import check_choice, holds_items
from tokenizer_core.chat.rendered import RenderedChat
from tokenizer_core.config import Unit
from tokenizer_core.errors import InvalidOption, InvalidUnicode, ReservedLiteral, UncoveredText
from tokenizer_core.padding import IGNORED, overlapping
from tokenizer_core.short_repr import ShortRepr

Places = npt.NDArray[np.int64]
ChatPolicy = Literal["text", "reject", "parse"]
"""The meaning of an added token's literal in a caller's text: text, an error, or the token."""

TrainedReasoning = Literal["all", "written", "none"]
"""The trained reasoning, with its marks: all, what somebody wrote (no empty marks of the template), or none."""

LostCalls = Literal["refuse", "ignore"]
"""The action where a template writes nothing of a message's calls of tools: an error, or labels of the rest."""

MAX_PATH = 200
"""Characters of the path of a field: a key may be as long as a request, and each text below it has its own path."""


@dataclass(frozen=True)
class ReservedSpan:
    """The literal of an added token in a caller's text, in characters of the rendered text; it was encoded as text."""

    start: int
    end: int
    literal: str


@dataclass(frozen=True, eq=False, repr=False)
class EncodedChat(ShortRepr):
    """A chat as ids; a notebook shows it in coloured tokens.

    Attributes:
        ids: uint32, shape (n,).
        spans: uint32, shape (n, 2): the characters of each id in the rendered text.
        rendered: the text and who wrote it.
        reserved_literals: where the caller wrote what would be an added token if the template had.
        specials: the ids of the special tokens.
    """

    ids: npt.NDArray[np.uint32]
    spans: npt.NDArray[np.uint32]
    rendered: RenderedChat
    reserved_literals: tuple[ReservedSpan, ...]
    specials: frozenset[int]

    @cached_property
    def control(self) -> npt.NDArray[np.bool_]:
        """Tell of each id whether it is a special token."""
        return np.isin(self.ids, np.fromiter(self.specials, dtype=np.uint32))

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
        return overlapping(self.spans, self._trained("assistant")).astype(np.int64)

    @cached_property
    def message_index(self) -> npt.NDArray[np.int64]:
        """Return the message that wrote a token's first character of a caller's; -1 where no caller wrote any of it."""
        return self.rendered.rendering.message_index(np.ascontiguousarray(self.spans))

    def _repr_html_(self) -> str:
        from tokenizer_core.chat.chat_html import shown_chat

        return shown_chat(
            self.rendered,
            self.ids,
            self.spans,
            authors=self.message_index,
            special=self.control,
            trained=self.assistant_mask,
            reserved=len(self.reserved_literals),
        )

    def labels(
        self,
        *,
        train_on: str | Sequence[str] = "assistant",
        reasoning: TrainedReasoning = "all",
        lost_calls: LostCalls = "refuse",
    ) -> npt.NDArray[np.int64]:
        """Return the ids to train on and -100 elsewhere, without a shift: ``labels[i]`` belongs to ``ids[i]``.

        A token is trained on if at least one of its characters is. Those of the assistant are what stands in
        ``{% generation %}`` where the template has it; else what the model has to write, from the end of the generation
        prompt to the end of the turn. A turn of another role reaches from its first character to its last, and on
        through the first special token if only the template's text stands before that.

        Args:
            train_on: ``"assistant"`` (every turn), ``"last"`` (the last turn of the assistant), or roles.
            reasoning: ``"written"`` leaves out marks of reasoning that the template wrote around nothing, ``"none"``
                all reasoning with its marks.
            lost_calls: of a message that has calls of tools, where the template writes nothing of them.

        Raises:
            InvalidOption: no message has the role.
            MessageNotRendered: calls are lost.
        """
        check_choice(reasoning, TrainedReasoning, "reasoning")
        check_choice(lost_calls, LostCalls, "lost_calls")
        trained = self._trained(train_on, reasoning)
        if lost_calls == "refuse":
            self.rendered.require_calls_used()
        return np.where(overlapping(self.spans, trained), self.ids.astype(np.int64), IGNORED)

    def straddling(self, *, train_on: str | Sequence[str] = "assistant") -> npt.NDArray[np.bool_]:
        """Tell which tokens have characters that are trained on and characters that are not; their labels are ids."""
        trained = np.zeros(len(self.rendered.text) + 1, dtype=np.int64)
        for start, end in self._trained(train_on):
            trained[start + 1 : end + 1] = 1
        before = np.cumsum(trained)
        inside = before[self.spans[:, 1]] - before[self.spans[:, 0]]
        return (inside > 0) & (inside < self.spans[:, 1].astype(np.int64) - self.spans[:, 0])

    def begin(self, message: int) -> int | None:
        """Return the place in the text where a message begins, of the assistant's where the model begins to write."""
        return next((int(start) for start, _ in self._turns([message])), None)

    def _trained(self, train_on: str | Sequence[str], reasoning: TrainedReasoning = "all") -> Places:
        roles, named = self.rendered.roles, train_on if isinstance(train_on, str) else None
        if named == "assistant" and self.rendered.generated:
            return self._turns(None, reasoning)
        wanted = {"assistant"} if named == "last" else {named} if named is not None else _roles(train_on)
        unknown = wanted.difference(roles, ["assistant"] if named is not None else [])
        if unknown:
            raise InvalidOption(
                f'no message has the role {min(unknown)[:80]!r}; train_on is "assistant", "last" or roles of messages',
                field="train_on",
            )
        messages = [at for at, role in enumerate(roles) if role in wanted]
        return self._turns(messages[-1:] if named == "last" else messages, reasoning)

    def _turns(self, messages: list[int] | None, reasoning: TrainedReasoning = "all") -> Places:
        """Return what of the text these messages are, in order; without any, the ``{% generation %}`` blocks."""
        rendered = self.rendered
        turns = rendered.rendering.trained(self.spans[self.control], messages, reasoning, rendered.history.render)
        return np.array(turns, dtype=np.int64).reshape(-1, 2)


def _roles(given: Any) -> set[str]:
    """Return the roles of a ``train_on`` that names several."""
    roles: set[str] = set()
    for role in given if holds_items(given) else [given]:
        if not isinstance(role, str):
            raise InvalidOption('train_on is "assistant", "last" or roles of messages', field="train_on")
        roles.add(role)
    return roles


def encode(
    pipeline: Pipeline,
    specials: frozenset[int],
    rendered: RenderedChat,
    special_tokens: ChatPolicy,
    segments: SegmentCache | None,
) -> EncodedChat:
    """Encode a rendered chat; see ``Tokenizer.encode_chat``."""
    ids, spans, refused = places(pipeline, rendered, "char", special_tokens, segments)
    return EncodedChat(ids, spans, rendered, tuple(ReservedSpan(*found) for found in refused), specials)


def places(
    pipeline: Pipeline,
    rendered: RenderedChat,
    unit: Unit,
    special_tokens: ChatPolicy,
    segments: SegmentCache | None = None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], list[tuple[int, int, str]]]:
    """Return the ids of a rendered chat, their spans in ``unit`` and the literals, in characters, that are text."""
    check_choice(special_tokens, ChatPolicy, "special_tokens")
    try:
        if special_tokens == "parse":
            return *pipeline.offsets(rendered.text, unit, "parse"), []
        ids, spans, refused = pipeline.encode_rendering(rendered.rendering, unit, segments)
    except InvalidUnicode as error:
        error.place["field"] = _field(rendered, error.place["span"][0])
        raise
    if special_tokens == "reject":
        if refused:
            start, end, literal = refused[0]
            raise _reserved(literal, _field(rendered, start), span=[start, end], unit="char")
        _check_fields(pipeline, rendered.given)
    return ids, spans, refused


def _reserved(literal: str, field: str, **place: Any) -> ReservedLiteral:
    return ReservedLiteral(
        f"a caller's text makes {literal[:100]!r}, the literal of an added token; "
        'pass special_tokens="text" to encode it as ordinary text',
        field=field,
        literal=literal,
        **place,
    )


def _check_fields(pipeline: Pipeline, given: Mapping[str, Any]) -> None:
    """Refuse a literal in any field: a template may cut it out and write it again as its own, or leave it out."""
    fields: dict[str, str] = {}
    for path, text in _texts("", given):
        fields.setdefault(text, path)
    for text, path in fields.items():
        try:
            _, _, refused = pipeline.encode_chat(text, [(0, len(text))])
        except UncoveredText:
            # The rendered part of this text has ids, so the rest may be of characters that have none.
            continue
        if refused:
            raise _reserved(refused[0][2], path)


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every text of a caller's value, keys too, with its field."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            inner = joined_path(path, key)
            if path:
                yield inner, key
            yield from _texts(inner, item)
    elif isinstance(value, Sequence):
        for at, item in enumerate(value):
            yield from _texts(joined_path(path, at), item)


def joined_path(path: str, part: str | int) -> str:
    """Append a key or an index to a path, which is cut off if it becomes too long."""
    if isinstance(part, int):
        path = f"{path}[{part}]"
    else:
        path = f"{path}.{part[: MAX_PATH + 1]}" if path else part[: MAX_PATH + 1]
    return path if len(path) <= MAX_PATH else f"{path[: MAX_PATH - 3]}..."


def _field(rendered: RenderedChat, start: int) -> str:
    """Return the field of the caller that wrote the first character at or after a place of the text."""
    first = next((span for span in rendered.spans if span.end > start), None)
    if first is None:
        return "messages"
    return first.field if first.message is None else f"messages[{first.message}].{first.field}"
