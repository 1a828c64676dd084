"""Render a chat template: messages in, text out, with the origin of every character."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jinja2

from tokenizer_core.errors import InputError, InvalidOption, InvalidUnicode, TemplateFailed, TemplateUntrackable
from tokenizer_core.template.failures import failures
from tokenizer_core.template.meter import Budget, Meter, metered
from tokenizer_core.template.numbers import number
from tokenizer_core.template.sandbox import PlainEnvironment
from tokenizer_core.template.tracked import GENERATED, Tracked, bare, concat, runs_of, written
from tokenizer_core.template.tracking import TrackingEnvironment
from tokenizer_core.template.turn import give_way

MAX_SOURCE = 1 << 16
"""Characters: four times the longest of forty real templates. The worst of this length takes a second or two to
compile; one of half a megabyte took over fifteen, and hundreds of megabytes."""

MAX_DEPTH = 100
"""Values nested deeper than this are refused: no JSON of a chat is, and Python's stack is not endless."""

MAX_PATH = 200
"""Characters of the path of a field. A key may be as long as a request, and each of a hundred thousand texts below it
has a path of its own."""

OBJECT_SIZE = 200
"""The weight of a message or another object in characters: a template works this much even for a short one."""

COPIED_IN_A_ROW = 1024
"""Values that are copied before others may go first: one takes up to five microseconds."""


class Span(NamedTuple):
    """Characters that came from the caller.

    Attributes:
        message: the index of the message, or ``None`` for tools, documents and template arguments.
        field: the path of the field, such as ``content``, ``tools[0].function.name`` or ``template_args.date``; of one
            longer than ``MAX_PATH`` the beginning and ``...``.
        start, end: half-open, in characters of the rendered text.
    """

    message: int | None
    field: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Rendering:
    """A rendered text, the spans that the caller wrote, and the ``{% generation %}`` blocks."""

    text: str
    spans: tuple[Span, ...]
    generated: tuple[tuple[int, int], ...]


class _Place(NamedTuple):
    """A place in a caller's values; its path is written out only for a span or an error.

    Attributes:
        above: the number of the place of the object or list that holds it; 0 is none.
        part: a key or an index in there.
    """

    message: int | None
    above: int
    part: str | int


class Origins:
    """Turn a caller's values into tracked ones, and number the places that they come from."""

    def __init__(self, shared: Origins | None = None) -> None:
        """Begin afresh, or continue after the places that several chats share."""
        self._places: list[_Place] = [_Place(None, 0, "")] if shared is None else shared._places.copy()
        self._paths: dict[int, str] = {0: ""} if shared is None else shared._paths.copy()
        self.size: int = 0 if shared is None else shared.size
        self._copied = 0

    def place(self, code: int) -> tuple[int | None, str]:
        """Return the message and the field behind a code."""
        message, above, part = self._places[code >> 1]
        return message, joined_path(self._path(above), part)

    def track(self, value: Any, message: int | None, field: str) -> Any:
        """Copy a JSON value with the origin of every text and number in it.

        Raises:
            InvalidOption: the value is not JSON, or nested too deeply.
        """
        return self._track(value, _Place(message, 0, field), 0)

    def _track(self, value: Any, place: _Place, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self._invalid(f"values are nested deeper than {MAX_DEPTH} levels", place)
        self.size += 1
        self._copied += 1
        if not self._copied % COPIED_IN_A_ROW:
            give_way()
        if isinstance(value, str):
            self.size += len(value)
            self._check_unicode(value, place)
            return written(bare(value), self._number(place) * 2) if value else Tracked("")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, float) and not math.isfinite(value):
            raise self._invalid(f"{value} is not a number of JSON", place)
        if isinstance(value, (int, float)):
            untracked = int(value) if isinstance(value, int) else float(value)
            return number(untracked, self._number(place) * 2)
        if isinstance(value, Mapping):
            self.size += OBJECT_SIZE
            above, copy = self._number(place), {}
            for key, item in value.items():
                if not isinstance(key, str):
                    raise self._invalid("a key is not a string", place)
                inner = _Place(place.message, above, key)
                copy[self._track(key, inner, depth + 1)] = self._track(item, inner, depth + 1)
            return copy
        if isinstance(value, (list, tuple)):
            above = self._number(place)
            return [self._track(item, _Place(place.message, above, at), depth + 1) for at, item in enumerate(value)]
        raise self._invalid(f"a value of a chat is JSON, not {type(value).__name__}", place)

    def _check_unicode(self, text: str, place: _Place) -> None:
        if text.isascii():
            return
        try:
            text.encode()
        except UnicodeEncodeError as error:
            at = error.start
        else:
            return
        raise InvalidUnicode(
            f"a surrogate stands alone at character {at}, which no Unicode text has",
            field=self._field(place),
            span=[at, at + 1],
            unit="char",
        )

    def _number(self, place: _Place) -> int:
        """Return the number of a place; a key and its value have the same one."""
        if self._places[-1] != place:
            self._places.append(place)
        return len(self._places) - 1

    def _path(self, above: int) -> str:
        """Return the path of an object or list; all that it holds ask for it."""
        if above not in self._paths:
            place = self._places[above]
            self._paths[above] = joined_path(self._path(place.above), place.part)
        return self._paths[above]

    def _invalid(self, message: str, place: _Place) -> InvalidOption:
        return InvalidOption(message, field=self._field(place))

    def _field(self, place: _Place) -> str:
        path = joined_path(self._path(place.above), place.part)
        if place.message is None:
            return path
        return f"messages[{place.message}].{path}" if path else f"messages[{place.message}]"


