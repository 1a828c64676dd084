"""Run the twelve points of the audit, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from tokenizer_core.arguments import check_kind, optional_integer, path_of
from tokenizer_core.checking.determinism import determinism
from tokenizer_core.checking.embedding import embedding
from tokenizer_core.checking.fertility import fertility
from tokenizer_core.checking.file_hashes import file_hashes
from tokenizer_core.checking.offsets import offsets
from tokenizer_core.checking.padding import padding
from tokenizer_core.checking.report import CheckReport, Finding, Point, failed, not_applicable
from tokenizer_core.checking.responses import responses
from tokenizer_core.checking.round_trip import round_trip
from tokenizer_core.checking.special_tokens import atomic_specials, reserved_literals
from tokenizer_core.checking.template import template
from tokenizer_core.checking.throughput import throughput
from tokenizer_core.errors import HashMismatch, TokdError
from tokenizer_core.tokenizer import Tokenizer


def check(tokenizer: Tokenizer, *, path: str | Path | None = None, embedding_rows: int | None = None) -> CheckReport:
    """Audit a tokenizer.

    Args:
        path: the artifact directory that it came from, whose files are held against the manifest.
        embedding_rows: the rows of the model's embedding table.

    Raises:
        InvalidOption: ``embedding_rows`` is not a whole number from 1 on, or ``path`` is not a path. What goes wrong in
            a point is that point's failure.
    """
    check_kind(tokenizer, Tokenizer, "tokenizer")
    rows = optional_integer(embedding_rows, "embedding_rows", 1)
    points = _points(None if path is None else path_of(path), rows)
    findings = {name: _guard(point, tokenizer) for name, point in points.items()}
    return _report(tokenizer.hash, tokenizer.name, findings)


def check_artifact(path: str | Path, *, embedding_rows: int | None = None) -> CheckReport:
    """Open an artifact and audit it; a file that is not the one its manifest pins is a failure of point 7.

    Raises:
        ArtifactNotFound, InvalidArtifact, Unsupported, and InvalidOption as of ``check``
    """
    rows = optional_integer(embedding_rows, "embedding_rows", 1)
    try:
        tokenizer = Tokenizer.open(path)
    except HashMismatch as error:
        unread = not_applicable("the artifact was not loaded, since its files are not those of its manifest")
        broken = failed(error.message, code=error.code, **error.place)
        findings = dict.fromkeys(_points(None, None), unread) | {"file hashes": broken}
        return _report(None, Path(path).resolve().name, findings)
    return check(tokenizer, path=path, embedding_rows=rows)


def _points(path: Path | None, embedding_rows: int | None) -> dict[str, Callable[[Tokenizer], Finding]]:
    """Return the points by name; the first is number 1."""
    return {
        "round trip": round_trip,
        "atomic specials": atomic_specials,
        "fertility": fertility,
        "template": template,
        "reserved literals": reserved_literals,
        "padding and masks": padding,
        "file hashes": partial(file_hashes, path=path),
        "embedding rows": partial(embedding, rows=embedding_rows),
        "offsets": offsets,
        "throughput": throughput,
        "determinism": determinism,
        "responses": responses,
    }


def _guard(point: Callable[[Tokenizer], Finding], tokenizer: Tokenizer) -> Finding:
    """Turn an error that a point met into its failure, so that the other points are still seen."""
    try:
        return point(tokenizer)
    except TokdError as error:
        return failed(f"{error.code}: {error.message}", code=error.code, **error.place)


def _report(hash: str | None, name: str, findings: Mapping[str, Finding]) -> CheckReport:
    points = tuple(
        Point(number, point, finding.status, finding.summary, finding.evidence)
        for number, (point, finding) in enumerate(findings.items(), start=1)
    )
    return CheckReport(hash, name, points)
