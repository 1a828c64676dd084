"""Render messages by a chat template, with the author of every character."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from jinja2.exceptions import TemplateError

from tokenizer_core.arguments import check_choice, check_flag
from tokenizer_core.config import Settings
from tokenizer_core.content_format import ContentFormat
from tokenizer_core.content_parts import as_read, fitted, present, refuse_media
from tokenizer_core.errors import InvalidOption, TemplateFailed, TemplateMissing
from tokenizer_core.template import FUNCTIONS, Origins, Rendering, Shared, Span, Template, bare, compiled, taken
from tokenizer_core.template_probe import probe

Message = Mapping[str, Any]

_CONTINUE = "CONTINUE_FINAL_MESSAGE_TAG "
_REASONING = ("reasoning_content", "thinking", "reasoning")
_SPECIALS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")
_RESERVED = {
    **dict.fromkeys(
        ("messages", "tools", "documents", "add_generation_prompt", "continue_final_message"),
        "an option of its own; set that",
    ),
    **dict.fromkeys(("chat_template", *_SPECIALS), "the tokenizer's"),
    **dict.fromkeys(FUNCTIONS, "a function of all templates; choose another name"),
}
"""Names that ``template_args`` cannot set, and their meaning."""


class RenderingOptions(TypedDict, total=False):
    """The options of ``Tokenizer.render_chat``."""

    tools: Sequence[Mapping[str, Any]] | None
    documents: Sequence[Mapping[str, Any]] | None
    add_generation_prompt: bool
    continue_final_message: bool
    template_args: Mapping[str, Any] | None
    template: str | None
    content_format: ContentFormat


@dataclass(frozen=True, slots=True, eq=False)
class RenderedChat:
    """A chat as text.

    Attributes:
        text: what the model is given.
        spans: what of it the caller wrote: ``(message, field, start, end)`` in characters, in order.
        generated: half-open spans of ``{% generation %}`` blocks; empty where the template has none.
        roles: the role of each message.
        template: the hash of the template.
        given: the messages, tools, documents and template arguments, as the caller gave them, by the option's name.
    """

    text: str
    spans: tuple[Span, ...]
    generated: tuple[tuple[int, int], ...]
    roles: tuple[str, ...]
    template: str
    given: Mapping[str, Any] = field(default_factory=dict, repr=False)


class ChatRenderer:
    """Render the chats of one request, one after the other; see ``Tokenizer.chat_renderer``."""

    def __init__(
        self,
        settings: Settings,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool = False,
        template_args: Mapping[str, Any] | None = None,
        template: str | None = None,
        content_format: ContentFormat = "sent",
    ) -> None:
        check_choice(content_format, ContentFormat, "content_format")
        check_flag(add_generation_prompt, "add_generation_prompt")
        check_flag(continue_final_message, "continue_final_message")
        if continue_final_message and add_generation_prompt:
            raise InvalidOption(
                "continue_final_message goes on with the last message and add_generation_prompt begins another; "
                "choose one",
                field="continue_final_message",
            )
        _check_shared(tools, documents, template_args)
        self._template = _template(settings, template, tools is not None)
        self._specials = _special_tokens(settings)
        self._tools, self._documents, self._args = tools, documents, template_args
        self._begins, self._continues = add_generation_prompt, continue_final_message
        self._content_format = content_format
        self._shared: Shared | None = None

    def render(self, messages: Sequence[Message]) -> RenderedChat:
        """Render one more chat; see ``Tokenizer.render_chat``."""
        _check_messages(messages)
        with taken() as turn:
            if self._shared is None:
                self._shared = self._share()
            origins = Origins(self._shared.origins)
            chat = []
            for at, message in enumerate(messages):
                tracked = _reasoning(origins.track(present(message), at, ""))
                chat.append(fitted(tracked, self._content_format, self._template.source, origins, at))
                if turn is not None:
                    turn.pause()
            final = _begin_to_continue(chat, self._template.source) if self._continues else ""
            try:
                rendering = self._template.render(origins, chat, self._shared)
            except TemplateFailed as error:
                _place(error, messages)
                raise
        if self._continues:
            rendering = _continued(rendering, final)
        roles = tuple(role if isinstance(role := message.get("role"), str) else "" for message in messages)
        given = {
            "messages": messages,
            "tools": self._tools,
            "documents": self._documents,
            "template_args": self._args,
        }
        return RenderedChat(rendering.text, rendering.spans, rendering.generated, roles, self._template.hash, given)

    def _share(self) -> Shared:
        origins, tools, documents = Origins(), self._tools, self._documents
        variables = {
            **self._specials,
            **origins.track(dict(self._args or {}), None, "template_args"),
            "tools": origins.track(tools and list(tools), None, "tools"),
            "documents": origins.track(documents and list(documents), None, "documents"),
            "add_generation_prompt": self._begins,
        }
        return Shared(origins, variables)


def writes_every_message(settings: Settings, messages: Sequence[Message], *, has_tools: bool = False) -> bool:
    """Tell whether the template that is chosen by default takes messages and writes the text of each.

    For a few small chats, whose answers are kept: content is a string that no template writes by itself.

    Raises:
        TemplateMissing
    """
    source = _template(settings, None, has_tools).source
    with taken():
        text = probe(source, [as_read(message, source) for message in messages])
    return text is not None and all(message["content"] in text for message in messages)


def _check_messages(messages: Any) -> None:
    if not _is_list(messages) or not messages:
        raise InvalidOption("messages is a list with at least one message", field="messages")
    _check_objects("messages", messages)
    refuse_media(messages)


def _is_list(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes, Mapping))


def _check_objects(name: str, values: Sequence[Any]) -> None:
    for at, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise InvalidOption(f"{name}[{at}] is not an object", field=f"{name}[{at}]")


def _check_shared(tools: Any, documents: Any, template_args: Any) -> None:
    for name, values in (("tools", tools), ("documents", documents)):
        if values is None:
            continue
        if not _is_list(values):
            raise InvalidOption(f"{name} is a list of objects", field=name)
        _check_objects(name, values)
    if not isinstance(template_args, Mapping | None):
        raise InvalidOption(
            f"template_args is an object of variables by name, not {type(template_args).__name__}",
            field="template_args",
        )
    for name in template_args or ():
        if name in _RESERVED:
            raise InvalidOption(
                f"template_args cannot set {name!r}, which is {_RESERVED[name]}",
                field=f"template_args.{name}",
            )


def _place(error: TemplateFailed, messages: Sequence[Message]) -> None:
    """Name the first unusual field of a message, which templates seldom expect, unless the template itself refuses."""
    if type(error.__cause__) is TemplateError:
        return
    for at, message in enumerate(messages):
        if not isinstance(message.get("role"), str):
            error.place["field"] = f"messages[{at}].role"
            return
        if not isinstance(message.get("content"), (str, list, tuple)) and not message.get("tool_calls"):
            error.place["field"] = f"messages[{at}].content"
            return


def _template(settings: Settings, name: Any, has_tools: bool) -> Template:
    """Choose by name, or as Hugging Face does."""
    if not isinstance(name, str | None):
        raise InvalidOption(f"template is the name of a template, not {type(name).__name__}", field="template")
    sources = settings.templates
    if not sources:
        raise TemplateMissing("the tokenizer has no chat template; encode a text, or give the tokenizer a template")
    names = ", ".join(sorted(sources))[:200]
    if name is not None and name not in sources:
        raise InvalidOption(f"no template is named {name[:80]!r}; there are {names}", field="template")
    if name is None:
        name = settings.template_name(has_tools=has_tools)
    if name not in sources:
        raise TemplateMissing(f"none of the tokenizer's templates is the default; choose one by name: {names}")
    return compiled(sources[name])


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
        return bare(final)
    if not isinstance(content, str) or "content" not in source:
        raise refuse
    chat[-1]["content"] = content + _CONTINUE
    return bare(content)


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
