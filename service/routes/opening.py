"""Wait until a tokenizer that a job trained, or that came since, is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from time import monotonic
from typing import TypeVar

from service.admission.limits import Limits
from service.admission.threads import saturated
from service.errors import ServiceError
from service.registry.directory import WAITS_SINCE
from service.registry.registry import Unopened

T = TypeVar("T")
_OPENINGS = 8
"""Steps until a tokenizer is there: a change to follow, a list of names to make, the opening, and each again."""


async def when_opened(limits: Limits, work: Callable[[], Awaitable[T]]) -> T:
    """Do work; if it needs a trained tokenizer that is not open, open that in a thread, once for all, and try again.

    Errors:
        ``tokenizer_not_found``: it was in none of several states that were taken up one after another.
        ``saturated``: so many others are wanted at once that this one never stays open.
    """
    found: ServiceError | None = None
    waits = WAITS_SINCE.set(inf)
    try:
        for _ in range(_OPENINGS):
            try:
                return await work()
            except Unopened as unopened:
                found = unopened.missing
                WAITS_SINCE.set(min(WAITS_SINCE.get(), monotonic()))
                await limits.once(unopened.reference, unopened.open)
    finally:
        WAITS_SINCE.reset(waits)
    if found is not None:
        raise found
    raise saturated("more trained tokenizers are wanted at once than stay open")
