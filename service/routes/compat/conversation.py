"""The conversation of a request in a dialect: messages as vLLM gives them to templates, each text with its field."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from service.errors import ServiceError
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.compat.body_objects import Text, Tool, Uncountable
from service.schemas.fields import Object
from service.state import ServerState
from tokenizer_core import EncodedChat, MessageForm, RenderedChat

FIELD = "chat_template_kwargs"

_OVERLAID = ("add_generation_prompt", "continue_final_message")
"""Variables that the request's own fields set, in vLLM also where these are left out."""

Folds = Literal["unwritten", "refused", "none"]

_MESSAGE = re.compile(r"messages\[(\d+)\](?:\.(\w+)(?:\[(\d+)\](?:\.function\.(name|arguments)(.*))?)?)?", re.DOTALL)
_TOOL = re.compile(r"tools\[(\d+)\]\.function\.(\w+)(.*)", re.DOTALL)
_SYSTEM_ROLES = ("system", "developer")


@dataclass(eq=False)
class Turn:
    """A message to be.

    Attributes:
        place: its field in the request.
        joint: what stands between its texts; without it they stay parts, for the template to join.
        calls: calls of functions, each with its field.
        answers: the id of the call that it is the result of.
    """

    role: str
    place: str
    texts: list[Text] = field(default_factory=list)
    joint: str | None = None
    thoughts: list[Text] = field(default_factory=list)
    calls: list[tuple[Object, str]] = field(default_factory=list)
    answers: str | None = None

    def call(self, id: str, name: str, arguments: Any, place: str) -> None:
        """Add the call of a function."""
        self.calls.append(({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}, place))

    def message(self) -> Object:
        """Return the message that a template is given."""
        texts = [text for text, _ in self.texts]
        if self.joint is not None:
            texts = [self.joint.join(texts)]
        message: Object = {"role": self.role, "content": [{"type": "text", "text": text} for text in texts]}
        if self.answers is not None:
            message["tool_call_id"] = self.answers
        if self.thoughts:
            message["reasoning"] = "".join(text for text, _ in self.thoughts)
        if self.calls:
            message["tool_calls"] = [call for call, _ in self.calls]
        return message

    def sent(self, name: str | None, index: int) -> str:
        """Return the field of the request that a field of the message came from."""
        places = {
            "content": [place for _, place in self.texts[: 1 if self.joint is not None else None]],
            "tool_calls": [place for _, place in self.calls],
            "reasoning": [place for _, place in self.thoughts],
        }
        if name in ("thinking", "reasoning_content"):
            name = "reasoning"
        return dict(enumerate(places.get(name or "", ()))).get(index, self.place)


class Variables:
    """The variables of one rendering, each with the field that set it.

    Args:
        effort: the request's own field ``reasoning_effort``.

    Attributes:
        values: by name.
    """

    def __init__(self, sent: Object | None, effort: str | None = None) -> None:
        self.values: Object = {name: value for name, value in (sent or {}).items() if name not in _OVERLAID}
        self._places: dict[str, str] = {}
        if effort is not None:
            self.set_effort(effort, "reasoning_effort")

    def set(self, name: str, value: Any, place: str) -> None:
        """Set a variable that another field of the request stands for; it goes before the caller's."""
        self.values[name] = value
        self._places[name] = place

    def set_effort(self, effort: str, place: str) -> None:
        """Set the effort of reasoning as vLLM does: ``none`` switches thinking off, unless the caller sets that too."""
        self.set("reasoning_effort", effort, place)
        if "enable_thinking" not in self.values:
            self.set("enable_thinking", effort != "none", place)

    def sent(self, path: str) -> str:
        """Return the field of the request behind the path of a variable."""
        name = path.removeprefix(f"{FIELD}.")
        return next((place for own, place in self._places.items() if name.startswith(own)), path)


