"""The port of what does the calls of a run.

A call is a pure function with names in: it reads files, and puts what it makes into place under a name that depends on
nothing but these. So a call can be made twice, or at two places at once, and nobody has to know. A marker, which is
there when a call is done, is the only truth; what an engine is told of it may be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Attributes:
        name: for whoever asked for it.
        is_done: looks for the marker. A cluster takes it to its hosts, with the function and the arguments.
    """

    name: str
    function: Callable[..., object]
    arguments: tuple[Any, ...]
    is_done: Callable[[], bool]


class Engine(Protocol):
    """Does calls."""

    def run(self, calls: Iterable[Call], pause: Callable[[], object]) -> Iterator[Call]:
        """Do calls in any order, and return each when it is done.

        Args:
            calls: taken one by one as there is room.
            pause: called several times a second; what it raises ends the run, as does the error of a call.
        """


class LocalEngine:
    """Does calls one after the other in this process."""

    def run(self, calls: Iterable[Call], pause: Callable[[], object]) -> Iterator[Call]:
        """As ``Engine.run``; a call pauses by itself."""
        for call in calls:
            call.function(*call.arguments)
            yield call
            pause()
