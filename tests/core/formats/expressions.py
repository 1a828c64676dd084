"""Random regular expressions: what those of every engine begin with."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

SIMPLE = 0.6


class Grammar(NamedTuple):
    """What expressions of one engine are made of; a group has a ``{}`` for what it holds."""

    atoms: tuple[str, ...]
    anchors: tuple[str, ...]
    groups: tuple[str, ...]
    quantifiers: tuple[str, ...]

    def simple(self, kind: float, chance: random.Random, inner: Callable[[], str]) -> str:
        """Make what a kind below ``SIMPLE`` is: an atom, one behind an anchor, or a group that is repeated."""
        if kind < 0.35:
            return chance.choice(self.atoms)
        if kind < 0.45:
            return chance.choice(self.anchors) + chance.choice(self.atoms)
        return chance.choice(self.groups).format(inner()) + chance.choice(self.quantifiers)
