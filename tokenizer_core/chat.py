"""Chats: messages to text and ids by the tokenizer's template, with the author of every character and token."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tokenizer_core._kernel import Pipeline
from tokenizer_core.config import Settings
from tokenizer_core.errors import InvalidOption, ReservedLiteral, TemplateMissing
from tokenizer_core.template import Fields, Rendering, Span, compiled

Message = Mapping[str, Any]
ChatPolicy = Literal["text", "reject", "parse"]
"""What the literal of an added token in a caller's text means: text, an error, or the token."""

IGNORED = -100
"""The label of a token that is not trained on; cross-entropy losses ignore it by default."""

_CONTINUE = "CONTINUE_FINAL_MESSAGE_TAG "
_REASONING = ("reasoning_content", "thinking", "reasoning")
_RESERVED = frozenset(
    ("messages", "tools", "documents", "add_generation_prompt", "continue_final_message", "chat_template")
)
_MEDIA = (
    "image",
    "image_url",
    "input_image",
    "audio",
    "audio_url",
    "input_audio",
    "video",
    "video_url",
    "file",
    "input_file",
)


@dataclass(frozen=True, slots=True, eq=False)
class RenderedChat:
    """A chat as text.

    Attributes:
        text: what the model is given.
        spans: what of it the caller wrote: ``(message, field, start, end)`` in characters, in order.
        generated: half-open spans of ``{% generation %}`` blocks; empty where the template has none.
        roles: the role of each message.
    """

    text: str
    spans: tuple[Span, ...]
    generated: tuple[tuple[int, int], ...]
    roles: tuple[str, ...]

    def turn(self, message: int) -> tuple[int, int] | None:
        """Return from the first to the last character of a message but for its role; ``None`` if none is rendered."""
        spans = [span for span in self.spans if span.message == message and span.field != "role"]
        return (spans[0].start, max(span.end for span in spans)) if spans else None


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
            turn = self.rendered.turn(message)
            if turn is None:
                continue
            if self.rendered.generated and self.rendered.roles[message] == "assistant":
                spans += [block for block in self.rendered.generated if block[0] < turn[1] and turn[0] < block[1]]
            else:
                spans.append((turn[0], self._closed(turn)))
        return spans

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


def render(
    settings: Settings,
    messages: Sequence[Message],
    *,
    tools: Sequence[Mapping[str, Any]] | None,
    documents: Sequence[Mapping[str, Any]] | None,
    add_generation_prompt: bool,
    continue_final_message: bool,
    template_args: Mapping[str, Any] | None,
) -> RenderedChat:
    """Render messages by the settings' template; see ``Tokenizer.render_chat``."""
    if continue_final_message and add_generation_prompt:
        raise InvalidOption(
            "continue_final_message goes on with the last message and add_generation_prompt begins another; choose one",
            field="continue_final_message",
        )
    _check(messages, tools, documents, template_args or {})
    source = _source(settings, tools is not None)
    fields = Fields()
    chat = [
        _reasoning(fields.track({key: value for key, value in message.items() if value is not None}, at, ""))
        for at, message in enumerate(messages)
    ]
    final = _begin_to_continue(chat, source) if continue_final_message else ""
    variables = {
        **_special_tokens(settings),
        **fields.track(dict(template_args or {}), None, ""),
        "messages": chat,
        "tools": fields.track(tools, None, "tools"),
        "documents": fields.track(documents, None, "documents"),
        "add_generation_prompt": add_generation_prompt,
    }
    rendering = compiled(source).render(fields, variables)
    if continue_final_message:
        rendering = _continued(rendering, final)
    roles = tuple(role if isinstance(role := message.get("role"), str) else "" for message in messages)
    return RenderedChat(rendering.text, rendering.spans, rendering.generated, roles)


