"""Turns of the assistant with marked values, as a chat template writes them, with the author of each part."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokenizer_core._kernel import Rendering, chat_json
from tokenizer_core.chat.rendered import REASONING, Message, render_checked
from tokenizer_core.chat.templates import FUNCTIONS, Template
from tokenizer_core.errors import InputError

Specials = Mapping[str, str]
"""The literals of special tokens, by the names that templates read them by."""

Options = tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]
"""Tools, and further arguments of the template."""

NAMES = "first_tool", "other_tool"
VALUES = "Red", "Green"
"""What the arguments of marked calls are, for the keys of ``KEYS``."""
KEYS = "colour", "shade"
SAID, THOUGHT, ASKED, ANSWERED = "Saying.", "Thinking.", "Asking?", "Answering."

KEY = "\0"
_STEPS = 200_000
"""The most steps of a rendering, some ten times what real templates take: there are hundreds."""
_LONG = 60
"""More characters than end a turn."""

_THINKING = {"enable_thinking": (True, False), "thinking": (True, False), "thinking_mode": ("enabled", "disabled")}
"""Variables by which templates let a model think, and their values."""

_SPAN = re.compile(r"tool_calls\[(\d+)\]\.(?:function\.)?(id|name|arguments)(?:\.(.*))?", re.DOTALL)
_TOKEN = re.compile(r"<[^<>]*>|\[/?[A-Z_]+\]|\w+|\s|[^\w\s]")


def call(at: int, name: str, arguments: Mapping[str, Any], form: type = dict) -> dict[str, Any]:
    """Return a call; its id is one that Mistral's templates take."""
    given = arguments if form is dict else chat_json(dict(arguments), "arguments").decode()
    return {"id": f"callid00{at}", "type": "function", "function": {"name": name, "arguments": given}}


def tool(name: str, types: Mapping[str, str]) -> dict[str, Any]:
    """Return a tool whose parameters have these types."""
    properties = {key: {"type": kind, "description": "One."} for key, kind in types.items()}
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": {"name": name, "description": "Do.", "parameters": parameters}}


TOOLS = tuple(tool(name, dict.fromkeys(KEYS, "string")) for name in NAMES)


class Slot(NamedTuple):
    """Characters of a turn that a field wrote.

    Attributes:
        field: ``content``, ``reasoning_content``, or the number of a call with ``id``, ``name``, ``arguments``, ``key``
            or ``value``, such as ``0.name``.
    """

    field: str
    start: int
    end: int


@dataclass(frozen=True)
class Turn:
    """A turn of the assistant.

    Attributes:
        history, options: the number of the history that it follows, and how that is rendered.
        text: what is written behind the last text of the messages before it.
        slots: what the turn's message wrote of that.
        prompt: what stands there instead if the assistant's turn only begins.
    """

    message: Message
    history: int
    options: Options
    text: str
    slots: tuple[Slot, ...]
    prompt: str

    def find(self, field: str) -> list[Slot]:
        """Return the slots of a field, in order."""
        return [slot for slot in self.slots if slot.field == field]

    def literal(self, start: int, end: int | None = None) -> str:
        """Return what the template wrote from one place to another, with ``KEY`` for each key of arguments."""
        written, end = "", len(self.text) if end is None else end
        for slot in self.slots:
            if slot.field.endswith(".key") and start <= slot.start < end:
                written, start = written + self.text[start : slot.start] + KEY, slot.end
        return written + self.text[start:end]

    def written(self, field: str) -> str:
        """Return what a field wrote, all together."""
        return "".join(self.text[slot.start : slot.end] for slot in self.find(field))


