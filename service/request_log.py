"""The log and metrics entry of one request: numbers and names of ours and what traces it, never a caller's text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

Headers = Iterable[tuple[bytes, bytes]]
"""As ASGI has them: names in lower case."""

Trace = tuple[tuple[bytes, bytes], ...]
"""Headers of a request that its answer repeats, each at most once."""

UNMATCHED = "unmatched"


Tried = Literal["not yet", "in vain", "left to a thread", "takes long"]
"""The outcome of asking the kernel on the event loop. In vain: unless it answered, the models are to. Left: it may
answer in a thread. Takes long: it did, and is to go on in a thread."""


def _never() -> bool:
    return False


@dataclass(slots=True)
class LogEntry:
    """The log entry of one request, built up while the request is handled.

    Attributes:
        route: the path as it is declared, or ``unmatched``: a path that a caller made up is never kept.
        status: of the answer; 499 if the caller went away first.
        code: of the problem, or empty.
        held_bytes: what it takes of the memory for requests, until it is answered.
        made_bytes: what of that is its answer.
        unread: whether some of the body may not have been read.
        tokens: how many ids went in or out.
        tokenizer: the hash of the tokenizer that was used, or empty.
        is_gone: tells, in any thread, whether the caller went away; it is never known of one that closes its sending
            side alone.
        key: the name of the caller's key, or empty.
        client: the address of the caller, or empty.
        trace: the headers of the request that the answer and the log repeat.
        until: when an answer comes too late, on the clock ``time.monotonic``.
        work_bytes: what it takes of the work that may be under way, until it is answered.
        started: when it began, on the clock ``time.perf_counter``.
        is_admitted: whether its key and the limits let it in.
        refused: why they did not, if its route is still to say so.
        tried: what came of asking the kernel.
        known: the kernel's answer, if it is still to be sent.
    """

    method: str
    route: str = UNMATCHED
    status: int = 499
    code: str = ""
    bytes_in: int = 0
    bytes_out: int = 0
    held_bytes: int = 0
    made_bytes: int = 0
    unread: bool = True
    tokens: int = 0
    tokenizer: str = ""
    key: str = ""
    trace: Trace = ()
    client: str = ""
    is_gone: Callable[[], bool] = _never
    until: float = inf
    work_bytes: int = 0
    started: float = 0.0
    is_admitted: bool = False
    refused: Exception | None = None
    tried: Tried = "not yet"
    known: Any = None