def joined_path(path: str, part: str | int) -> str:
    """Append a key or an index to a path, which is cut off if it becomes too long."""
    if isinstance(part, int):
        path = f"{path}[{part}]"
    else:
        path = f"{path}.{part[: MAX_PATH + 1]}" if path else part[: MAX_PATH + 1]
    return path if len(path) <= MAX_PATH else f"{path[: MAX_PATH - 3]}..."


def plain(value: Any) -> Any:
    """Copy a tracked value without its origins."""
    if isinstance(value, str):
        return bare(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    copy: list[Any] = []
    for start in range(0, len(value), COPIED_IN_A_ROW):
        copy += [plain(item) for item in value[start : start + COPIED_IN_A_ROW]]
        give_way()
    return copy


class Shared:
    """The shared state of a request's chats: variables, which are tracked once, and the common budget.

    Args:
        origins: those of the variables.
        tracked: the variables by name.
    """

    def __init__(self, origins: Origins, tracked: Mapping[str, Any]) -> None:
        self.origins, self.tracked, self.plain = origins, tracked, plain(dict(tracked))
        self.budgets = Budget(origins.size), Budget(origins.size)

    def grow(self, size: int) -> None:
        """Allow both renderings of one more chat."""
        for budget in self.budgets:
            budget.grow(size)


class Template:
    """A compiled template; immutable, safe to share between threads."""

    def __init__(self, source: str) -> None:
        """Compile a string of Unicode.

        Raises:
            TemplateFailed: it is not a template.
        """
        if len(source) > MAX_SOURCE:
            raise TemplateFailed(f"the chat template is longer than {MAX_SOURCE} characters")
        self.source = source
        self.hash = f"sha256:{hashlib.sha256(source.encode()).hexdigest()}"
        with failures(None):
            self._plain = PlainEnvironment().from_string(source)
            self._tracking = TrackingEnvironment().from_string(source)

    def parsed(self) -> jinja2.nodes.Template:
        """Parse the source again, into the tree that a rendering walks."""
        with failures(None):
            return PlainEnvironment().parse(self.source)

    def render(self, origins: Origins, messages: list[dict[str, Any]], shared: Shared) -> Rendering:
        """Render tracked messages, and once more without origins to see that the text is the same.

        Args:
            origins: those of the messages and of what is shared.

        Raises:
            TemplateFailed, TemplateLimit, TemplateUntrackable
        """
        shared.grow(origins.size - shared.origins.size)
        tracking, checking = shared.budgets
        meter = Meter(origins.size, tracking)
        with metered(meter), failures(self._tracking):
            context = self._tracking.new_context({**shared.tracked, "messages": messages})
            text = concat(list(self._tracking.root_render_func(context)))
        again = Meter(origins.size, checking)
        again.now = meter.now
        expected = self._render_plain(again, {**shared.plain, "messages": plain(messages)})
        if expected != text:
            raise TemplateUntrackable("the chat template does to these messages what cannot be tracked exactly")
        return _rendering(text, origins)

    def _render_plain(self, meter: Meter, variables: dict[str, Any]) -> str:
        with metered(meter):
            try:
                return self._plain.render(variables)
            except InputError:
                raise
            except Exception as error:
                raise TemplateUntrackable(
                    "the chat template fails on these messages when they are not tracked"
                ) from error


def _rendering(text: str, origins: Origins) -> Rendering:
    spans: list[Span] = []
    blocks: list[tuple[int, int]] = []
    start = last = 0
    for end, code in runs_of(text):
        if code > GENERATED:
            if spans and spans[-1].end == start and last == code >> 1:
                spans[-1] = spans[-1]._replace(end=end)
            else:
                spans.append(Span(*origins.place(code), start, end))
            last = code >> 1
        if code & GENERATED:
            if blocks and blocks[-1][1] == start:
                blocks[-1] = (blocks[-1][0], end)
            else:
                blocks.append((start, end))
        start = end
    return Rendering(bare(text), tuple(spans), tuple(blocks))


@lru_cache(maxsize=64)
def compiled(source: str) -> Template:
    """Compile a template once."""
    return Template(source)