class Prober:
    """Renders turns of the assistant behind two histories: a user's question, and the result of a tool.

    Attributes:
        arguments: the form of calls' arguments: an object, or its JSON.
        thinking: the arguments of the template by which a model thinks or does not.
        failure: why the template failed last; many fail on some of the turns.
    """

    def __init__(self, template: Template, specials: Specials) -> None:
        self.template, self.specials = template, specials
        self.arguments: type = dict
        self.thinking: list[dict[str, Any]] = [{}] + [
            {name: value} for name, values in _THINKING.items() if name in template.source for value in values
        ]
        given = {"messages", "tools", "add_generation_prompt", "documents", "loop", *FUNCTIONS, *specials}
        self._needed = {name: "x" for name in template.engine.needs if name not in given}
        self._prompts: dict[Any, str | None] = {}
        self.failure: str | None = None

    def turns(self, message: Message, tools: Sequence[Mapping[str, Any]] = TOOLS) -> Iterator[Turn]:
        """Write a message behind each history, with thinking on and off, with tools and without."""
        for at, arguments, each in itertools.product(range(2), self.thinking, (tools, ())):
            if turn := self.turn({"role": "assistant", **message}, at, (each, arguments)):
                yield turn

    def beside(self, calls: list[dict[str, Any]]) -> Iterator[Turn]:
        """Write calls alone and beside content, with reasoning and without."""
        for content, thought in itertools.product((SAID, ""), ({}, {"reasoning_content": THOUGHT})):
            yield from self.turns({"content": content, **thought, **({"tool_calls": calls} if calls else {})})

    def called(self) -> list[Turn]:
        """Return turns with two calls, or with one where the template takes no two; chooses the form of arguments."""
        for self.arguments, count in itertools.product((dict, str), (2, 1)):
            given = dict(zip(KEYS, VALUES, strict=True))
            calls = [call(at, NAMES[at], given, self.arguments) for at in range(count)]
            found = [turn for turn in self.beside(calls) if turn.find("0.name")]
            if found and all(turn.find(f"{count - 1}.name") for turn in found):
                return found
        self.arguments = dict
        return []

    def single(self) -> list[Turn | None]:
        """Return turns with one call: without arguments, with a number, with a text that has marks."""
        found: list[Turn | None] = []
        for given in ({}, {KEYS[0]: 7}, {KEYS[0]: "<a>\n&"}):
            turns = self.turns({"content": "", "tool_calls": [call(0, NAMES[0], given, self.arguments)]})
            found.append(next((turn for turn in turns if turn.find("0.name")), None))
        return found

    def _history(self, at: int) -> list[Message]:
        asked = {"role": "user", "content": ASKED}
        called = [call(0, NAMES[0], {KEYS[0]: VALUES[0]}, self.arguments)]
        answer = {"role": "tool", "name": NAMES[0], "tool_call_id": called[0]["id"], "content": ANSWERED}
        return [asked, {"role": "assistant", "content": "", "tool_calls": called}, answer] if at else [asked]

    def behind(self, content: str) -> set[str]:
        """Return what the template writes between an answer and the next question."""
        ends = set()
        messages = [*self._history(0), {"role": "assistant", "content": content}, *self._history(0)]
        for arguments in self.thinking:
            if chat := self._render(messages, ([], arguments), begins=False):
                said = [end for at, name, _, end in chat.spans if at == 1 and name.startswith("content")]
                after = [start for at, _, start, _ in chat.spans if at == 2]
                if said and after and said[-1] <= after[0]:
                    ends.add(chat.text[said[-1] : after[0]])
        return ends

    def kept(self, content: str) -> set[str]:
        """Return what a template writes of an answer's content, the last one and an older one."""
        message = {"role": "assistant", "content": content}
        written = set()
        for messages in ([*self._history(0), message], [*self._history(0), message, *self._history(0)]):
            if chat := self._render(messages, ([], {}), begins=False):
                written |= {chat.text[start:end] for at, name, start, end in chat.spans if at == 1 and name != "role"}
        return written

    def turn(self, message: Message, number: int, options: Options) -> Turn | None:
        """Write one turn; ``None`` if the template fails on it."""
        history = self._history(number)
        chat = self._render([*history, message], options, begins=False)
        prompt = self._prompt(number, options)
        if chat is None or prompt is None or (number and ANSWERED not in chat.text):
            return None
        text, spans = chat.text, chat.spans
        own = [
            Slot(name, start, end)
            for at, path, start, end in spans
            if at == len(history) and (name := _slot(path, text[start:end], message))
        ]
        begin = own[0].start if own else len(text)
        cut = max((end for at, _, _, end in spans if at != len(history) and end <= begin), default=0)
        said = own[-1].end if own else cut
        # Some templates begin one more turn, or say what is to be done in it.
        if len(text) - said > _LONG and (
            more := self._render([*history, message, *history[:1]], options, begins=False)
        ):
            shared = shared_start(text[cut:], more.text[cut:])
            text = text[: cut + len(shared)] if cut + len(shared) > said else text
        slots = tuple(Slot(name, start - cut, end - cut) for name, start, end in own)
        return Turn(message, number, options, text[cut:], slots, prompt)

    def _prompt(self, number: int, options: Options) -> str | None:
        """Return what a generation prompt has behind the last text of a history, which is the same for all tools."""
        key = number, bool(options[0]), repr(options[1]), self.arguments
        if key not in self._prompts:
            begun = self._render(self._history(number), options, begins=True)
            self._prompts[key] = begun.text[max((end for *_, end in begun.spans), default=0) :] if begun else None
        return self._prompts[key]

    def _render(self, messages: list[Message], options: Options, *, begins: bool) -> Rendering | None:
        tools, arguments = options
        for more in ({}, self._needed) if self._needed else ({},):
            try:
                return render_checked(
                    self.template,
                    chat_json(messages, "messages"),
                    specials=list(self.specials.items()),
                    tools=chat_json(list(tools), "tools") if tools else None,
                    arguments=chat_json({**more, **arguments}, "template_args"),
                    add_generation_prompt=begins,
                    content_format="auto",
                    most=_STEPS,
                )
            except InputError as error:
                self.failure = error.message
        return None


def _slot(path: str, text: str, message: Message) -> str | None:
    """Return the field of a slot; ``None`` for what a template may write of every message, such as its role."""
    if path.partition("[")[0] == "content":
        return "content"
    if path in REASONING:
        return "reasoning_content"
    if not (found := _SPAN.fullmatch(path)):
        return None
    at, name, key = found.groups()
    called = message["tool_calls"][int(at)]
    if key is not None:
        return f"{at}.key" if text == key else f"{at}.value"
    if name == "arguments":
        return f"{at}.arguments" if text not in ("arguments", "") else None
    return f"{at}.{name}" if text == (called["id"] if name == "id" else called["function"]["name"]) else None


def tokens(text: str) -> list[str]:
    """Split a literal where two literals may part: marks, words, single signs."""
    return _TOKEN.findall(text)


def shared_start(first: str, *others: str) -> str:
    """Return the tokens with which all texts begin."""
    return "".join(_shared([tokens(each) for each in (first, *others)]))


def shared_end(first: str, *others: str) -> str:
    """Return the tokens with which all texts end."""
    return "".join(reversed(_shared([tokens(each)[::-1] for each in (first, *others)])))


def _shared(split: list[list[str]]) -> list[str]:
    alike = itertools.takewhile(lambda each: len(set(each)) == 1, zip(*split, strict=False))
    return [each[0] for each in alike]
