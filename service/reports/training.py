"""The report of a training run as plain values, and its charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from service.reports import chart
from service.reports.advice import RARE, Naming, advice, flag
from service.reports.fertility import TOKENS_A_WORD, Fertility, mark
from service.reports.parity import parity
from tokenizer_core import Tokenizer, TrainingReport

POINTS = 400
"""The most points of a plot."""


def document(
    tokenizer: Tokenizer,
    report: TrainingReport,
    seconds: Mapping[str, float],
    measured: Sequence[Fertility],
    against: Tokenizer | None = None,
    named: Naming = flag,
) -> dict[str, Any]:
    """Return everything that is reported, as plain JSON values.

    Args:
        seconds: by phase.
        measured: the fertility, and that of ``against``.
        named: how the advice names settings.
    """
    found: dict[str, Any] = {
        "hash": tokenizer.hash,
        "vocab_size": tokenizer.vocab_size,
        "asked_for": report.wanted,
        "characters": sum(len(text) == 1 for text, _ in tokenizer.parts.vocabulary.token_texts()),
        "learned": {
            "tokens": report.tokens,
            "merges": report.merges,
            "rare": sum(count < RARE for count in report.frequencies),
        },
        "sample": None if report.sample is None else asdict(report.sample),
        "special_tokens": tokenizer.special_tokens,
        "provenance": dict(tokenizer.provenance),
        "longest_piece": report.longest_piece,
        "skipped": {"lines": report.skipped, "first": list(report.first_skipped)},
        "longest_tokens": list(report.longest_tokens),
        "seconds": {phase: round(value, 3) for phase, value in seconds.items()},
        "fertility": measured[0],
        "against": None if against is None else {"name": against.name, "hash": against.hash, "fertility": measured[1]},
        "frequencies": [list(point) for point in thinned(list(enumerate(report.frequencies, 1)))],
        "timeline": [list(point) for point in thinned(report.timeline)],
        "parity": parity(report.languages),
        "curve": [list(point) for point in thinned(report.curve)],
    }
    return found | {"advice": advice(found, named)}


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep so many points that a plot is not seen to miss any, closer together at the beginning; the last is kept."""
    if len(points) <= POINTS:
        return list(points)
    factor = len(points) ** (1 / (POINTS - 1))
    indexes = sorted({min(len(points), round(factor**step)) - 1 for step in range(POINTS)} | {len(points) - 1})
    return [points[index] for index in indexes]


def charts(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the charts of a report as SVG, by their names."""
    found: dict[str, str] = {}
    frequencies = [(merge, count) for merge, count in document["frequencies"]]
    if frequencies:
        counts = chart.Axis.over("occurrences of the pair", [count for _, count in frequencies], logarithmic=True)
        merges = chart.Axis.over("merge", [merge for merge, _ in frequencies], logarithmic=True)
        found["frequencies.svg"] = chart.lines("How often each merged pair occurred", merges, counts, {"": frequencies})
        timeline = [(0.0, 0.0), *((seconds, merges) for seconds, merges in document["timeline"])]
        across = chart.Axis.over("seconds", [seconds for seconds, _ in timeline])
        up = chart.Axis.over("merges", [merges for _, merges in timeline])
        found["merges.svg"] = chart.lines("Merges over time", across, up, {"": timeline})
    sizes = [(merges, 1 / per_byte) for merges, per_byte in document["curve"] if merges and per_byte]
    if sizes:
        merges = chart.Axis.over("merges", [merges for merges, _ in sizes], logarithmic=True)
        size = chart.Axis.over("bytes a token of the corpus; more cost less", [size for _, size in sizes])
        found["compression.svg"] = chart.lines("What more merges are worth", merges, size, {"": sizes})
    found["fertility.svg"] = chart.dots("Tokens a word", _dots(document), TOKENS_A_WORD)
    return found


def plots_of(document: Mapping[str, Any]) -> list[str]:
    """Return the names of the plots that there are."""
    charts = (("frequencies", "frequencies.svg"), ("curve", "compression.svg"), ("frequencies", "merges.svg"))
    return [name for key, name in charts if document[key]]


def _dots(document: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """Return tokens a word by text and tokenizer."""
    against = document["against"]
    by_tokenizer = {"this tokenizer": document["fertility"]}
    if against is not None:
        by_tokenizer[f"against: {against['name']}"] = against["fertility"]
    return {text: {name: _dot(one[text]) for name, one in by_tokenizer.items()} for text in document["fertility"]}


def _dot(one: Mapping[str, Any] | None) -> float | None:
    return None if one is None or mark(one) else one["per_word"]
