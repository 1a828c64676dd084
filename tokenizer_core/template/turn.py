"""Take turns in rendering: templates are Python, and only one thread of Python runs at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Turn(Protocol):
    """The right to render, which a server gives a request: acquired and released around every rendering."""

    def begin(self) -> None:
        """Wait until this request may render."""

    def pause(self) -> None:
        """Let others go first if this request has had its time; called every few milliseconds at least."""

    def end(self) -> None:
        """Let the next one render."""


_TURN: ContextVar[Turn | None] = ContextVar("turn", default=None)


@contextmanager
def in_turns(turn: Turn) -> Iterator[None]:
    """Render whatever this thread renders in ``turn``."""
    token = _TURN.set(turn)
    try:
        yield
    finally:
        _TURN.reset(token)


@contextmanager
def taken() -> Iterator[Turn | None]:
    """Hold this thread's turn, if it has one, for one rendering."""
    turn = _TURN.get()
    if turn is None:
        yield None
        return
    turn.begin()
    try:
        yield turn
    finally:
        turn.end()


def current() -> Turn | None:
    """Return the turn that this thread renders in."""
    return _TURN.get()


def give_way() -> None:
    """Let others go first if this thread has had its time; called every few milliseconds of what is long."""
    turn = _TURN.get()
    if turn is not None:
        turn.pause()
