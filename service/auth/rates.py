"""Limits of keys: so many requests and so many tokens a second, each by a token bucket.

A bucket holds what a second gives, so that a quiet caller may send that much at once. What a request costs in tokens is
known when it is answered: it is admitted while anything is left, and may leave a debt that time pays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from service.errors import ServiceError

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """The requests and tokens that callers of one name may ask for in a second; ``None`` is as many as they like."""

    requests: float | None = None
    tokens: float | None = None

    @property
    def are_limited(self) -> bool:
        """True if there is any limit."""
        return self.requests is not None or self.tokens is not None


UNLIMITED = Rates()


class Bucket:
    """A token bucket.

    Args:
        rate: what comes into it in a second; it holds as much, or one.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self.rate, self._clock = rate, clock
        self.most = max(rate, 1.0)
        self._level, self._at = self.most, clock()

    def level(self) -> float:
        """Return what is in it now; less than 0 is a debt."""
        now = self._clock()
        self._level, self._at = min(self.most, self._level + (now - self._at) * self.rate), now
        return self._level

    def spend(self, amount: float) -> None:
        """Take something out of it."""
        self._level = self.level() - amount


class Meter:
    """The buckets of one name in one of several processes, each of which gives its share."""

    def __init__(self, rates: Rates, processes: int, clock: Callable[[], float] = monotonic) -> None:
        self.rates = rates
        self._buckets = {
            kind: (Bucket(rate / processes, clock), least)
            for kind, rate, least in (("requests", rates.requests, 1.0), ("tokens", rates.tokens, 0.0))
            if rate is not None
        }

    def has_room(self) -> bool:
        """Tell whether a request would be admitted."""
        return all(bucket.level() >= least and bucket.level() > 0 for bucket, least in self._buckets.values())

    def admit(self) -> None:
        """Count a request.

        Errors:
            ``rate_limited``
        """
        for kind, (bucket, least) in self._buckets.items():
            short = max(least, 1e-9) - bucket.level()
            if short > 0:
                seconds = max(1, math.ceil(short / bucket.rate))
                raise ServiceError(
                    "rate_limited",
                    f"this key has no {kind} left; try again in {seconds} seconds",
                    headers=((b"retry-after", b"%d" % seconds), *self.headers()),
                )
        if "requests" in self._buckets:
            self._buckets["requests"][0].spend(1)

    def spend(self, tokens: int) -> None:
        """Count the tokens of an answer."""
        if "tokens" in self._buckets:
            self._buckets["tokens"][0].spend(tokens)

    def headers(self) -> Headers:
        """Say what is left, by the names that OpenAI's API gave these headers."""
        found: list[tuple[bytes, bytes]] = []
        for kind, (bucket, _) in self._buckets.items():
            level, end = bucket.level(), kind.encode("ascii")
            found += (
                (b"x-ratelimit-limit-" + end, b"%d" % bucket.most),
                (b"x-ratelimit-remaining-" + end, b"%d" % max(0, math.floor(level))),
                (b"x-ratelimit-reset-" + end, b"%.3fs" % ((bucket.most - level) / bucket.rate)),
            )
        return tuple(found)
