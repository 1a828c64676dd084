"""The caller of a request and its scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from service.auth.rates import UNLIMITED, Rates

Scope = Literal["encode", "train", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

LOCAL_NAME = "local"
"""The name of a caller where no keys are needed; no key may have it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """One caller: the name of a key and its scopes. What belongs to a caller belongs to the name."""

    name: str
    scopes: frozenset[Scope]
    rates: Rates = UNLIMITED

    @property
    def owner(self) -> str | None:
        """The name whose jobs this caller sees; ``None`` sees all."""
        return None if "admin" in self.scopes else self.name

    @property
    def key(self) -> str:
        """The name of the key; empty where no keys are needed."""
        return "" if self.name == LOCAL_NAME else self.name

    def may(self, need: frozenset[Scope]) -> bool:
        """Tell whether one of the scopes is enough; ``admin`` always is."""
        return "admin" in self.scopes or not need.isdisjoint(self.scopes)


LOCAL = Identity(LOCAL_NAME, frozenset(SCOPES))
"""Everybody, where no keys are needed."""