@dataclass(eq=False)
class Conversation:
    """The turns of a request, and how to say where in it something is wrong.

    Attributes:
        parameters: the name of the field that holds the schema of a tool's arguments.
        arguments: the name of the field that holds the arguments of a call.
        uncountable: refuses or notes what no template writes.
        variables: those of the template.
    """

    parameters: str
    arguments: str
    uncountable: Uncountable
    variables: Variables
    turns: list[Turn] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)

    def add(self, turn: Turn) -> Turn:
        """Add a turn, and return it."""
        self.turns.append(turn)
        return turn

    def encode(
        self,
        state: ServerState,
        loaded: ServedTokenizer,
        model: str | None,
        *,
        continues: bool = False,
        form: MessageForm = "render",
        folds: Folds = "unwritten",
    ) -> EncodedChat:
        """Encode the prompt that a model would be given: up to its turn, or within it if that ``continues``.

        Args:
            model: what the request names.
            folds: which later system messages are added to the first: those that the template does not write, where
                it must write tools and calls, too; or all if it refuses one; or none. Where there is a message of
                ``developer`` that the template does not know, vLLM's rule decides.

        Errors:
            those of chats, at the fields of the request
        """
        has_tools = bool(self.tools)
        try:
            if folds != "none" and not self._is_decided(loaded, has_tools=has_tools):
                is_written = partial(chats.writes, loaded, has_tools=has_tools, refused=folds == "refused")
                self.turns = _folded(self.turns, is_written)
            encoded = chats.encode_one(
                loaded,
                [turn.message() for turn in self.turns],
                "messages",
                state.settings,
                args_field=FIELD,
                tools=[tool.given for tool in self.tools] or None,
                add_generation_prompt=not continues,
                continue_final_message=continues,
                template_args=self.variables.values,
                literals=state.engines.literals(model, loaded.name),
                form=form,
            )
            if folds == "unwritten":
                self._look_for_what_is_left_out(encoded.rendered)
            return encoded
        except ServiceError as error:
            error.path = self._sent(error.path or "") or None
            raise

    def _is_decided(self, loaded: ServedTokenizer, *, has_tools: bool) -> bool:
        """Tell whether all system messages become one, as vLLM's rule for ``developer`` says."""
        settings = loaded.tokenizer.settings
        source = settings.templates.get(settings.template_name(has_tools=has_tools), "")
        is_known = '"developer"' in source or "'developer'" in source
        return not is_known and any(turn.role == "developer" for turn in self.turns)

    def _sent(self, path: str) -> str:
        """Return the field of the request that a field of what was rendered came from."""
        message, tool = _MESSAGE.match(path), _TOOL.fullmatch(path)
        if message is not None:
            place = self.turns[int(message[1])].sent(message[2], int(message[3] or 0))
            if message[4] == "name":
                return f"{place}.name"
            # Arguments that are JSON in a string have no fields of their own.
            within = message[5] if self.arguments == "input" else ""
            return f"{place}.{self.arguments}{within}" if message[4] else place
        if tool is not None:
            return (
                f"{self.tools[int(tool[1])].place}.{self.parameters if tool[2] == 'parameters' else tool[2]}{tool[3]}"
            )
        return self.variables.sent(path)

    def _look_for_what_is_left_out(self, rendered: RenderedChat) -> None:
        """Refuse or note tools and calls of which a template that knows none of them writes nothing."""
        lost = rendered.unused()
        if "tools" in lost:
            for tool in self.tools:
                self._leave_out("tools", "tools", tool.place)
        for at, turn in enumerate(self.turns):
            message = f"messages[{at}]"
            for call, (_, place) in enumerate(turn.calls):
                path = f"{message}.tool_calls[{call}]"
                if not {message, f"{message}.tool_calls", path}.isdisjoint(lost):
                    self._leave_out("calls of tools", path, place)

    def _leave_out(self, what: str, path: str, place: str) -> None:
        error = ServiceError("invalid_option", f"this tokenizer's chat template writes no {what}", path)
        self.uncountable.unless_skipped(what, place, error)


def _folded(turns: Sequence[Turn], writes: Callable[[Sequence[Object]], bool]) -> list[Turn]:
    """Return turns of which a template writes every system message.

    Many templates refuse a second one, and some leave it out without a word.

    Args:
        writes: whether the template takes some messages and writes each.
    """
    leading = turns[0] if turns and turns[0].role in _SYSTEM_ROLES else None
    kept: list[Turn] = []
    moved: list[Turn] = []
    verdicts: dict[tuple[str, str], bool] = {}
    for turn in turns:
        if turn is leading or turn.role not in _SYSTEM_ROLES:
            kept.append(turn)
            continue
        shape = turn.role, next((each.role for each in reversed(kept) if each.role not in _SYSTEM_ROLES), "")
        if shape not in verdicts:
            verdicts[shape] = writes(_example(leading, *shape))
        (kept if verdicts[shape] else moved).append(turn)
    if not moved:
        return kept
    texts = [text for turn in moved for text in turn.texts]
    if leading is None:
        return [replace(moved[0], texts=texts, joint="\n" if moved[0].joint is None else moved[0].joint), *kept]
    # One text: a template may read only the first part of a system message.
    joint = "\n" if leading.joint is None else leading.joint
    return [replace(leading, texts=[*leading.texts, *texts], joint=joint), *kept[1:]]


def _example(leading: Turn | None, role: str, before: str) -> list[Object]:
    """Return the smallest chat with a message of ``role`` behind one of the role ``before``, if there is any.

    vLLM asks once, for one behind a user's; templates that want turns to alternate take it there and nowhere else.
    """
    roles = [] if leading is None else [leading.role]
    roles += {"": [], "user": ["user"]}.get(before, ["user", "assistant"])
    return [{"role": each, "content": f"probe {at}"} for at, each in enumerate((*roles, role, "user"))]