def encode(
    pipeline: Pipeline, specials: frozenset[int], rendered: RenderedChat, special_tokens: ChatPolicy
) -> EncodedChat:
    """Encode a rendered chat; see ``Tokenizer.encode_chat``."""
    if special_tokens == "parse":
        ids, spans = pipeline.offsets(rendered.text, "char", "parse")
        refused: list[tuple[int, int, str]] = []
    elif special_tokens in ("text", "reject"):
        ids, spans, refused = pipeline.encode_chat(rendered.text, [span[2:] for span in rendered.spans])
    else:
        raise InvalidOption(
            f'special_tokens of a chat is "text", "reject" or "parse", not {special_tokens!r}', field="special_tokens"
        )
    if special_tokens == "reject" and refused:
        _reject(rendered, *refused[0])
    control = np.isin(ids, np.fromiter(specials, dtype=np.uint32))
    return EncodedChat(ids, spans, rendered, tuple(ReservedSpan(*found) for found in refused), control)


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


def _check(messages: Any, tools: Any, documents: Any, template_args: Mapping[str, Any]) -> None:
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence) or not messages:
        raise InvalidOption("messages is a list with at least one message", field="messages")
    for name, values in (("messages", messages), ("tools", tools), ("documents", documents)):
        if values is not None and (isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Sequence)):
            raise InvalidOption(f"{name} is a list of objects", field=name)
        for at, value in enumerate(values or ()):
            if not isinstance(value, Mapping):
                raise InvalidOption(f"{name}[{at}] is no object", field=f"{name}[{at}]")
    for at, message in enumerate(messages):
        _check_parts(at, message.get("content"))
    for name in template_args:
        if name in _RESERVED:
            raise InvalidOption(
                f"template_args cannot set {name!r}; it is an option of its own or the tokenizer's",
                field=f"template_args.{name}",
            )


def _check_parts(message: int, content: Any) -> None:
    """Refuse what is no text by its name: ids of an image are not the template's to write."""
    if not isinstance(content, (list, tuple)):
        return
    for at, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in _MEDIA:
            raise InvalidOption(
                f"a content part of type {kind!r} is not supported; only text is encoded here",
                field=f"messages[{message}].content[{at}].type",
            )


def _source(settings: Settings, has_tools: bool) -> str:
    named = dict(settings.named_templates)
    source = named.get("tool_use") if has_tools else None
    source = settings.chat_template if source is None else source
    if source is None:
        raise TemplateMissing("the tokenizer has no chat template; give it one with with_template, or encode a text")
    return source


def _special_tokens(settings: Settings) -> dict[str, str]:
    tokens = {f"{name}_token": getattr(settings, name) for name in ("bos", "eos", "pad", "unk")}
    for name, value in settings.extra:
        if name in ("sep_token", "cls_token", "mask_token"):
            parsed = json.loads(value)
            tokens[name] = parsed.get("content") if isinstance(parsed, dict) else parsed
    return {name: literal for name, literal in tokens.items() if isinstance(literal, str)}


def _reasoning(message: dict[str, Any]) -> dict[str, Any]:
    """Give a message's reasoning all the names that templates read it by, as Hugging Face does."""
    reasoning = next((message[name] for name in _REASONING if message.get(name) is not None), None)
    if reasoning is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


def _begin_to_continue(chat: list[dict[str, Any]], source: str) -> str:
    """Mark the end of the last message's text, and return that text."""
    refuse = InvalidOption("the last message has no text to continue", field="continue_final_message")
    content = chat[-1].get("content")
    if isinstance(content, list):
        part = next((part for part in reversed(content) if isinstance(part, dict) and "text" in part), None)
        if part is None or not isinstance(part["text"], str):
            raise refuse
        final, part["text"] = part["text"], part["text"] + _CONTINUE
        return "".join((final,))
    if not isinstance(content, str) or "content" not in source:
        raise refuse
    chat[-1]["content"] = content + _CONTINUE
    return "".join((content,))


def _continued(rendering: Rendering, final: str) -> Rendering:
    """Cut a rendering behind the last message's text."""
    text, tag = rendering.text, _CONTINUE.strip()
    if final.strip() not in text or tag not in text:
        raise InvalidOption(
            "the chat template does not write the last message as it is, so it cannot be continued",
            field="continue_final_message",
        )
    end = text.rindex(tag)
    kept = text[:end] if text.startswith(_CONTINUE, end) else text[:end].rstrip()
    spans = tuple(span._replace(end=min(span.end, len(kept))) for span in rendering.spans if span.start < len(kept))
    blocks = tuple((start, min(end, len(kept))) for start, end in rendering.generated if start < len(kept))
    return Rendering(kept, spans, blocks)
