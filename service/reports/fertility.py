"""Fertility in a report: tokens a word by text, and the mark of numbers that say nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tokenizer_core import TextCost, TextSize, Tokenizer, compare

MARK, MARKED = "*", 0.01
"""The mark behind a number, and the share of characters that become the unknown token from which it is set."""

MARK_MEANS = f"{MARK} {MARKED:.0%} of the characters or more become the unknown token, which says nothing"

TOKENS_A_WORD = "tokens a word; fewer cost less (no dot: text is unknown)"
"""The axis of the chart."""

Fertility = dict[str, dict[str, Any] | None]
"""The cost of each text, by its name; ``None`` where a tokenizer has no tokens for it."""


def fertility(tokenizers: Sequence[Tokenizer], texts: Mapping[str, str] | None = None) -> list[Fertility]:
    """Measure tokenizers on texts, by default the same two sentences in twenty languages."""
    found = compare(tokenizers, {name: [text] for name, text in (texts or {}).items()} or None)
    return [
        {name: _cost(found.sizes[name], costs[at]) for name, costs in found.costs.items()}
        for at in range(len(tokenizers))
    ]


def _cost(size: TextSize, cost: TextCost | None) -> dict[str, Any] | None:
    ratios = ("tokens", "per_byte", "per_character", "per_word", "whole_words", "unknown")
    return None if cost is None else asdict(size) | {name: getattr(cost, name) for name in ratios}


def mark(one: Mapping[str, Any]) -> str:
    """Return what stands behind a number that says nothing."""
    return MARK if one["unknown"] >= MARKED else ""
