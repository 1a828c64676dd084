"""Render messages by a chat template, with the author of every character."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypedDict

from tokenizer_core._kernel import chat_json
from tokenizer_core.arguments import check_choice, check_flag, check_flag_or_name
from tokenizer_core.chat.content_parts import check_parts, present, refuse_media
from tokenizer_core.chat.json_list import JsonList, json_of
from tokenizer_core.chat.rendered import History, Message, RenderedChat, hint, render_checked
from tokenizer_core.chat.templates import (
    FUNCTIONS,
    ROLES,
    ContentFormat,
    MessageForm,
    Template,
    compiled,
    special_tokens,
)
from tokenizer_core.config import Settings
from tokenizer_core.errors import (
    InputError,
    InvalidOption,
    InvalidUnicode,
    TemplateFailed,
    TemplateLimit,
    TemplateMissing,
)
from tokenizer_core.nearest import did_you_mean

RESERVED = {
    **dict.fromkeys(
        ("messages", "tools", "documents", "add_generation_prompt", "continue_final_message"),
        "an option of its own; set that",
    ),
    **dict.fromkeys(("chat_template", *ROLES), "the tokenizer's"),
    **dict.fromkeys(FUNCTIONS, "a function of all templates; choose another name"),
}
"""Names that ``template_args`` cannot set, and their meaning."""


class StepsSpent(Exception):
    """A rendering was to take few steps and needs more."""


class NotPlain(Exception):
    """A chat that nobody has checked is of no usual form."""


_MOST: ContextVar[int | None] = ContextVar("most", default=None)


@contextmanager
def steps_bounded(most: int) -> Iterator[None]:
    """Let every rendering in here take so many steps at most: some five take a nanosecond.

    So a server finds out at once which chats are rendered better in a thread of their own.
    """
    token = _MOST.set(most)
    try:
        yield
    finally:
        _MOST.reset(token)


class RenderingOptions(TypedDict, total=False):
    """The options of ``Tokenizer.render_chat``."""

    tools: Sequence[Mapping[str, Any]] | None
    documents: Sequence[Mapping[str, Any]] | None
    add_generation_prompt: bool
    continue_final_message: bool | str
    template_args: Mapping[str, Any] | None
    template: str | None
    content_format: ContentFormat
    form: MessageForm


def check_options(method: str, given: Iterable[str], own: Sequence[str] = ()) -> None:
    """Refuse what is neither an option of a rendering nor one of a method's own, as Python does.

    Args:
        method: the one that the caller called.

    Raises:
        TypeError: with the nearest option, or the method that takes it.
    """
    known = (*own, *RenderingOptions.__annotations__)
    for name in given:
        if name not in known:
            of_labels = "; labels() of the encoded chat takes it" if name in ("train_on", "reasoning") else ""
            way = of_labels or did_you_mean(name, known)
            raise TypeError(f"{method}() got an unexpected keyword argument {name!r}{way}")


class ChatRenderer:
    """Render the chats of one request, one after the other; see ``Tokenizer.chat_renderer``."""

    def __init__(
        self,
        settings: Settings,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        template_args: Mapping[str, Any] | None = None,
        template: str | None = None,
        content_format: ContentFormat = "sent",
        form: MessageForm = "sent",
    ) -> None:
        check_choice(content_format, ContentFormat, "content_format")
        check_choice(form, MessageForm, "form")
        check_flag(add_generation_prompt, "add_generation_prompt")
        check_flag_or_name(continue_final_message, "continue_final_message")
        if continue_final_message and add_generation_prompt:
            raise InvalidOption(
                "continue_final_message goes on with the last message and add_generation_prompt begins another; "
                "choose one",
                field="continue_final_message",
            )
        _check_shared(tools, documents, template_args)
        self._template = template_of(settings, template, tools is not None)
        self._options: dict[str, Any] = {
            "specials": list(special_tokens(settings).items()),
            "arguments": chat_json(dict(template_args), "template_args") if template_args else None,
            "tools": None if tools is None else json_of(tools, "tools"),
            "documents": None if documents is None else json_of(documents, "documents"),
            "add_generation_prompt": add_generation_prompt,
            "continue_final_message": "content" if continue_final_message is True else continue_final_message or None,
            "content_format": content_format,
            "form": form,
        }
        self._given = {"tools": tools, "documents": documents, "template_args": template_args}
        self._before = 0, 0

    def render(self, messages: Sequence[Message]) -> RenderedChat:
        """Render one more chat; see ``Tokenizer.render_chat``.

        Raises:
            StepsSpent: within ``steps_bounded``; the same rendering without it may well succeed.
            NotPlain: messages that are JSON have to be checked, and given as values in the form of vLLM's.
        """
        is_native = self._options["form"] == "sent"
        if is_native or isinstance(messages, JsonList):
            written = _written(messages)
            rendered = None if written is None else self._render(messages, written, only_plain=True)
            if rendered is not None:
                return rendered
            if not is_native:
                raise NotPlain
        _check_messages(messages)
        kept = [present(message) for message in messages]
        written = JsonList(chat_json(kept, "messages"))
        if is_native:
            check_parts(kept, self._template.engine, self._template.source)
        rendered = self._render(messages, written, only_plain=False)
        assert rendered is not None
        return rendered

    def _render(self, messages: Sequence[Message], written: JsonList, *, only_plain: bool) -> RenderedChat | None:
        most, template = _MOST.get(), self._template
        try:
            rendering = template.engine.render(
                written.json,
                now=template.now(),
                before=self._before,
                most=most,
                only_plain=only_plain,
                **self._options,
            )
        except TemplateLimit as error:
            if most is None:
                raise
            raise StepsSpent from error
        except TemplateFailed as error:
            error.message += hint(messages)
            error.args = (error.message,)
            raise
        if rendering is None:
            return None
        self._before = rendering.after
        return RenderedChat(History(template, self._options, written), {"messages": messages, **self._given}, rendering)


def _written(messages: Any) -> JsonList | None:
    """Return messages as JSON, unless they have to be checked first."""
    try:
        return messages if isinstance(messages, JsonList) else JsonList(chat_json(list(messages), "messages"))
    except (InvalidOption, InvalidUnicode, TypeError):
        return None


def writes_every_message(
    settings: Settings, messages: Sequence[Message], *, has_tools: bool = False, takes: bool = False
) -> bool:
    """Tell whether the template that is chosen by default takes messages, as vLLM gives them, and writes each.

    For a few small chats, whose answers are kept: content is a string that no template writes by itself.

    Raises:
        TemplateMissing
    """
    template = template_of(settings, None, has_tools)
    specials = [(name, f"<{name.removesuffix('_token')}>") for name in ROLES]
    try:
        written = json_of(messages, "messages")
        text = render_checked(template, written, specials=specials, content_format="auto", form="render").text
    except InputError:
        return False
    return takes or all(message["content"] in text for message in messages)


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
        if values is None or isinstance(values, JsonList):
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
        if name in RESERVED:
            raise InvalidOption(
                f"template_args cannot set {name!r}, which is {RESERVED[name]}",
                field=f"template_args.{name}",
            )


def template_of(settings: Settings, name: Any, has_tools: bool) -> Template:
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
