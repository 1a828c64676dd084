"""Unigram by its definition: the best way through a text, one entry after the other."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

UNKNOWN_PENALTY = 10.0
SUM_LIMIT = np.float32(100_000)


def best_way(
    text: str, scores: Mapping[str, float], *, floats: bool, unknown_score: float | None = None
) -> list[tuple[str, bool]]:
    """Return the tokens of the way with the highest sum, and of each whether it is an entry.

    Args:
        scores: by entry.
        floats: add 32-bit floats as SentencePiece does, instead of doubles as Hugging Face.
        unknown_score: of a character that is no entry; by default that of the worst entry less a penalty.
    """
    kind = np.float32 if floats else np.float64
    longest = max(map(len, scores), default=1)
    if unknown_score is None:
        unknown_score = float(kind(min(scores.values())) - kind(UNKNOWN_PENALTY))
    best: list[tuple[np.floating, int, bool] | None] = [(kind(0), 0, True), *([None] * len(text))]
    for start in range(len(text)):
        here = best[start]
        assert here is not None
        if floats and abs(here[0]) > SUM_LIMIT:
            # The library keeps its sums small, so that they can tell ways apart.
            best[start:] = [way and (way[0] - here[0], way[1], way[2]) for way in best[start:]]
        before = best[start]
        assert before is not None
        ways = [
            (end, scores[text[start:end]], True)
            for end in range(start + 1, min(start + longest, len(text)) + 1)
            if text[start:end] in scores
        ]
        if text[start] not in scores:
            ways.append((start + 1, unknown_score, False))
        for end, score, known in ways:
            total, other = kind(score) + before[0], best[end]
            if other is None or total > other[0]:
                best[end] = (total, start, known)
    tokens, end = [], len(text)
    while end:
        way = best[end]
        assert way is not None
        tokens.append((text[way[1] : end], way[2]))
        end = way[1]
    return tokens[::-1]


def fuse_unknown(tokens: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Join unknown tokens that stand next to each other."""
    fused: list[tuple[str, bool]] = []
    for text, known in tokens:
        if not known and fused and not fused[-1][1]:
            fused[-1] = (fused[-1][0] + text, False)
        else:
            fused.append((text, known))
    return fused
