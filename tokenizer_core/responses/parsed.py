"""A parsed answer: the message, where each part of it stands, and whether it renders back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from tokenizer_core.chat.rendered import RenderedChat
from tokenizer_core.errors import InputError


class Part(NamedTuple):
    """A part of the output; the parts tile it.

    Attributes:
        field: the field of the message, or ``None`` for delimiters and for text that no field takes.
        start, end: half-open, in characters of the output.
        first_id, end_id: half-open, in its ids; ``None`` where the output was text.
    """

    field: str | None
    start: int
    end: int
    first_id: int | None
    end_id: int | None


class Malformed(NamedTuple):
    """A part of the output that is not as the template says.

    Attributes:
        reason: such as ``invalid_json``, ``unclaimed`` (no field takes it) or ``overwritten`` (the field has another
            value from a later part).
        start, end: half-open, in characters of the output.
    """

    reason: str
    start: int
    end: int


class Difference(NamedTuple):
    """The first place where the message, rendered, is another text than the prompt and the output.

    Attributes:
        at: in characters of the output; below 0 in the prompt.
        written: what stands there.
        rendered: what the chat template writes, or why it fails.
    """

    at: int
    written: str
    rendered: str


@dataclass(frozen=True, eq=False, repr=False)
class Written:
    """What a model wrote, and what it continues.

    Attributes:
        prompt: the text before.
        text: the output.
        texts: the text that each id of the output added; ``None`` where the output was text.
        render: renders a message after those of the prompt; ``None`` without messages.
        finish_reason: why the engine stopped, if that is known.
    """

    prompt: str
    text: str
    texts: Callable[[], list[str]] | None
    render: Callable[[Mapping[str, Any]], RenderedChat] | None
    finish_reason: str | None


class ParsedChat:
    """A message, and what is known of the text that it was read from.

    Attributes:
        message: ``role``, and the fields of the response template, such as ``content``, ``reasoning_content`` and
            ``tool_calls``.
        arguments: of each call, as the model wrote them.
        unfinished: the field whose end is missing, or that was cut off by the length; ``None`` if none is.
        malformed: the parts of the output that are not as the template says.
    """

    def __init__(self, found: Mapping[str, Any], written: Written) -> None:
        self._written, self._places = written, found["parts"]
        self.message: dict[str, Any] = found["message"]
        self.arguments: list[str] = found["arguments"]
        is_cut = written.finish_reason == "length"
        self.unfinished: str | None = found["open"] if is_cut else found["unfinished"]
        self.malformed = tuple(map(Malformed._make, found["malformed"]))

    def __repr__(self) -> str:
        return f"ParsedChat({self.message!r})"

    @property
    def text(self) -> str:
        """The output as text."""
        return self._written.text

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the output, in order."""
        if self._written.texts is None:
            return tuple(Part(field, start, end, None, None) for field, start, end in self._places)
        ends = list(accumulate(map(len, self._written.texts())))

        def id_at(place: int) -> int:
            # An id that ends no character belongs to what comes behind it.
            return place and (len(ends) if place == len(self.text) else bisect_left(ends, place) + 1)

        return tuple(Part(field, start, end, id_at(start), id_at(end)) for field, start, end in self._places)

    @property
    def exact(self) -> bool | None:
        """Whether the message, rendered after the messages of the prompt, is the prompt and the output again.

        What the chat template writes to end the turn may be missing in the output. ``None`` without messages.
        """
        return None if self._written.render is None else self.difference is None

    @cached_property
    def difference(self) -> Difference | None:
        """The first difference, if the message is not ``exact``."""
        render, prompt = self._written.render, self._written.prompt
        if render is None:
            return None
        whole = prompt + self.text
        try:
            rendered = render({"content": "", **self.message})
        except InputError as error:
            return Difference(0, self.text[:_SHOWN], str(error))
        again = rendered.text
        if again.startswith(whole) and all(span.end <= len(whole) for span in rendered.spans[-1:]):
            return None
        same = len(prompt) if again.startswith(prompt) else 0
        pairs = enumerate(zip(whole[same:], again[same:], strict=False), same)
        at = next((at for at, (one, other) in pairs if one != other), min(len(whole), len(again)))
        return Difference(at - len(prompt), whole[at : at + _SHOWN], again[at : at + _SHOWN])


_SHOWN = 40
"""Characters of a difference that are shown."""
