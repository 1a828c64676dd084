"""The results of the audit: one for each point, and the whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tokenizer_core.short_repr import ShortRepr


class Status(StrEnum):
    """The outcome of one point."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one point, without its name and number.

    Attributes:
        summary: one line, lower case, no full stop.
        evidence: numbers and counterexamples; plain JSON values.
    """

    status: Status
    summary: str
    evidence: dict[str, Any] = field(default_factory=dict)


def passed(summary: str, **evidence: Any) -> Finding:
    """Say that nothing is wrong."""
    return Finding(Status.PASSED, summary, evidence)


def failed(summary: str, **evidence: Any) -> Finding:
    """Say what is wrong."""
    return Finding(Status.FAILED, summary, evidence)


def not_applicable(summary: str) -> Finding:
    """Say why there is nothing to look at."""
    return Finding(Status.NOT_APPLICABLE, summary)


@dataclass(frozen=True, slots=True, repr=False)
class Point(ShortRepr):
    """One of the twelve points with its outcome."""

    number: int
    name: str
    status: Status
    summary: str
    evidence: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "number": self.number,
            "name": self.name,
            "status": self.status.value,
            "summary": self.summary,
            "evidence": self.evidence,
        }


@dataclass(frozen=True, slots=True, repr=False)
class CheckReport(ShortRepr):
    """The audit of one tokenizer.

    Attributes:
        tokenizer: its hash; ``None`` if its files could not be loaded.
        name: its name.
        points: the twelve points in order.
    """

    tokenizer: str | None
    name: str
    points: tuple[Point, ...]

    @property
    def ok(self) -> bool:
        """True if no point failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Point, ...]:
        """The points that failed."""
        return tuple(point for point in self.points if point.status is Status.FAILED)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "tokenizer": self.tokenizer,
            "name": self.name,
            "ok": self.ok,
            "points": [point.to_dict() for point in self.points],
        }


MAX_EXAMPLES = 5
"""Counterexamples shown for one point: a vocabulary with a thousand bad specials must not flood the report."""


def excerpt(text: str) -> str:
    """Return the text, with its middle left out if it is over 80 characters."""
    return text if len(text) <= 80 else f"{text[:40]}…{text[-40:]}"
