"""A message to be, as vLLM gives it to a template, with the field of the request behind each of its texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from service.routes.compat.parts import Text
from service.schemas.fields import Object


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
