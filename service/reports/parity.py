"""The cost of each language in the report of a run with parity, and how unequal the costs are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tokenizer_core import LanguageCost


def parity(costs: Sequence[LanguageCost]) -> dict[str, Any] | None:
    """Return the languages, their Gini coefficients with and without parity, and the cost for the largest one.

    The cost of a language is its tokens a line of the parallel texts; without those, its tokens a byte of its corpus.
    """
    if not costs:
        return None
    sizes = [1 if cost.is_parallel else cost.bytes for cost in costs]
    largest = max(costs, key=lambda cost: cost.bytes)
    return {
        "languages": [asdict(cost) for cost in costs],
        "gini": gini([cost.tokens / size for cost, size in zip(costs, sizes, strict=True)]),
        "gini_without_parity": gini([cost.without_parity / size for cost, size in zip(costs, sizes, strict=True)]),
        "largest": largest.language,
        "largest_times": round(largest.tokens / largest.without_parity, 4),
    }


def gini(values: Sequence[float]) -> float:
    """Return the Gini coefficient: 0 if all are equal.

    >>> gini([1, 1]), gini([0, 1])
    (0.0, 0.5)
    """
    differences = sum(abs(one - other) for one in values for other in values)
    return round(differences / (2 * len(values) * sum(values)), 4)


def table(found: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each language."""
    has_lines = all(one["lines"] for one in found["languages"])
    unit = "tokens a line" if has_lines else "tokens"
    rows = [["language", "bytes of corpus", unit, "without parity", "times"]]
    for one in found["languages"]:
        counts = one["tokens"], one["without_parity"]
        shown = [f"{count / one['lines']:.2f}" if has_lines else f"{count:,}" for count in counts]
        rows.append([one["language"], f"{one['bytes']:,}", *shown, f"{counts[0] / counts[1]:.3f}"])
    return rows


def summary(found: Mapping[str, Any]) -> str:
    """Return a sentence about all of them."""
    return (
        f"Gini {found['gini']:.4f}, without parity {found['gini_without_parity']:.4f}; "
        f"{found['largest']} has {found['largest_times']:.3f} times the tokens"
    )
