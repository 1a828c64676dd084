"""The pauses between the attempts of a client."""

from __future__ import annotations

import random

import httpx

from service.client.errors import Saturated, from_answer, retry_after

FIRST_PAUSE = 0.5
MAX_PAUSE = 30.0
"""Seconds: a service that asks for a longer pause is not asked again."""

_SPREAD = 0.25
"""Callers who were turned away together come back spread over this part of the pause, not all at once."""


def pause_after(answer: httpx.Response, attempt: int, tries: int) -> float | None:
    """Return the seconds to wait before a request is sent again, or ``None`` if the answer is final."""
    if answer.status_code not in (429, 503) or attempt >= tries:
        return None
    error = from_answer(answer)
    # A full queue of jobs stays full for longer than anyone waits.
    if not isinstance(error, Saturated) or (answer.status_code == 429 and error.code != "rate_limited"):
        return None
    seconds = retry_after(answer)
    if seconds is None:
        seconds = growing_pause(attempt, MAX_PAUSE)
    if seconds > MAX_PAUSE:
        return None
    return seconds * random.uniform(1, 1 + _SPREAD)  # noqa: S311 - no secret


def growing_pause(failures: int, most: float) -> float:
    """Return the seconds to wait after so many failures in a row: twice as long after each, up to ``most``."""
    # There is no number for 2.0 ** 1024.
    return min(FIRST_PAUSE * 2.0 ** min(max(failures - 1, 0), 60), most)
