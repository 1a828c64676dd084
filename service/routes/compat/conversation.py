"""The conversation in a request to count: messages as vLLM gives them to templates, each text with its field."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from service.errors import ServiceError
from service.registry.fingerprint import Literals
from service.registry.served import ServedTokenizer
from service.routes import chats
from service.routes.compat import system_turns
from service.routes.compat.parts import Uncountable
from service.routes.compat.tools import Tool
from service.routes.compat.turns import Turn
from service.routes.compat.variables import FIELD, Variables
from service.settings import Settings
from tokenizer_core import EncodedChat, MessageForm, RenderedChat

Folds = Literal["unwritten", "refused", "none"]

_MESSAGE = re.compile(r"messages\[(\d+)\](?:\.(\w+)(?:\[(\d+)\](?:\.function\.(name|arguments)(.*))?)?)?", re.DOTALL)
_TOOL = re.compile(r"tools\[(\d+)\]\.function\.(\w+)(.*)", re.DOTALL)


@dataclass(eq=False)
class Conversation:
    """The turns of a request, and how to say where in it something is wrong.

    Attributes:
        parameters: the name of the field that holds the schema of a tool's arguments.
        arguments: the name of the field that holds the arguments of a call.
        uncountable: refuses or notes what no template writes.
    """

    parameters: str
    arguments: str
    uncountable: Uncountable
    turns: list[Turn] = field(default_factory=list)

    def add(self, turn: Turn) -> Turn:
        """Add a turn, and return it."""
        self.turns.append(turn)
        return turn

    def encode(
        self,
        loaded: ServedTokenizer,
        settings: Settings,
        tools: Sequence[Tool],
        variables: Variables,
        *,
        continues: bool = False,
        literals: Literals = "text",
        form: MessageForm = "render",
        folds: Folds = "unwritten",
    ) -> EncodedChat:
        """Encode the prompt that a model would be given: up to its turn, or within it if that ``continues``.

        Args:
            folds: which later system messages are added to the first: those that the template does not write, where
                it must write tools and calls, too; or all if it refuses one; or none. Where there is a message of
                ``developer`` that the template does not know, vLLM's rule decides.

        Errors:
            those of chats, at the fields of the request
        """
        try:
            if folds != "none" and not self._is_decided(loaded, has_tools=bool(tools)):
                is_written = partial(chats.writes, loaded, has_tools=bool(tools), refused=folds == "refused")
                self.turns = system_turns.folded(self.turns, is_written)
            encoded = chats.encode_one(
                loaded,
                [turn.message() for turn in self.turns],
                "messages",
                settings,
                args_field=FIELD,
                tools=[tool.given for tool in tools] or None,
                add_generation_prompt=not continues,
                continue_final_message=continues,
                template_args=variables.values,
                literals=literals,
                form=form,
            )
            if folds == "unwritten":
                self._look_for_what_is_left_out(encoded.rendered, tools)
            return encoded
        except ServiceError as error:
            error.path = self._sent(error.path or "", tools, variables) or None
            raise

    def _is_decided(self, loaded: ServedTokenizer, *, has_tools: bool) -> bool:
        """Tell whether all system messages become one, as vLLM's rule for ``developer`` says."""
        settings = loaded.tokenizer.settings
        source = settings.templates.get(settings.template_name(has_tools=has_tools), "")
        is_known = '"developer"' in source or "'developer'" in source
        return not is_known and any(turn.role == "developer" for turn in self.turns)

    def _sent(self, path: str, tools: Sequence[Tool], variables: Variables) -> str:
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
            return f"{tools[int(tool[1])].place}.{self.parameters if tool[2] == 'parameters' else tool[2]}{tool[3]}"
        return variables.sent(path)

    def _look_for_what_is_left_out(self, rendered: RenderedChat, tools: Sequence[Tool]) -> None:
        """Refuse or note tools and calls of which a template that knows none of them writes nothing."""
        written = {(span.message, re.split(r"[.\[]", span.field, maxsplit=1)[0]) for span in rendered.spans}
        if (None, "tools") not in written:
            for tool in tools:
                self._leave_out("tools", "tools", tool.place)
        for at, turn in enumerate(self.turns):
            if (at, "tool_calls") not in written:
                for _, place in turn.calls:
                    self._leave_out("calls of tools", f"messages[{at}].tool_calls", place)

    def _leave_out(self, what: str, path: str, place: str) -> None:
        error = ServiceError("invalid_option", f"this tokenizer's chat template writes no {what}", path)
        self.uncountable.unless_skipped(what, place, error)
