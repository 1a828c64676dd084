"""Subword regularization by its definition: the exact distribution over all segmentations of a short text."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from itertools import pairwise


def dropout_distribution(
    symbols: tuple[str, ...], ranks: Mapping[tuple[str, str], int], probability: float
) -> dict[tuple[str, ...], float]:
    """Return how probable each result of BPE-dropout is.

    Before each merge, each pair that could be merged is left out with ``probability``; the first of the others, by rank
    and place, is merged. Where all are left out, the merging ends.
    """
    ended: dict[tuple[str, ...], float] = {}
    # A merge makes a sequence shorter, so all ways into one are known before it is taken.
    waiting, reached = deque([symbols]), {symbols: 1.0}
    while waiting:
        now = waiting.popleft()
        mass = reached[now]
        pairs = [(ranks[pair], at) for at, pair in enumerate(pairwise(now)) if pair in ranks]
        for _, at in sorted(pairs):
            merged = (*now[:at], now[at] + now[at + 1], *now[at + 2 :])
            if merged not in reached:
                waiting.append(merged)
            reached[merged] = reached.get(merged, 0.0) + mass * (1 - probability)
            mass *= probability
        ended[now] = mass
    return ended


def all_ways(text: str, scores: Mapping[str, float], unknown_score: float) -> dict[tuple[str, ...], float]:
    """Return the score of every segmentation; a character that is no entry is one token with ``unknown_score``."""
    ways: list[dict[tuple[str, ...], float]] = [{(): 0.0}]
    for end in range(1, len(text) + 1):
        here: dict[tuple[str, ...], float] = {}
        for start in range(end):
            token = text[start:end]
            unknown = unknown_score if len(token) == 1 else None
            score = scores.get(token, unknown)
            if score is not None:
                here |= {(*way, token): before + score for way, before in ways[start].items()}
        ways.append(here)
    return ways[-1]


def power_distribution(scores: Mapping[tuple[str, ...], float], alpha: float) -> dict[tuple[str, ...], float]:
    """Return how probable each segmentation is whose probability to the power ``alpha`` counts."""
    best = max(scores.values())
    weights = {way: math.exp(alpha * (score - best)) for way, score in scores.items()}
    total = math.fsum(weights.values())
    return {way: weight / total for way, weight in weights.items()}
