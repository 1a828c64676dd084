"""A rendered chat: its text, who wrote which part of it, and the same chat before each of its turns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tokenizer_core._kernel import Rendering
from tokenizer_core.chat.json_list import JsonList, json_of
from tokenizer_core.chat.templates import Template
from tokenizer_core.errors import InputError, MessageNotRendered, shown

Message = Mapping[str, Any]

REASONING = ("reasoning_content", "thinking", "reasoning")
"""The names that templates read reasoning by."""

_CALL = re.compile(r"tool_calls\b((?:\[\d+\])?)")


class Span(NamedTuple):
    """Characters that came from the caller.

    Attributes:
        message: the index of the message, or ``None`` for tools, documents and template arguments.
        field: the path of the field, such as ``content``, ``tools[0].function.name`` or ``template_args.date``; of one
            longer than 200 characters the beginning and ``...``.
        start, end: half-open, in characters of the rendered text.
    """

    message: int | None
    field: str
    start: int
    end: int


@dataclass(frozen=True)
class History:
    """The messages before each turn of a chat, to be rendered again.

    Attributes:
        template, options: what the chat was rendered with.
        messages: those of the chat.
    """

    template: Template
    options: Mapping[str, Any]
    messages: JsonList

    def render(self, count: int | None, begins: bool) -> Rendering | None:
        """Render the first messages, or a plain one, with a generation prompt or without; ``None`` if that fails."""
        messages = [{"role": "user", "content": "x"}] if count is None else self.messages[:count]
        options = {**self.options, "add_generation_prompt": begins, "continue_final_message": None}
        try:
            return render_checked(self.template, json_of(messages, "messages"), **options)
        except InputError:
            return None


@dataclass(frozen=True, eq=False, repr=False)
class RenderedChat:
    """A chat as text; what is told of it is made when somebody asks.

    Attributes:
        history: the same chat, to be rendered up to one of its messages.
        given: the messages, tools, documents and template arguments, as the caller gave them, by the option's name.
        rendering: what the kernel encodes.
    """

    history: History
    given: Mapping[str, Any]
    rendering: Rendering

    @cached_property
    def text(self) -> str:
        """The text that the model is given."""
        return self.rendering.text

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The parts of the text that the caller wrote: ``(message, field, start, end)`` in characters, in order."""
        return tuple(map(Span._make, self.rendering.spans))

    @cached_property
    def generated(self) -> tuple[tuple[int, int], ...]:
        """Half-open spans of ``{% generation %}`` blocks; empty where the template has none."""
        return tuple(self.rendering.generated)

    @cached_property
    def parts(self) -> tuple[tuple[int, int, int], ...]:
        """``(message, start, end)`` of what the template wrote while it was at a message, in order."""
        return tuple(self.rendering.turns)

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The role of each message; empty where it is no text."""
        return tuple(self.rendering.roles)

    @property
    def template(self) -> str:
        """The hash of the template."""
        return self.history.template.hash

    def __repr__(self) -> str:
        return f"RenderedChat({shown(self.text)}, {len(self.text):,} characters)"

    def unused(self) -> list[str]:
        """Return the fields that left no trace: messages, their reasoning and calls, ``tools``, ``documents``."""
        said = {span.message for span in self.spans if span.message is not None and span.field != "role"}
        thought = {span.message for span in self.spans if span.field.partition("[")[0] in REASONING}
        uncalled = self._uncalled()
        shared = {span.field[: len("documents")] for span in self.spans if span.message is None}
        unused: list[str] = []
        for at, message in enumerate(self.given["messages"]):
            reasoning = next((name for name in REASONING if message.get(name)), None)
            if at not in said and _says(message):
                unused.append(f"messages[{at}]")
                continue
            if reasoning is not None and at not in thought and str(message[reasoning]).strip():
                unused.append(f"messages[{at}].{reasoning}")
            unused += (f"messages[{at}].{lost}" for lost in uncalled.get(at, ()))
        for name in ("tools", "documents"):
            if self.given[name] and not any(field.startswith(name) for field in shared):
                unused.append(name)
        return unused

    def require_all_used(self) -> None:
        """Refuse a chat of which a part left no trace.

        Reasoning may, as many templates leave it out of history, and calls of a message that says something else.

        Raises:
            MessageNotRendered
        """
        if self.rendering.writes_all:
            return
        unused = [field for field in self.unused() if "." not in field]
        if unused:
            raise MessageNotRendered(
                f"the chat template writes nothing of {unused[0]}; correct it, such as a message's role, leave it out, "
                f'or set unused to "report"{hint(self.given["messages"])}',
                field=unused[0],
            )

    def require_calls_used(self) -> None:
        """Refuse a chat with calls of tools that left no trace: a model would learn not to make them.

        Raises:
            MessageNotRendered
        """
        for at, lost in self._uncalled().items():
            field = f"messages[{at}].{lost[0]}"
            raise MessageNotRendered(
                f"the chat template writes nothing of {field}, so a model would learn to answer without the calls; "
                "take a template that writes them, or leave them out",
                field=field,
            )

    def _uncalled(self) -> dict[int, list[str]]:
        """Return the calls of tools that left no trace, by message; all calls of one as ``tool_calls``."""
        json = self.history.messages.json
        if b'"tool_calls"' not in json and b"\\u" not in json:
            # Nor with escapes.
            return {}
        called = set()
        for span in self.spans:
            if call := _CALL.match(span.field):
                # A list that is written as Python writes it is the first call's as a whole.
                called.add((span.message, "" if self.text[span.start] == "[" else call[1]))
        messages: Sequence[Message] = self.given["messages"]
        if self.history.options["continue_final_message"]:
            # The text ends within the last message, before its calls.
            messages = messages[:-1]
        lost: dict[int, list[str]] = {}
        for at, message in enumerate(messages):
            calls = message.get("tool_calls")
            if calls and (at, "") not in called:
                places = [f"[{call}]" for call in range(len(calls))] if isinstance(calls, (list, tuple)) else []
                missing = [place for place in places if (at, place) not in called]
                if len(missing) == len(places):
                    lost[at] = ["tool_calls"]
                elif missing:
                    lost[at] = [f"tool_calls{place}" for place in missing]
        return lost


def render_checked(template: Template, messages: bytes, **options: Any) -> Rendering:
    """Render messages that are checked."""
    rendering = template.engine.render(messages, now=template.now(), **options)
    assert rendering is not None
    return rendering


def hint(messages: Sequence[Message]) -> str:
    """Say what to do about the role ``developer``, and ShareGPT's form, ``{"from": "human", "value": ...}``."""
    if any(message.get("role") == "developer" for message in messages):
        return '; if the template does not know the role developer, send system, or set content_format to "auto"'
    at = next((at for at, message in enumerate(messages) if "from" in message and "role" not in message), None)
    if at is None:
        return ""
    return (
        f'; messages[{at}] has "from" and no "role": rename "from" to "role" ("human" to "user", "gpt" to "assistant") '
        'and "value" to "content"'
    )


def _says(message: Message) -> bool:
    """Tell whether a message says something beside reasoning, which many templates leave out of history."""
    if message.get("tool_calls"):
        return True
    content = message.get("content", message.get("value") if "from" in message else None)
    if isinstance(content, (list, tuple)):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return isinstance(content, str) and bool(content.rpartition("</think>")[2].strip())
